package ledger

import (
	"testing"

	"pixd/actors/pix"
)

// TestMovements checks by how much a transaction of each kind moves the balance, what it takes gross and
// net, and which statuses end it or await the scheme.
func TestMovements(t *testing.T) {
	for _, c := range []struct {
		kind                 pix.TxKind
		status               pix.TxStatus
		gross, net, movement pix.Amount
		ended, awaits        bool
	}{
		{pix.TxReceipt, pix.StatusCompleted, 100, 93, 93, true, false},
		{pix.TxTED, pix.StatusCompleted, 100, 93, 93, true, false},
		{pix.TxCharge, pix.StatusActive, 100, 93, 0, true, false},
		{pix.TxPayout, pix.StatusHeld, 107, 107, 0, false, false},
		{pix.TxPayout, pix.StatusAccepted, 107, 107, 0, false, true},
		{pix.TxPayout, pix.StatusSettled, 107, 107, -107, true, false},
		{pix.TxRefund, pix.StatusFailed, 107, 107, 0, true, false},
	} {
		tx := &Transaction{Kind: c.kind, Status: c.status, Amount: 100, Fee: 7}
		if tx.Gross() != c.gross || tx.Net() != c.net || tx.Movement() != c.movement || tx.Ended() != c.ended || tx.AwaitsScheme() != c.awaits {
			t.Errorf("%v %v: %d %d %d %v %v", c.kind, c.status, tx.Gross(), tx.Net(), tx.Movement(), tx.Ended(), tx.AwaitsScheme())
		}
	}
}

// TestHeadIsShown checks which commands are answered with the head, that a read of it writes nothing, and
// that a case names its payment and its record.
func TestHeadIsShown(t *testing.T) {
	h := newHarness(t)
	for _, c := range []Command{OpenAccount{DefaultSettings()}, ChangeSettings{DefaultSettings()}} {
		if d := h.step(c); !d.ShowsHead || len(d.Records) != 1 {
			t.Errorf("%T: %d records, head %v", c, len(d.Records), d.ShowsHead)
		}
	}
	if d := h.step(ReadAccount{}); !d.ShowsHead || len(d.Records) != 0 || !TraitsOf(ReadAccount{}).ReadsHead {
		t.Errorf("a read: %+v", d)
	}
	if d := h.step(Credit{Kind: pix.TxTED, Amount: 1}); d.ShowsHead {
		t.Error("a credit shows the head")
	}
	paid := h.paid("a", 1000)
	k := h.reported("a", 400)
	if k.Payment() != paid.Public() || k.Record() != uint64(len(h.records)) {
		t.Errorf("%s of record %d", k.Payment(), k.Record())
	}
}

// TestEventIdentity checks that the events of one record have ids of their own, that an event's id ends in
// its sequence and depends on its kind, and from when the age of a record's events counts.
func TestEventIdentity(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 1000)
	r := h.records[len(h.records)-1]
	first, second := r.Event(0), r.Event(1)
	if first.Sequence != 1 || second.Sequence != 2 || first.ID.Sequence() != 1 || first.ID == second.ID || first.Kind != r.Events[0] {
		t.Errorf("%+v and %+v", first, second)
	}
	other := r
	other.Events = []pix.EventKind{pix.EventChargePaid, r.Events[1]}
	if other.Event(0).ID == first.ID {
		t.Error("another kind of event has the same id")
	}
	for name, change := range map[string]func(*Record){
		"account":  func(r *Record) { r.Account++ },
		"time":     func(r *Record) { r.Time++ },
		"sequence": func(r *Record) { r.Totals.Events++ },
		"transaction": func(r *Record) {
			t := *r.Tx
			t.ID[15]++
			r.Tx = &t
		},
	} {
		other := r
		if change(&other); other.Event(0).ID == first.ID {
			t.Errorf("the event of another %s has the same id", name)
		}
	}
	if id, ok := pix.ParseEventID(first.ID.String()); !ok || id != first.ID {
		t.Errorf("%v is read as %v", first.ID, id)
	}
	now := pix.Reading{Clock: r.Time + 9, Start: r.Time + 5}
	if got := r.EventsSince(now); got != r.Time {
		t.Errorf("since %v", got)
	}
	doubted := *r.Tx
	doubted.Doubted = true
	if r.Tx = &doubted; r.EventsSince(now) != r.Time+5 {
		t.Errorf("stamped under doubt: since %v", r.EventsSince(now))
	}
	if got := (&Subscription{Secret: []byte{1, 2, 3}}).Shown(); got != "whsec_AQID" {
		t.Errorf("secret %s", got)
	}
}

// TestCreditTexts checks each text of a credit at its bound and beyond it.
func TestCreditTexts(t *testing.T) {
	long := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'x'
		}
		return string(b)
	}
	for field, set := range map[string]func(*Credit, string){
		"description": func(c *Credit, s string) { c.Description = s }, "payer_name": func(c *Credit, s string) { c.PayerName = s },
		"payer_document": func(c *Credit, s string) { c.PayerDocument = s }, "reference": func(c *Credit, s string) { c.Reference = s },
	} {
		most := 140
		if field == "reference" {
			most = 128
		}
		for text, taken := range map[string]bool{long(most): true, long(most + 1): false, "\xff": false} {
			c := Credit{Kind: pix.TxTED, Amount: 1}
			set(&c, text)
			if r := c.refusal(); (r == nil) != taken || r != nil && r.Field != field {
				t.Errorf("%s of %d bytes: %+v", field, len(text), r)
			}
		}
	}
}
