package audit

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Waiting has, for each account, the number of its open rows, due rows and queue rows.
type Waiting struct {
	open, due, queued map[pix.AccountID]int

	malformed []Difference // rows that cannot be decoded, of an account where the row says of which
}

// CountWaiting scans the open, due and queue rows of all accounts once. Doing so for one
// account would not be cheaper, because due rows are sorted by time and queue rows by
// queue. It ends with ctx. Malformed rows are not counted.
func CountWaiting(ctx context.Context, r layout.Rows) (Waiting, error) {
	w := Waiting{open: map[pix.AccountID]int{}, due: map[pix.AccountID]int{}, queued: map[pix.AccountID]int{}}
	queues := layout.QueueRanges()
	for _, c := range []struct {
		into   map[pix.AccountID]int
		lo, hi []byte
		owner  func(k, v []byte) (pix.AccountID, error)
	}{
		{w.open, first(layout.OpenRange()), second(layout.OpenRange()), ownerOfOpen},
		{w.due, first(layout.AllDue()), second(layout.AllDue()), ownerOfDue},
		{w.queued, queues[0][0], queues[0][1], ownerOfQueued},
		{w.queued, queues[1][0], queues[1][1], ownerOfQueued},
	} {
		err := r.Scan(c.lo, c.hi, func(k, v []byte) (bool, error) {
			a, err := c.owner(k, v)
			if errors.Is(err, layout.ErrMalformed) {
				w.malformed, err = append(w.malformed, damageOf(a, err)), nil
			} else {
				c.into[a]++
			}
			return ctx.Err() == nil, err
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return w, err
		}
	}
	return w, nil
}

// damageOf is the difference of an account of which something cannot be read.
func damageOf(a pix.AccountID, err error) Difference {
	return Difference{Account: a, Kind: KindDamage, Message: err.Error()}
}

func first(lo, _ []byte) []byte  { return lo }
func second(_, hi []byte) []byte { return hi }

func ownerOfOpen(k, _ []byte) (pix.AccountID, error) {
	a, _, err := layout.DecodeOpenKey(k)
	return a, err
}

func ownerOfDue(k, v []byte) (pix.AccountID, error) {
	d, err := layout.DecodeDue(k, v)
	return d.Account, err
}

func ownerOfQueued(k, v []byte) (pix.AccountID, error) {
	q, err := layout.DecodeQueued(k, v)
	return q.Account, err
}

// Left lists the accounts that have such rows and for which Check was not called.
func (w Waiting) Left() []pix.AccountID {
	var left []pix.AccountID
	for _, m := range []map[pix.AccountID]int{w.open, w.due, w.queued} {
		for a := range m {
			left = append(left, a)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// Check compares the account's payouts and refunds in flight, and its special-return cases,
// with the rows in the same state of the store in which the records were read. Each transfer must have its due row, its open row once the merchant can see
// it, and its queue row while it is queued; each case its due row and holding row; and no such
// row may be without its transfer or case. It ends at the first malformed row.
func (a *Account) Check(r layout.Rows, w Waiting) error {
	defer w.checked(a.ID)
	var open, due, queued int
	ids := make([]pix.TxID, 0, len(a.open))
	for id := range a.open {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(x, y pix.TxID) int { return bytes.Compare(x[:], y[:]) })
	for _, id := range ids {
		now := a.open[id]
		if now.status != pix.StatusHeld {
			if err := a.openRow(r, id, &open); err != nil {
				return err
			}
		}
		if err := a.must(r, layout.DueKey(now.kind, now.due, a.ID, layout.EntityID(id)), KindDue, id, &due); err != nil {
			return err
		}
		if now.status != pix.StatusQueued {
			continue
		}
		if err := a.must(r, a.place(id), KindQueue, id, &queued); err != nil {
			return err
		}
	}
	if err := a.checkCases(r, &due); err != nil {
		return err
	}
	return a.strays(r, [3]bool{open != w.open[a.ID], due != w.due[a.ID], queued != w.queued[a.ID]})
}

// checked forgets the rows of an account.
func (w Waiting) checked(a pix.AccountID) {
	delete(w.open, a)
	delete(w.due, a)
	delete(w.queued, a)
}

// place returns the key of a queued payout's queue row.
func (a *Account) place(id pix.TxID) []byte {
	return layout.QueueKey(layout.QueueFor(a.open[id].bucket, a.ID), id)
}

// must reports a difference where a payout in flight lacks the row under key; where the row
// exists, it adds 1 to the counter there.
func (a *Account) must(r layout.Rows, key []byte, kind string, id pix.TxID, there *int) error {
	_, ok, err := r.Get(key)
	if ok {
		*there++
	} else if err == nil {
		a.tell(kind, id.Public(a.open[id].is), "a transfer that is %v has none", a.open[id].status)
	}
	return err
}

func (a *Account) openRow(r layout.Rows, id pix.TxID, there *int) error {
	v, ok, err := r.Get(layout.OpenKey(a.ID, id))
	if err != nil {
		return err
	}
	if !ok {
		a.tell(KindOpen, id.Public(a.open[id].is), "a transfer that is %v has none", a.open[id].status)
		return nil
	}
	*there++
	seq, err := layout.DecodeSeqRow(v)
	if err == nil && seq != a.open[id].seq {
		a.tell(KindOpen, id.Public(a.open[id].is), "leads to record %d, its newest is %d", seq, a.open[id].seq)
	}
	return err
}

// strays reports the rows that have no payout. some says for which kinds of rows (open,
// due, queue) the number is wrong, so that they must be searched.
func (a *Account) strays(r layout.Rows, some [3]bool) error {
	for n, name := range []func(layout.Rows) error{a.strayOpen, a.strayDue, a.strayQueued} {
		if some[n] {
			if err := name(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// kind returns the kind of a transfer in flight; of any other, the kind payout.
func (a *Account) kind(id pix.TxID) pix.TxKind {
	if w, ok := a.open[id]; ok {
		return w.is
	}
	return pix.TxPayout
}

func (a *Account) strayOpen(r layout.Rows) error {
	lo, hi := layout.OpenOf(a.ID)
	return r.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		_, id, err := layout.DecodeOpenKey(k)
		if w, ok := a.open[id]; err == nil && (!ok || w.status == pix.StatusHeld) {
			a.tell(KindOpen, id.Public(a.kind(id)), "stands for no payout or refund in flight")
		}
		return true, err
	})
}

func (a *Account) strayDue(r layout.Rows) error {
	lo, hi := layout.AllDue()
	return r.Scan(lo, hi, func(k, v []byte) (bool, error) {
		d, err := layout.DecodeDue(k, v)
		if errors.Is(err, layout.ErrMalformed) {
			return true, nil // CountWaiting has found it
		}
		if err == nil && d.Kind == layout.DueCase {
			a.strayCaseDue(&d)
			return true, nil
		}
		if w, ok := a.open[pix.TxID(d.ID)]; err == nil && d.Account == a.ID && (!ok || w.due != d.At || w.kind != d.Kind) {
			a.tell(KindDue, pix.TxID(d.ID).Public(a.kind(pix.TxID(d.ID))), "at %v nothing is due", d.At)
		}
		return true, err
	})
}

func (a *Account) strayQueued(r layout.Rows) error {
	for _, queues := range layout.QueueRanges() {
		err := r.Scan(queues[0], queues[1], func(k, v []byte) (bool, error) {
			q, err := layout.DecodeQueued(k, v)
			if errors.Is(err, layout.ErrMalformed) {
				return true, nil // as above
			}
			w, ok := a.open[q.ID]
			if err == nil && q.Account == a.ID && (!ok || w.status != pix.StatusQueued || !bytes.Equal(k, a.place(q.ID))) {
				a.tell(KindQueue, q.ID.Public(pix.TxPayout), "stands for no queued payout")
			}
			return true, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
