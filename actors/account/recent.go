package account

import (
	"encoding/binary"
	"sync/atomic"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Recent holds recently accepted payouts and refunds of all accounts in a table of fixed size. Most
// payouts settle within a second, and then their state need not be read from the store. The
// table is a cache of the journal: one is put in when a record about it has been
// handed to the journal, in the state that this record gives it.
//
// A second table holds the refund sums of received payments that have refunds in flight. Each
// record that changes refund sums replaces or drops those of its payment, so that a table
// never has older sums than the account's newest record.
type Recent struct {
	slots []atomic.Pointer[recentPayout]
	sums  []atomic.Pointer[recentSums]
}

// recentSlots is the size of an engine's table.
const recentSlots = 1 << 15

// NewRecent makes an empty table of slots places, at least 1.
func NewRecent(slots int) *Recent {
	return &Recent{make([]atomic.Pointer[recentPayout], slots), make([]atomic.Pointer[recentSums], slots)}
}

type recentPayout struct {
	account pix.AccountID
	tx      *ledger.Transaction
}

type recentSums struct {
	account pix.AccountID
	sums    *layout.RefundSums
}

func (r *Recent) slot(id pix.TxID) *atomic.Pointer[recentPayout] {
	return &r.slots[place(id, len(r.slots))]
}

// place returns an id's place among n.
func place(id pix.TxID, n int) uint32 {
	// An id's last bytes are random; its first bytes are a time.
	return binary.BigEndian.Uint32(id[12:]) % uint32(n)
}

func (r *Recent) put(a pix.AccountID, t *ledger.Transaction) {
	r.slot(t.ID).Store(&recentPayout{a, t})
}

func (r *Recent) get(id pix.TxID) *recentPayout {
	if p := r.slot(id).Load(); p != nil && p.tx.ID == id {
		return p
	}
	return nil
}

func (r *Recent) drop(id pix.TxID) {
	if p := r.get(id); p != nil {
		r.slot(id).CompareAndSwap(p, nil)
	}
}

// sumsOf returns the refund sums of a payment that account a received; nil where the table
// does not have them.
func (r *Recent) sumsOf(a pix.AccountID, original pix.TxID) *layout.RefundSums {
	if s := r.sums[place(original, len(r.sums))].Load(); s != nil && s.account == a && s.sums.Original == original {
		return s.sums
	}
	return nil
}

// changed takes the refund sums that a record of account a contains. Those of a payment without
// refunds in flight are dropped.
func (r *Recent) changed(a pix.AccountID, s *layout.RefundSums) {
	slot := &r.sums[place(s.Original, len(r.sums))]
	if s.InFlight > 0 {
		slot.Store(&recentSums{a, s})
	} else if old := slot.Load(); old != nil && old.account == a && old.sums.Original == s.Original {
		slot.CompareAndSwap(old, nil)
	}
}

// forget drops every payout and refund of one account, and the refund sums of its payments.
func (r *Recent) forget(a pix.AccountID) {
	for i := range r.slots {
		if p := r.slots[i].Load(); p != nil && p.account == a {
			r.slots[i].CompareAndSwap(p, nil)
		}
	}
	for i := range r.sums {
		if s := r.sums[i].Load(); s != nil && s.account == a {
			r.sums[i].CompareAndSwap(s, nil)
		}
	}
}
