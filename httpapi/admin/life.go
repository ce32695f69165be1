package admin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// The kinds of LifeEntry beside those of records, which are the names in docs/formats.md with an
// underscore in place of the stop.
const (
	lifeOriginal      = "original"         // of a refund or a return: what it gives back was booked
	lifeFirstApproval = "approval_first"   // one of two operators has approved the payout
	lifeEvent         = "event"            // a webhook event
	lifeDelivery      = "delivery"         // the event is for a subscription
	lifeAttempt       = "delivery_attempt" // an attempt to deliver it
)

// deliveryDropped is the status of a delivery of which nothing is kept any more.
const deliveryDropped = "dropped"

// LifeEntry is one thing that happened to a transaction.
type LifeEntry struct {
	At       string      `json:"at"`
	Kind     string      `json:"kind"`
	Record   *uint64     `json:"record"` // sequence of the account's record
	Amount   *pix.Amount `json:"amount,omitempty"`
	Status   string      `json:"status,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Operator string      `json:"operator,omitempty"`
	ID       string      `json:"id,omitempty"`
	Type     string      `json:"type,omitempty"`
	Code     int         `json:"status_code,omitempty"`
	Err      string      `json:"error,omitempty"`

	at pix.Millis
}

// showLife is GET /admin/transactions/:id/history.
func (s *service) showLife(ctx *fasthttp.RequestCtx) (int, any, error) {
	id, err := readPath(ctx, "id", "no transaction %q")
	if err != nil {
		return 0, nil, err
	}
	l, err := s.History.Life(id)
	if err != nil {
		return 0, nil, err
	}
	if l == nil {
		return 0, nil, control.Missing("no transaction %q", id)
	}
	return fasthttp.StatusOK, struct {
		Transaction json.RawMessage `json:"transaction"`
		Data        []LifeEntry     `json:"data"`
		Complete    bool            `json:"complete"`
	}{s.ownedItem(l.Owned), s.entriesOf(l), l.Complete}, nil
}

// entriesOf returns what happened to a transaction, the oldest first.
func (s *service) entriesOf(l *ledger.Life) []LifeEntry {
	all := []LifeEntry{}
	if o := l.Original; o != nil {
		all = append(all, LifeEntry{at: cmp.Or(o.BookedAt, o.CreatedAt), Kind: lifeOriginal, Amount: &o.Amount, Status: o.Status.String(), ID: o.Public()})
	}
	deliveries := map[uint64][]ledger.DeliveryItem{} // by the sequences of their records
	for _, d := range l.Deliveries {
		deliveries[d.Event.Record.Seq] = append(deliveries[d.Event.Record.Seq], d)
	}
	for _, r := range l.Records {
		all = append(all, entryOf(r, l.Tx.ID))
		if r.Tx != nil && r.Tx.ID != l.Tx.ID {
			continue // its events are those of another transaction
		}
		all = append(all, eventsOf(r, deliveries[r.Seq])...)
	}
	if first := s.Operators.FirstApproval(l.Tx.ID); first != nil && s.waits(&l.Owned) {
		all = append(all, LifeEntry{at: first.At, Kind: lifeFirstApproval, Operator: first.Operator})
	}
	slices.SortStableFunc(all, func(a, b LifeEntry) int { return cmp.Or(cmp.Compare(a.at, b.at), a.rank()-b.rank()) })
	for i := range all {
		all[i].At = all[i].at.String()
	}
	return all
}

// rank orders entries of the same millisecond: an attempt follows what the engine wrote before it.
func (e *LifeEntry) rank() int {
	if e.Kind == lifeAttempt {
		return 1
	}
	return 0
}

// entryOf describes a record about the transaction of, about one that gives it back, or about a
// case.
func entryOf(r *ledger.Record, of pix.TxID) LifeEntry {
	e := LifeEntry{at: r.Time, Kind: strings.ReplaceAll(r.Kind.String(), ".", "_"), Record: &r.Seq}
	if k := r.Case; k != nil {
		e.Status, e.ID, e.Amount = k.Status.String(), k.ID.String(), &k.Held
		switch r.Kind {
		case ledger.CaseOpened:
			e.Amount = &k.Amount
		case ledger.CaseRetried, ledger.CaseResumed:
			e.Operator = k.Operator
		case ledger.CaseWasClosed:
			e.Reason = k.Result.String()
		}
		return e
	}
	t := r.Tx
	e.Status, e.Amount, e.Reason = t.Status.String(), &t.Amount, t.ReasonCode
	if t.ID != of {
		e.ID = t.Public()
	}
	switch {
	case r.Kind == ledger.PayoutReturned:
		e.Amount = &t.Payout.Returned
	case r.Kind == ledger.PayoutApproved, r.Kind == ledger.PayoutReleased, r.Kind == ledger.PayoutFailed && t.Payout.Decision == ledger.Declined:
		e.Operator = t.Payout.Operator
	}
	return e
}

// eventsOf describes the events of a record, with their deliveries and attempts.
func eventsOf(r *ledger.Record, deliveries []ledger.DeliveryItem) (all []LifeEntry) {
	for i := range r.Events {
		event := r.Event(i)
		all = append(all, LifeEntry{at: r.Time, Kind: lifeEvent, Record: &r.Seq, ID: event.ID.String(), Type: event.Kind.String()})
		for _, d := range deliveries {
			if d.Event.Sequence == event.Sequence {
				all = append(all, deliveryEntries(&d)...)
			}
		}
	}
	return all
}

func deliveryEntries(d *ledger.DeliveryItem) []LifeEntry {
	r := d.Event.Record
	e := LifeEntry{
		at: r.Time, Kind: lifeDelivery, Record: &r.Seq, Type: d.Event.Kind.String(), Status: deliveryDropped,
		ID: layout.DeliveryID{Target: d.Target, Sequence: d.Event.Sequence}.String(),
	}
	if d.Status == nil {
		return []LifeEntry{e}
	}
	e.Status, e.Reason = d.State.String(), d.Status.Why
	all := []LifeEntry{e}
	for _, a := range d.Status.Attempts {
		all = append(all, LifeEntry{at: a.At, Kind: lifeAttempt, Record: &r.Seq, ID: e.ID, Type: e.Type, Code: a.Status, Err: a.Err})
	}
	return all
}
