package catchup

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// bookedAtOnce is how many movements of one account are booked at once. Then it is another account's turn.
const bookedAtOnce = 256

// turns are those of an account in Book. It goes through what is kept aside of the account, again and again while something
// becomes bookable: a report may stand before its payment where both are of one instant.
type turns struct {
	account pix.AccountID
	after   []byte // key of the movement that was tried last
	booked  int    // in this pass
	failed  int    // in this pass
	why     error  // of the first that has failed
}

// Book books what is kept aside of accounts that are known by now. What cannot be booked stays. It is not
// called twice at once.
func (r *Runner) Book() {
	var all []*turns
	r.Aside.mu.Lock()
	for id := range r.Aside.accounts {
		all = append(all, &turns{account: id})
	}
	r.Aside.mu.Unlock()
	for len(all) > 0 {
		var left []*turns
		for _, t := range all {
			if !r.Known(t.account) {
				continue
			}
			if r.bookSome(t) {
				left = append(left, t)
				continue
			}
			r.tell(t)
		}
		all = left
	}
}

// tell logs why movements of an account were not booked, unless that was logged last.
func (r *Runner) tell(t *turns) {
	if r.failed == nil {
		r.failed = map[pix.AccountID]string{}
	}
	if now := fmt.Sprint(t.failed, t.why); t.why != nil && r.failed[t.account] != now {
		r.failed[t.account] = now
		r.Log.Error("movements that are kept aside cannot be booked", "account", t.account.String(), "movements", t.failed, "error", t.why)
	}
}

// bookSome books the next movements of an account; false: there is nothing more to book of it.
func (r *Runner) bookSome(t *turns) bool {
	some, err := r.Aside.read(t.account.String()+"/", t.after, bookedAtOnce, func([]byte, error) {}) // Load has told of it
	if err == nil && len(some) == 0 {
		again := t.failed > 0 && t.booked > 0
		if again {
			*t = turns{account: t.account}
		}
		return again
	}
	if err == nil {
		err = r.bookAll(t, some)
	}
	if err != nil {
		t.failed, t.why = t.failed+len(some), err
		return false
	}
	t.after = some[len(some)-1].key
	return true
}

// bookAll books movements of one account in their order, and removes those that are booked. Its error is about all of them.
func (r *Runner) bookAll(t *turns, some []kept) error {
	movements := make([]scheme.Movement, len(some))
	for i := range some {
		movements[i] = some[i].movement
	}
	var work sync.WaitGroup
	why := r.reserve(context.Background(), movements)
	for i := range some {
		if why[i] != nil {
			continue
		}
		work.Add(1)
		r.book(&some[i].movement, func(m *scheme.Movement, changed bool, err error) {
			defer work.Done()
			if why[i] = err; changed {
				r.show(m)
			}
		})
	}
	work.Wait()
	var booked []wal.Op
	for i, err := range why {
		m := &some[i].movement
		if err != nil {
			t.failed++
			t.why = cmp.Or(t.why, fmt.Errorf("%s of %s: %w", Kind(m), m.Notice.EndToEnd, err))
			continue
		}
		booked = append(booked, wal.Op{Kind: wal.OpDelete, Key: some[i].key})
	}
	if len(booked) == 0 {
		return nil
	}
	if err := r.Aside.Write(booked...); err != nil {
		return err
	}
	for i, err := range why {
		if err == nil {
			r.Aside.note(&some[i].movement, -1)
		}
	}
	t.booked += len(booked)
	return nil
}
