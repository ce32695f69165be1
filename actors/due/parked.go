package due

import (
	"container/list"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// parked has the rows whose tasks may start as soon as their account has fewer of them running.
// Accounts take turns; the rows of one account keep their order.
type parked struct {
	ids      map[layout.EntityID]bool
	accounts map[pix.AccountID]*account
	turns    list.List // of *account: those that have rows
}

// account is what a lane knows about an account that has tasks running or rows parked.
type account struct {
	id      pix.AccountID
	running int
	rows    []waiting
}

// waiting is a parked row, and how its task starts.
type waiting struct {
	due layout.Due
	as  started
}

func newParked() parked {
	return parked{ids: map[layout.EntityID]bool{}, accounts: map[pix.AccountID]*account{}}
}

// of returns what is known about an account.
func (p *parked) of(id pix.AccountID) *account {
	a := p.accounts[id]
	if a == nil {
		a = &account{id: id}
		p.accounts[id] = a
	}
	return a
}

// park keeps a row.
func (p *parked) park(w waiting) {
	a := p.of(w.due.Account)
	if p.ids[w.due.ID] = true; len(a.rows) == 0 {
		p.turns.PushBack(a)
	}
	a.rows = append(a.rows, w)
}

// next returns the first row of the next account that has fewer than share tasks running; false:
// there is none.
func (p *parked) next(share int) (w waiting, ok bool) {
	for e := p.turns.Front(); e != nil; e = e.Next() {
		a := e.Value.(*account)
		if a.running >= share {
			continue
		}
		w, a.rows = a.rows[0], a.rows[1:]
		delete(p.ids, w.due.ID)
		if p.turns.Remove(e); len(a.rows) > 0 {
			p.turns.PushBack(a)
		}
		p.forget(a)
		return w, true
	}
	return w, false
}

// count counts tasks that start (1) or end (-1).
func (p *parked) count(id pix.AccountID, n int) {
	a := p.of(id)
	a.running += n
	p.forget(a)
}

func (p *parked) forget(a *account) {
	if a.running == 0 && len(a.rows) == 0 {
		delete(p.accounts, a.id)
	}
}
