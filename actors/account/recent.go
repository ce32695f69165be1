package account

import (
	"encoding/binary"
	"sync/atomic"

	"pixd/actors/ledger"
)

// Recent is what was accepted a moment ago, over all accounts, in a table of
// fixed size: most payouts settle within a second, and their state need not be
// read back for it. It is a cache of what the journal has: an entry is put in
// when its record is on its way there, and is the payout's newest state.
type Recent struct {
	slots []atomic.Pointer[recentPayout]
}

// recentSlots are those of an engine.
const recentSlots = 1 << 15

// NewRecent is an empty table of so many places, 1 or more.
func NewRecent(slots int) *Recent { return &Recent{make([]atomic.Pointer[recentPayout], slots)} }

type recentPayout struct {
	account ledger.AccountID
	tx      *ledger.Transaction
}

func (r *Recent) slot(id ledger.TxID) *atomic.Pointer[recentPayout] {
	// The last bytes are drawn, whatever the instant.
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

// forget drops everything of one account.
func (r *Recent) forget(a ledger.AccountID) {
	for i := range r.slots {
		if p := r.slots[i].Load(); p != nil && p.account == a {
			r.slots[i].CompareAndSwap(p, nil)
		}
	}
}
