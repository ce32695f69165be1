package engine

import (
	"context"
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
	"pixd/httpapi/admin"
	"pixd/wal"
)

// alertBook keeps the alerts to operators as named values beside the journal: an alert is
// not a record, because no money depends on it. An alert that a decision raises is written
// by the account, together with the decision's records. Alerts raised before the journal is
// open wait in early.
type alertBook struct {
	mu    sync.Mutex
	store *wal.Store // nil: the journal is not open yet
	clock *clock.Clock
	early []wal.Op
}

// metaAlert begins the key of an alert's row. The key goes on with the alert's time as 13
// decimal digits of milliseconds, which keeps alerts in order of time, a slash, and the
// alert's id.
const metaAlert = "alert/"

// keptAlerts is how long an alert is kept after it was raised.
const keptAlerts = 90 * 24 * time.Hour

// alertForm is the stored form of an alert.
type alertForm struct {
	Kind        string `cbor:"1,keyasint"`
	Account     string `cbor:"2,keyasint,omitempty"`
	Transaction string `cbor:"3,keyasint,omitempty"`
	Message     string `cbor:"4,keyasint"`
}

// alertIDs keeps the order of the bytes that it encodes.
var alertIDs = base32.NewEncoding("234567abcdefghijklmnopqrstuvwxyz").WithPadding(base32.NoPadding)

// alertsMade counts the alerts of this process: their ids begin with it, so that those of one
// millisecond are in order.
var alertsMade atomic.Uint32

func alertName(at pix.Millis, id string) string { return fmt.Sprintf("%013d/%s", at, id) }

// op returns the alert's row.
func (f alertForm) op(at pix.Millis) wal.Op {
	value, err := cbor.Marshal(f)
	if err != nil {
		panic(fmt.Sprintf("engine: encode an alert: %v", err))
	}
	id := secret(10)
	binary.BigEndian.PutUint32(id, alertsMade.Add(1))
	name := alertName(at, "alr_"+alertIDs.EncodeToString(id))
	return wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaAlert + name), Value: value}
}

// alerts counts each alert to operators, logs it with the field alert, and keeps it in
// book.
type alerts struct {
	book   alertBook
	closed closedOff
	count  *prometheus.CounterVec // counter of alerts by kind; nil: alerts are not counted
	log    *slog.Logger
}

func formOf(id pix.AccountID, a ledger.Alert) alertForm {
	f := alertForm{Kind: a.Kind, Transaction: a.Public, Message: a.Message}
	if id != 0 {
		f.Account = id.String()
	}
	return f
}

// Row implements account.Alerts.
func (a *alerts) Row(id pix.AccountID, alert ledger.Alert, at pix.Millis) wal.Op {
	return formOf(id, alert).op(at)
}

// Raised implements account.Alerts.
func (a *alerts) Raised(id pix.AccountID, alert ledger.Alert) { a.tell(formOf(id, alert)) }

// Raise implements account.Alerts and due.Alerts.
func (a *alerts) Raise(id pix.AccountID, alert ledger.Alert) {
	f := formOf(id, alert)
	a.book.raise(time.Now(), f)
	a.tell(f)
}

// raise raises an alert that belongs to no account.
func (a *alerts) raise(kind, message string) { a.Raise(0, ledger.Alert{Kind: kind, Message: message}) }

func (a *alerts) tell(f alertForm) {
	if a.count != nil {
		a.count.WithLabelValues(f.Kind).Inc()
	}
	a.closed.note(f)
	attrs := []any{"alert", f.Kind}
	if f.Account != "" {
		attrs = append(attrs, "account", f.Account)
	}
	if f.Transaction != "" {
		attrs = append(attrs, "transaction", f.Transaction)
	}
	a.log.Error(f.Message, attrs...)
}

// raise writes an alert without waiting until it is durable, so that any goroutine may call
// it. at is the wall clock's time; it becomes the alert's time only if engine time has not
// begun yet.
func (b *alertBook) raise(at time.Time, f alertForm) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.store == nil {
		b.early = append(b.early, f.op(pix.Millis(at.UnixMilli())))
		return
	}
	b.store.Append(&wal.Entry{Ops: []wal.Op{f.op(b.clock.Stamp())}, Shared: true})
}

// open sets the journal for alerts, and engine time, and writes the alerts that were raised
// earlier.
func (b *alertBook) open(s *wal.Store, c *clock.Clock) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.store, b.clock = s, c
	if len(b.early) > 0 {
		s.Append(&wal.Entry{Ops: b.early, Shared: true})
		b.early = nil
	}
}

// read returns at most limit alerts that were raised at or after since, oldest first. after,
// unless empty, is the next that an earlier call returned: the list goes on behind it. The
// returned next is empty if there are no more alerts.
func (b *alertBook) read(since pix.Millis, after string, limit int) (all []admin.Alert, next string, err error) {
	lo, hi := alertRange(since)
	if after != "" {
		lo = append(wal.MetaKey(metaAlert+after), 0)
	}
	err = b.store.Look(0, func(view *wal.View) error {
		return view.Scan(lo, hi, func(k, v []byte) (bool, error) {
			if len(all) == limit {
				next = alertName(all[limit-1].At, all[limit-1].ID)
				return false, nil
			}
			a, err := readAlert(k, v)
			all = append(all, a)
			return true, err
		})
	})
	return all, next, err
}

// latest is the last time that 13 digits of milliseconds can express, in the year 2286.
const latest = pix.Millis(9_999_999_999_999)

func alertRange(from pix.Millis) (lo, hi []byte) {
	from = min(max(from, 0), latest)
	return wal.MetaKey(metaAlert + fmt.Sprintf("%013d", from)), wal.PrefixEnd(wal.MetaKey(metaAlert))
}

func readAlert(k, v []byte) (admin.Alert, error) {
	var f alertForm
	at, id, found := strings.Cut(strings.TrimPrefix(string(k), string(wal.MetaKey(metaAlert))), "/")
	var millis int64
	if _, err := fmt.Sscanf(at, "%d", &millis); err != nil || !found {
		return admin.Alert{}, fmt.Errorf("alert %q: no instant in its name", k)
	}
	if err := cbor.Unmarshal(v, &f); err != nil {
		return admin.Alert{}, fmt.Errorf("alert %q: %w", k, err)
	}
	return admin.Alert{ID: id, Kind: f.Kind, Account: f.Account, Transaction: f.Transaction, Message: f.Message, At: pix.Millis(millis)}, nil
}

// droppedAtOnce is the largest number of alerts that one batch deletes.
const droppedAtOnce = 1000

// drop deletes the alerts that were raised earlier than the time before.
func (b *alertBook) drop(before pix.Millis) error {
	lo, _ := alertRange(0)
	hi, _ := alertRange(before)
	for {
		var ops []wal.Op
		err := b.store.Scan(lo, hi, func(k, _ []byte) (bool, error) {
			ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: slices.Clone(k)})
			return len(ops) < droppedAtOnce, nil
		})
		if err != nil || len(ops) == 0 {
			return err
		}
		if err := write(b.store, local, ops...); err != nil {
			return err
		}
	}
}

// keep deletes alerts older than keptAlerts, once an hour, unless engine time is doubted.
func (b *alertBook) keep(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := b.clock.Read()
			if now.Doubted {
				continue
			}
			if err := b.drop(now.Clock - pix.Millis(keptAlerts/time.Millisecond)); err != nil {
				log.Error("old alerts not dropped", "error", err)
			}
		}
	}
}
