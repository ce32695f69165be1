package account

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// AlertRefused is the kind of the alert about a customer's payment that was refused.
const AlertRefused = "payment_refused"

// KeptRefusals is how long, in ms, the refusal of a payment is known: as long as its alert.
const KeptRefusals = pix.Millis(90 * 24 * time.Hour / time.Millisecond)

// metaRefused begins the key of the row of a refused payment. The key goes on with the
// payment's end-to-end id; the value is the time of the refusal.
const metaRefused = "refused/"

// Refusals are the customers' payments that were refused because nobody here has the key
// that was paid to. A payment that was refused once is refused again, without another alert,
// even if an account has the key by then: the scheme may have given the money back.
// The methods may be called from any goroutine.
type Refusals struct {
	Journal wal.Journal
	Known   func(id pix.AccountID) bool // whether an account exists
	Alerts  Alerts
	Stamp   func() pix.Millis // the time stamp of what is made now

	mu  sync.Mutex
	ids map[string]pix.Millis // end-to-end ids with the times of the refusals
}

// Load reads the refusals of earlier processes. It is called once, before anything else.
func (r *Refusals) Load(scan ScanFunc) error {
	r.ids = map[string]pix.Millis{}
	lo := wal.MetaKey(metaRefused)
	return scan(lo, wal.PrefixEnd(lo), func(k, v []byte) (bool, error) {
		if len(v) != 8 {
			return false, fmt.Errorf("refused payment %q: a value of %d bytes", k, len(v))
		}
		r.ids[strings.TrimPrefix(string(k), string(lo))] = pix.Millis(binary.BigEndian.Uint64(v))
		return true, nil
	})
}

// Has reports whether a payment was refused, and that is durable.
func (r *Refusals) Has(endToEnd string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.ids[endToEnd]
	return ok
}

// Refuse is Feed's Refuse. The refusal and its alert are one entry.
func (r *Refusals) Refuse(n scheme.Notice, done func(error)) {
	id := n.Account
	if !r.Known(id) {
		id = 0
	}
	at := r.Stamp()
	alert := ledger.Alert{Kind: AlertRefused, Message: fmt.Sprintf(
		"payment %s of %d base units was refused: the PIX key that was paid to is nobody's here, or another account's by now; the scheme gives it back", n.EndToEnd, n.Arrived.Amount,
	)}
	row := wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaRefused + n.EndToEnd), Value: binary.BigEndian.AppendUint64(nil, uint64(at))}
	r.Journal.Append(&wal.Entry{Ops: []wal.Op{r.Alerts.Row(id, alert, at), row}, Shared: true, Out: []wal.Out{refusal{r, id, alert, n.EndToEnd, at, done}}})
}

// refusal is the Out of a refused payment's entry.
type refusal struct {
	of       *Refusals
	account  pix.AccountID
	alert    ledger.Alert
	endToEnd string
	at       pix.Millis
	done     func(error)
}

// Release implements wal.Out.
func (r refusal) Release(err error) {
	if err == nil {
		r.of.mu.Lock()
		r.of.ids[r.endToEnd] = r.at
		r.of.mu.Unlock()
		r.of.Alerts.Raised(r.account, r.alert)
		err = scheme.ErrNoPayee
	}
	r.done(fmt.Errorf("payment %s: %w", r.endToEnd, err))
}

// droppedAtOnce is the largest number of refusals that one entry deletes.
const droppedAtOnce = 1000

// Drop forgets refusals that are older than KeptRefusals; while engine time is doubted it
// forgets none. write makes deletions durable; where it fails, the next call tries again.
func (r *Refusals) Drop(now pix.Reading, write func(...wal.Op) error) error {
	if now.Doubted {
		return nil
	}
	var old []string
	r.mu.Lock()
	for id, at := range r.ids {
		if at < now.Clock-KeptRefusals {
			old = append(old, id)
		}
	}
	r.mu.Unlock()
	var errs []error
	for ids := range slices.Chunk(old, droppedAtOnce) {
		var ops []wal.Op
		for _, id := range ids {
			ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: wal.MetaKey(metaRefused + id)})
		}
		if err := write(ops...); err != nil {
			errs = append(errs, err)
			continue
		}
		r.mu.Lock()
		for _, id := range ids {
			delete(r.ids, id)
		}
		r.mu.Unlock()
	}
	return errors.Join(errs...)
}
