package history

import (
	"sync/atomic"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// transactionCache keeps transactions that lookups have read, each as in one record. Records never
// change, so an entry is right for ever; a client that asks about the same transaction again
// and again is answered without reading and verifying its record each time.
type transactionCache struct {
	slots [knownSlots]atomic.Pointer[cachedTransaction]
}

// knownSlots is how many transactions are kept; about 4 MB.
const knownSlots = 4096

// cachedTransaction is a transaction as in the account's record seq. It must not be changed.
type cachedTransaction struct {
	account pix.AccountID
	seq     uint64
	tx      *ledger.Transaction
}

func (k *transactionCache) slot(a pix.AccountID, seq uint64) *atomic.Pointer[cachedTransaction] {
	const odd = 0x9E3779B97F4A7C15 // spreads neighbours over the upper bits
	return &k.slots[(uint64(a)^seq)*odd>>32%knownSlots]
}

// transaction reads the transaction in an account's record, which must be about one. The caller
// must not change it.
func (h *History) transaction(a pix.AccountID, seq uint64) (*ledger.Transaction, error) {
	slot := h.known.slot(a, seq)
	if e := slot.Load(); e != nil && e.account == a && e.seq == seq {
		return e.tx, nil
	}
	r, err := Record(h.journal, a, seq)
	if err != nil {
		return nil, err
	}
	if r.Tx == nil {
		return nil, errNoTransaction(a, seq)
	}
	slot.Store(&cachedTransaction{a, seq, r.Tx})
	return r.Tx, nil
}

// errNoTransaction is the error of a row that leads to a record about no transaction.
func errNoTransaction(a pix.AccountID, seq uint64) error {
	return &wal.Damage{Stream: wal.Stream(a), Seq: seq, What: "is about no transaction"}
}
