package account

import (
	"encoding/binary"
	"sync/atomic"

	"pixd/actors/ledger"
)

// Recent holds recently accepted payouts of all accounts in a table of fixed size. Most
// payouts settle within a second, and then their state need not be read from the store. The
// table is a cache of the journal: a payout is put in when a record about it has been
// handed to the journal, in the state that this record gives it.
type Recent struct {
	slots []atomic.Pointer[recentPayout]
}

// recentSlots is the size of an engine's table.
const recentSlots = 1 << 15

// NewRecent makes an empty table of slots places, at least 1.
func NewRecent(slots int) *Recent { return &Recent{make([]atomic.Pointer[recentPayout], slots)} }

type recentPayout struct {
	account ledger.AccountID
	tx      *ledger.Transaction
}

func (r *Recent) slot(id ledger.TxID) *atomic.Pointer[recentPayout] {
	// An id's last bytes are random; its first bytes are a time.
	return &r.slots[binary.BigEndian.Uint32(id[12:])%uint32(len(r.slots))]
}

func (r *Recent) put(a ledger.AccountID, t *ledger.Transaction) {
	r.slot(t.ID).Store(&recentPayout{a, t})
}

func (r *Recent) get(id ledger.TxID) *recentPayout {
	if p := r.slot(id).Load(); p != nil && p.tx.ID == id {
		return p
	}
	return nil
}

func (r *Recent) drop(id ledger.TxID) {
	if p := r.get(id); p != nil {
		r.slot(id).CompareAndSwap(p, nil)
	}
}

// forget drops every payout of one account.
func (r *Recent) forget(a ledger.AccountID) {
	for i := range r.slots {
		if p := r.slots[i].Load(); p != nil && p.account == a {
			r.slots[i].CompareAndSwap(p, nil)
		}
	}
}
