package history

import (
	"cmp"
	"errors"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// The most that Life reads: records and deliveries, and rows of later transactions among which
// the refunds of a payment are.
const (
	lifeRecords = 5_000
	lifeRows    = 50_000
)

// lifeBounds are the most that Life reads.
type lifeBounds struct{ records, rows int }

// Life returns what the store has about a transaction, which it finds as Anyone does; nil where
// there is no such transaction. It reads each record about the transaction from the newest one
// on, because each names the one before it. No row leads from a payment to its refunds: they are
// looked for among the transactions that are younger than the payment, the oldest first.
func (h *History) Life(id string) (*ledger.Life, error) {
	return lookUp(h, 0, func(v View) (*ledger.Life, error) {
		o, err := h.anyone(v, id)
		if err != nil || o == nil {
			return nil, err
		}
		l := &lifeReader{History: h, view: v, life: ledger.Life{Owned: *o, Complete: true}, left: h.life.records}
		for _, step := range []func() error{l.own, l.original, l.cases, l.deliveries, l.givers} {
			if err := step(); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(l.life.Records, func(a, b *ledger.Record) int { return cmp.Compare(a.Seq, b.Seq) })
		return &l.life, nil
	})
}

// lifeReader reads what the store has about one transaction.
type lifeReader struct {
	*History
	view View
	life ledger.Life
	left int // how many more records and deliveries may be read
}

// may counts a record or a delivery that is to be read; false: the bound is met, and it must not be.
func (l *lifeReader) may() bool {
	if l.left == 0 {
		l.life.Complete = false
		return false
	}
	l.left--
	return true
}

// chain reads the records about a transaction or a case from the one with the sequence seq to
// its first.
func (l *lifeReader) chain(seq uint64) error {
	for seq != 0 && l.may() {
		r, err := Record(l.journal, l.life.Account, seq)
		if err != nil {
			return err
		}
		l.life.Records = append(l.life.Records, r)
		seq = r.Prev
	}
	return nil
}

// own reads the records about the transaction itself, and those about returns of a payout: each
// precedes the record that adds it to the payout.
func (l *lifeReader) own() error {
	if err := l.chain(l.life.Tx.Record()); err != nil {
		return err
	}
	for _, r := range slices.Clone(l.life.Records) {
		if r.Kind != ledger.PayoutReturned || !l.may() {
			continue
		}
		back, err := Record(l.journal, l.life.Account, r.Seq-1)
		if err != nil {
			return err
		}
		if back.Kind == ledger.ReturnReceived && back.Tx.Gives() == l.life.Tx.ID {
			l.life.Records = append(l.life.Records, back)
		}
	}
	return nil
}

// original reads the payment that a refund gives back, or the payout that a return does.
func (l *lifeReader) original() (err error) {
	if id := l.life.Tx.Gives(); id != (pix.TxID{}) {
		l.life.Original, err = l.shownByID(l.view, id)
	}
	return err
}

// cases reads the records about the cases of a received payment, or about the one for which a
// refund was made.
func (l *lifeReader) cases() error {
	t := l.life.Tx
	if t.Kind == pix.TxRefund && t.Refund.Case != nil {
		row, ok, err := layout.Find(l.view, layout.CaseIDKey(*t.Refund.Case), layout.DecodeCaseIDRow)
		if err != nil || !ok {
			return err
		}
		return l.caseAt(row.Ordinal)
	}
	if touched, err := l.touched(); err != nil || !touched {
		return err
	}
	lo, hi := layout.CasesOf(l.life.Account)
	return l.view.ScanBack(lo, hi, func(key, _ []byte) (bool, error) {
		ordinal, err := layout.CaseOrdinal(key)
		if err != nil || !l.may() {
			return false, err
		}
		k, err := l.caseRecord(l.view, l.life.Account, ordinal)
		if err == nil && k.Original == t.ID {
			err = l.caseAt(ordinal)
		}
		return err == nil, err
	})
}

func (l *lifeReader) caseAt(ordinal uint64) error {
	row, ok, err := layout.Find(l.view, layout.CaseKey(l.life.Account, ordinal), layout.DecodeCaseRow)
	if err != nil || !ok {
		return err
	}
	return l.chain(row.Seq)
}

// touched tells whether the transaction is a received payment of which there may be refunds or cases.
func (l *lifeReader) touched() (bool, error) {
	if !l.life.Tx.ReceivedPayment() {
		return false, nil
	}
	_, some, err := l.view.Get(layout.RefundSumsKey(l.life.Account, l.life.Tx.ID)) // the row exists from the first of them on
	return some, err
}

// deliveries reads what became of the deliveries of the events that were read so far.
func (l *lifeReader) deliveries() error {
	for _, r := range l.life.Records {
		if r.Tx != nil && r.Tx.ID != l.life.Tx.ID {
			continue // the event is about a return
		}
		for _, p := range r.Deliveries {
			if !l.may() {
				return nil
			}
			d := ledger.DeliveryItem{Target: layout.Target{Account: r.Account, Number: p.Subscription}, Event: r.Event(int(p.Event))}
			var err error
			d.State, d.Status, err = layout.FindDelivery(l.view, d.Target, d.Event.Sequence, r.Time)
			if err != nil && !errors.Is(err, layout.ErrNoDelivery) {
				return err
			}
			l.life.Deliveries = append(l.life.Deliveries, d)
		}
	}
	return nil
}

// givers reads the records about the refunds of a received payment.
func (l *lifeReader) givers() error {
	if touched, err := l.touched(); err != nil || !touched {
		return err
	}
	rows, a := 0, l.life.Account
	_, hi := layout.ItemsOf(a)
	return l.view.Scan(layout.ItemKey(a, l.life.Tx.Ordinal+1), hi, func(_, b []byte) (bool, error) {
		if rows++; rows > l.History.life.rows {
			l.life.Complete = false
			return false, nil
		}
		row, err := layout.DecodeItemRow(b)
		if err != nil || row.Kind != pix.TxRefund {
			return err == nil, err
		}
		if !l.may() {
			return false, nil
		}
		t, err := l.transaction(a, row.Seq)
		if err == nil && t.Gives() == l.life.Tx.ID {
			err = l.chain(row.Seq)
		}
		return err == nil, err
	})
}
