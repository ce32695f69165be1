// Package alerts keeps the alerts to operators: it counts each alert, logs it, and stores it as a
// named value beside the journal. An alert is not a record, because no money depends on it.
package alerts

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/clock"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Options are what Alerts work with.
type Options struct {
	Count  *prometheus.CounterVec // counter of alerts by kind; nil: alerts are not counted
	Log    *slog.Logger           // each alert is a line with the field alert
	Wall   func() pix.Millis      // the wall clock, for alerts raised before engine time has begun
	Secret func(n int) []byte     // returns n bytes that cannot be guessed
}

// Alerts keeps alerts. An alert that a decision raises is written by the account, together with
// the decision's records; other alerts are written here. Alerts raised before Open wait for it.
type Alerts struct {
	Options

	mu     sync.Mutex
	store  *wal.Store // nil: the journal is not open yet
	clock  *clock.Clock
	early  []wal.Op
	closed []pix.AccountID // see Quarantined

	made atomic.Uint32 // alerts of this process: their ids begin with it, so that those of one millisecond are in order
}

// New makes the alerts of a process.
func New(o Options) *Alerts { return &Alerts{Options: o} }

// metaAlert begins the key of an alert's row. The key goes on with the alert's time as 13
// decimal digits of milliseconds, which keeps alerts in order of time, a slash, and the
// alert's id.
const metaAlert = "alert/"

// Kept is how long an alert is kept after it was raised.
const Kept = 90 * 24 * time.Hour

// alertForm is the stored form of an alert.
type alertForm struct {
	Kind        string `cbor:"1,keyasint"`
	Account     string `cbor:"2,keyasint,omitempty"`
	Transaction string `cbor:"3,keyasint,omitempty"`
	Message     string `cbor:"4,keyasint"`
}

// alertIDs keeps the order of the bytes that it encodes.
var alertIDs = base32.NewEncoding("234567abcdefghijklmnopqrstuvwxyz").WithPadding(base32.NoPadding)

func alertName(at pix.Millis, id string) string { return fmt.Sprintf("%013d/%s", at, id) }

// op returns the row of an alert.
func (a *Alerts) op(at pix.Millis, f alertForm) wal.Op {
	value, err := cbor.Marshal(f)
	if err != nil {
		panic(fmt.Sprintf("alerts: encode an alert: %v", err))
	}
	id := a.Secret(10)
	binary.BigEndian.PutUint32(id, a.made.Add(1))
	name := alertName(at, "alr_"+alertIDs.EncodeToString(id))
	return wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaAlert + name), Value: value}
}

func formOf(id pix.AccountID, a ledger.Alert) alertForm {
	f := alertForm{Kind: a.Kind, Transaction: a.Public, Message: a.Message}
	if id != 0 {
		f.Account = id.String()
	}
	return f
}

// Row returns the row of an alert that a decision raises at a time; see account.Alerts.
func (a *Alerts) Row(id pix.AccountID, alert ledger.Alert, at pix.Millis) wal.Op {
	return a.op(at, formOf(id, alert))
}

// Raised counts and logs an alert whose row is durable; see account.Alerts.
func (a *Alerts) Raised(id pix.AccountID, alert ledger.Alert) {
	f := formOf(id, alert)
	if a.Count != nil {
		a.Count.WithLabelValues(f.Kind).Inc()
	}
	if f.Kind == kindQuarantine && id != 0 {
		a.mu.Lock()
		a.closed = append(a.closed, id)
		a.mu.Unlock()
	}
	attrs := []any{"alert", f.Kind}
	if f.Account != "" {
		attrs = append(attrs, "account", f.Account)
	}
	if f.Transaction != "" {
		attrs = append(attrs, "transaction", f.Transaction)
	}
	a.Log.Error(f.Message, attrs...)
}

// Raise writes, counts and logs an alert that no decision raises, of no account where id is 0. It
// does not wait until the alert is durable, so that any goroutine may call it.
func (a *Alerts) Raise(id pix.AccountID, alert ledger.Alert) {
	a.write(formOf(id, alert))
	a.Raised(id, alert)
}

// RaiseGeneral raises an alert that belongs to no account.
func (a *Alerts) RaiseGeneral(kind, message string) {
	a.Raise(0, ledger.Alert{Kind: kind, Message: message})
}

