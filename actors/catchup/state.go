package catchup

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/fxamacker/cbor/v2"

	"pixd/actors/cbormap"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// MetaState is the name of the value that has the state of a catch-up, while one is under way.
const MetaState = "catch_up"

// State is how far a catch-up has come.
type State struct {
	Since  pix.Millis `cbor:"1,keyasint"`           // movements since this instant are read
	After  string     `cbor:"2,keyasint,omitempty"` // where the next page begins
	Read   bool       `cbor:"3,keyasint,omitempty"` // all movements were read
	Done   uint64     `cbor:"4,keyasint,omitempty"` // movements read
	Total  uint64     `cbor:"5,keyasint,omitempty"` // about how many there are; 0: the scheme does not say
	Booked uint64     `cbor:"6,keyasint,omitempty"` // movements that were missing
	Aside  uint64     `cbor:"7,keyasint,omitempty"` // movements that were kept aside
}

// op writes the state.
func (s *State) op() wal.Op {
	return wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(MetaState), Value: cbormap.Append(nil, s)}
}

// Begin returns the state of a catch-up that begins, and what writes it.
func Begin(since pix.Millis) (*State, wal.Op) {
	s := &State{Since: max(1, since)}
	return s, s.op()
}

// Drop is the change that removes the state, when the catch-up is over.
func Drop() wal.Op { return wal.Op{Kind: wal.OpDelete, Key: wal.MetaKey(MetaState)} }

// Find returns the state of the catch-up that is under way; nil: none is.
func Find(v layout.Getter) (*State, error) {
	b, ok, err := v.Get(wal.MetaKey(MetaState))
	if err != nil || !ok {
		return nil, err
	}
	s := new(State)
	if err := cbor.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("named value %q: %w", MetaState, err)
	}
	return s, nil
}

// Kind names what a movement is: the kind of its notice, payment_pending or return_pending.
func Kind(m *scheme.Movement) string {
	switch {
	case m.Notice.Kind != 0:
		return m.Notice.Kind.String()
	case m.Refund.Tx != pix.TxID{}:
		return "return_pending"
	}
	return "payment_pending"
}

// Names are the names and values by which a movement is logged.
func Names(m *scheme.Movement) []any {
	n := &m.Notice
	all := []any{"at", m.At.String(), "account", n.Account.String(), "end_to_end_id", n.EndToEnd}
	amount := max(m.Payment.Amount, m.Refund.Amount, n.Amount, n.Arrived.Amount)
	if amount != 0 {
		all = append(all, "amount", int64(amount))
	}
	switch {
	case m.Payment.Tx != pix.TxID{}:
		all = append(all, "transaction_id", n.Tx.Public(pix.TxPayout))
	case m.Refund.Tx != pix.TxID{}:
		all = append(all, "transaction_id", n.Tx.Public(pix.TxRefund))
	}
	for _, f := range [...]struct{ name, value string }{{"return_id", n.ReturnID}, {"infraction_id", n.Infraction}, {"reason", n.Reason}} {
		if f.value != "" {
			all = append(all, f.name, f.value)
		}
	}
	return all
}

// progress tells every few seconds how far a catch-up has come.
type progress struct {
	log         *slog.Logger
	elapsed     func() time.Duration
	began, last time.Duration
	first       uint64 // movements that earlier starts had read
}

// tellEvery is the time between two lines about the progress.
const tellEvery = 5 * time.Second

func (r *Runner) newProgress(s *State) *progress {
	now := r.Elapsed()
	return &progress{r.Log, r.Elapsed, now, now, s.Done}
}

// tell logs how many movements are done, of how many, the rate and the time that is left.
func (p *progress) tell(s *State, last bool) {
	now := p.elapsed()
	if !last && now-p.last < tellEvery {
		return
	}
	p.last = now
	names := []any{"read", s.Done, "booked", s.Booked, "kept_aside", s.Aside}
	if done, spent := float64(s.Done-p.first), (now - p.began).Seconds(); done > 0 && spent > 0 {
		names = append(names, "per_second", int(done/spent))
		if s.Total > s.Done {
			left := time.Duration(float64(s.Total-s.Done) * spent / done * float64(time.Second))
			names = append(names, "of", s.Total, "left", left.Round(time.Second).String())
		}
	}
	if last {
		p.log.Info("the scheme's movements since the restore are read", names...)
		return
	}
	p.log.Info("catching up with the scheme", names...)
}
