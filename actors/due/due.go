// Package due is the scanner of due times: rows that say which work waits for
// which instant. In this version it does one thing, at the start of a process:
// it finds the payouts that the last process held and did not see accepted, and
// has their children started again.
package due

import (
	"errors"
	"fmt"
	"sync"

	"pixd/actors/ledger"
	"pixd/wal"
)

// Rows is where due rows are read.
type Rows interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
}

// Starter starts the child of a payout that the record seq holds, where it has
// none; done is called once that is on its way.
type Starter func(a ledger.AccountID, tx ledger.TxID, seq uint64, done func(error))

// atOnce is how many payouts are looked at at a time: their accounts are
// restored for it.
const atOnce = 64

// Resume goes through everything that waits and starts what is only held: a
// payout with a due row and without an open row. It returns how many it had
// started. No clock is asked and no instant remembered, so that no crash on the
// way and no flag of another start can hide one.
func Resume(r Rows, start Starter) (int, error) {
	lo, _ := ledger.DueRange(0, 0)
	slots := make(chan struct{}, atOnce)
	var mu sync.Mutex
	var failed error
	n := 0
	err := r.Scan(lo, []byte{lo[0] + 1}, func(k, v []byte) (bool, error) {
		_, account, tx, err := ledger.DecodeDueKey(k)
		if err != nil {
			return false, err
		}
		kind, seq, err := ledger.DecodeDueRow(v)
		if err != nil || kind != ledger.DuePayout {
			return err == nil, err
		}
		if _, accepted, err := r.Get(ledger.OpenKey(account, tx)); err != nil || accepted {
			return err == nil, err
		}
		n++
		slots <- struct{}{}
		start(account, tx, seq, func(err error) {
			if err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
			<-slots
		})
		return true, nil
	})
	for range atOnce { // every start has answered
		slots <- struct{}{}
	}
	if err = errors.Join(err, failed); err != nil {
		return n, fmt.Errorf("due: resume held payouts: %w", err)
	}
	return n, nil
}

var _ Rows = (*wal.Store)(nil)
