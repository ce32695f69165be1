package account

import (
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// reader is the ledger.Reader of a machine. It looks first among the machine's own rows and
// records that are not durable yet, then asks a filter whether the key can exist at all,
// and then reads the store. It also returns payouts, refunds and refund
// sums that are in memory.
type reader struct {
	machine *Machine
	store   Rows
}

// Get implements ledger.Reader.
func (r *reader) Get(key []byte) ([]byte, bool, error) {
	if row, ok := r.machine.overlay.rows[string(key)]; ok {
		return row.value, row.value != nil, nil
	}
	if layout.MostlyAbsent(key) && !r.machine.config.Present.MayHave(key) {
		return nil, false, nil
	}
	return r.store.Get(key)
}

// Scan implements ledger.Reader.
func (r *reader) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	return r.store.Scan(lo, hi, fn)
}

// Own implements ledger.Reader. It reads the account's rows that are not durable yet together
// with those on disk, in the order of their keys.
func (r *reader) Own(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	fresh := r.machine.overlay.between(lo, hi)
	more := true
	tell := func(upTo []byte) (err error) { // reports fresh rows up to the key upTo, which is included; nil: all
		for len(fresh) > 0 && more && err == nil && (upTo == nil || fresh[0] <= string(upTo)) {
			key := fresh[0]
			fresh = fresh[1:]
			if v := r.machine.overlay.rows[key].value; v != nil {
				more, err = fn([]byte(key), v)
			}
		}
		return err
	}
	err := r.store.Scan(lo, hi, func(k, v []byte) (bool, error) {
		if err := tell(k); err != nil || !more {
			return false, err
		}
		if _, newer := r.machine.overlay.rows[string(k)]; newer {
			return true, nil // reported by tell, or deleted since
		}
		var err error
		more, err = fn(k, v)
		return more, err
	})
	if err != nil {
		return err
	}
	return tell(nil)
}

// Record implements ledger.Reader.
func (r *reader) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	if a == r.machine.head.ID {
		if fresh, ok := r.machine.overlay.records[seq]; ok {
			return fresh, nil
		}
	}
	return r.store.Record(a, seq)
}

// Claim implements ledger.Reader. Most requests have a new key. The store is read only
// where the filters say that a claim with this key may have been made in the hours between
// from and to.
func (r *reader) Claim(key []byte, from, to pix.Millis) ([]byte, bool, error) {
	if row, ok := r.machine.overlay.rows[string(key)]; ok {
		return row.value, row.value != nil, nil
	}
	if !r.machine.config.Claims.MayHave(hourOf(from), hourOf(to), claimant(key)) {
		return nil, false, nil
	}
	return r.store.Get(key)
}

// KeyIsOurs implements ledger.Reader.
func (r *reader) KeyIsOurs(key string) bool {
	ours := r.machine.config.KeyIsOurs
	return ours != nil && ours(key)
}

// Carried implements ledger.Reader.
func (r *reader) Carried(id pix.TxID) *ledger.Transaction { return r.machine.work[id] }

// EachCarried implements ledger.Reader.
func (r *reader) EachCarried(fn func(*ledger.Transaction) bool) {
	for _, t := range r.machine.work {
		if !fn(t) {
			return
		}
	}
}

// Recent implements ledger.Reader.
func (r *reader) Recent(id pix.TxID) *ledger.Transaction {
	if p := r.machine.config.Recent.get(id); p != nil && p.account == r.machine.head.ID {
		return p.tx
	}
	return nil
}

// RecentSums implements ledger.Reader.
func (r *reader) RecentSums(original pix.TxID) *layout.RefundSums {
	return r.machine.config.Recent.sumsOf(r.machine.head.ID, original)
}

// OwedBehind implements ledger.Reader.
func (r *reader) OwedBehind() pix.Amount { return r.machine.behind }

// NoteOwed implements ledger.Reader.
func (r *reader) NoteOwed(behind pix.Amount) { r.machine.behind = behind }

// claimant is the part of an idempotency row's key that names the claim itself, without the
// row's tag and day.
func claimant(key []byte) []byte { return key[3:] }

func hourOf(t pix.Millis) int64 { return int64(t / (60 * 60 * 1000)) }