// write appends an alert's row to the journal, or keeps it for Open.
func (a *Alerts) write(f alertForm) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.store == nil {
		a.early = append(a.early, a.op(a.Wall(), f))
		return
	}
	a.store.Append(&wal.Entry{Ops: []wal.Op{a.op(a.clock.Stamp(), f)}, Shared: true})
}

// Open sets the journal for alerts, and engine time, and writes the alerts that were raised
// earlier. Call it once.
func (a *Alerts) Open(s *wal.Store, c *clock.Clock) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store, a.clock = s, c
	if len(a.early) > 0 {
		s.Append(&wal.Entry{Ops: a.early, Shared: true})
		a.early = nil
	}
}

// kindQuarantine is account.AlertQuarantine.
const kindQuarantine = "quarantine"

// Quarantined lists the accounts quarantined since the start, as alerts reported them: asking
// the accounts would restore each of them.
func (a *Alerts) Quarantined() []pix.AccountID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.closed)
}

// Alert is a stored alert. Account and Transaction are empty if the alert concerns none.
type Alert struct {
	ID, Kind, Account, Transaction, Message string
	At                                      pix.Millis
}

// Read returns at most limit alerts that were raised at or after since, oldest first, or newest first. after,
// unless empty, is the next that an earlier call returned: the list goes on behind it. The
// returned next is empty if there are no more alerts.
func (a *Alerts) Read(since pix.Millis, newest bool, after string, limit int) (all []Alert, next string, err error) {
	lo, hi := Range(since)
	if at := wal.MetaKey(metaAlert + after); after != "" && newest {
		hi = at
	} else if after != "" {
		lo = append(at, 0)
	}
	err = a.store.Look(0, func(view *wal.View) error {
		scan := view.Scan
		if newest {
			scan = view.ScanBack
		}
		return scan(lo, hi, func(k, v []byte) (bool, error) {
			if len(all) == limit {
				next = alertName(all[limit-1].At, all[limit-1].ID)
				return false, nil
			}
			one, err := readAlert(k, v)
			all = append(all, one)
			return true, err
		})
	})
	return all, next, err
}

// latest is the last time that 13 digits of milliseconds can express, in the year 2286.
const latest = pix.Millis(9_999_999_999_999)

// Range is the range of the keys of alerts that were raised at or after a time.
func Range(from pix.Millis) (lo, hi []byte) {
	from = min(max(from, 0), latest)
	return wal.MetaKey(metaAlert + fmt.Sprintf("%013d", from)), wal.PrefixEnd(wal.MetaKey(metaAlert))
}

func readAlert(k, v []byte) (Alert, error) {
	var f alertForm
	at, id, found := strings.Cut(strings.TrimPrefix(string(k), string(wal.MetaKey(metaAlert))), "/")
	var millis int64
	if _, err := fmt.Sscanf(at, "%d", &millis); err != nil || !found {
		return Alert{}, fmt.Errorf("alert %q: no instant in its name", k)
	}
	if err := cbor.Unmarshal(v, &f); err != nil {
		return Alert{}, fmt.Errorf("alert %q: %w", k, err)
	}
	return Alert{ID: id, Kind: f.Kind, Account: f.Account, Transaction: f.Transaction, Message: f.Message, At: pix.Millis(millis)}, nil
}

// droppedAtOnce is the largest number of alerts that one batch deletes.
const droppedAtOnce = 1000

// DropOld deletes alerts older than Kept, unless engine time is doubted.
func (a *Alerts) DropOld() error {
	now := a.clock.Read()
	if now.Doubted {
		return nil
	}
	return a.Drop(now.Clock - pix.Millis(Kept/time.Millisecond))
}

// Drop deletes the alerts that were raised earlier than the time before.
func (a *Alerts) Drop(before pix.Millis) error {
	lo, _ := Range(0)
	hi, _ := Range(before)
	for {
		var ops []wal.Op
		err := a.store.Scan(lo, hi, func(k, _ []byte) (bool, error) {
			ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: slices.Clone(k)})
			return len(ops) < droppedAtOnce, nil
		})
		if err != nil || len(ops) == 0 {
			return err
		}
		if err := a.store.WriteRows(wal.Local, ops...); err != nil {
			return err
		}
	}
}
