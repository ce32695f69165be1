package journal

import (
	"fmt"

	"pixd/actors/history"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// threads follow one account's transactions and cases from record to record. Each record must
// name the record before it about the same transaction or case, no record may be named twice,
// and the transition must be legal. Transactions in flight are kept in memory; for other
// transactions and for cases the earlier record is read again.
type threads struct {
	open  map[pix.TxID]thread
	named []uint64 // one bit for each record that a later record has named
}

// thread is the newest record of a transaction in flight.
type thread struct {
	seq    uint64
	status pix.TxStatus
}

// follow checks an account's next record.
func (t *threads) follow(store *wal.Store, r *ledger.Record) error {
	before, err := t.before(store, r)
	if err != nil {
		return err
	}
	if err := r.Follows(before); err != nil || r.Tx == nil {
		return err
	}
	if !r.Tx.Status.InFlight() {
		delete(t.open, r.Tx.ID)
		return nil
	}
	if t.open == nil {
		t.open = map[pix.TxID]thread{}
	}
	t.open[r.Tx.ID] = thread{r.Seq, r.Tx.Status}
	return nil
}

// before returns the earlier record that r names, or nil if r names none.
func (t *threads) before(store *wal.Store, r *ledger.Record) (*ledger.Record, error) {
	if r.Prev != 0 && !t.first(r.Prev) {
		return nil, fmt.Errorf("record %d of %v names record %d as the one before it, which another has named", r.Seq, r.Account, r.Prev)
	}
	if r.Tx != nil {
		if open, ok := t.open[r.Tx.ID]; ok {
			return open.record(r)
		}
	}
	if r.Prev == 0 {
		return nil, nil
	}
	return history.Record(store, r.Account, r.Prev)
}

// record returns the newest record about a transaction in flight, as far as the record r, which
// must name it, is checked against it.
func (open thread) record(r *ledger.Record) (*ledger.Record, error) {
	if r.Prev != open.seq {
		return nil, fmt.Errorf("record %d of %v names record %d as the one before it about %v, which is record %d",
			r.Seq, r.Account, r.Prev, r.Tx.ID, open.seq)
	}
	return &ledger.Record{
		Account: r.Account, Seq: open.seq, Body: ledger.Body{Tx: &ledger.Transaction{ID: r.Tx.ID, Status: open.status}},
	}, nil
}

// first notes that a later record names record seq. It returns false if another record has
// named seq already.
func (t *threads) first(seq uint64) bool {
	for uint64(len(t.named)) <= seq/64 {
		t.named = append(t.named, make([]uint64, 1+len(t.named)/2)...)
	}
	bit := uint64(1) << (seq % 64)
	was := t.named[seq/64]&bit != 0
	t.named[seq/64] |= bit
	return !was
}
