package simulation

import (
	"errors"

	"pixd/actors/due"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// watch checks the scanner: tasks start soon after they are due, and postponed tasks soon
// after the time to which they were postponed, whatever else is due and however small the
// scanner's bounds are.
type watch struct {
	bounds  due.Bounds
	running map[pix.TxID]bool
	ran     map[pix.TxID]bool       // payouts whose task ran at least once
	until   map[pix.TxID]pix.Millis // for each payout whose task has ended, engine time at which the payout is due again
	tries   map[pix.TxID]int        // how often a task changed nothing
	closed  map[pix.AccountID]bool  // quarantined accounts, of which no task may start
	working map[bool]int            // number of tasks under way, by whether they need the scheme
	begun   map[bool]int            // number of the tasks in working that began at the scanner's newest look
	needs   map[pix.TxID]bool
	quiet   pix.Millis       // no task that needs the scheme may start before this time, because an earlier task could not reach the scheme
	seen    map[string]sight // due rows that were visible at the last look
	misses  map[string]int   // for each row, the number of looks at which the row should have had a task and had none
	last    pix.Millis       // engine time of the scanner's last look
}

// sight is the time at which a due row was first seen. late means that the look before should
// already have seen the row: the row became visible after its due time.
type sight struct {
	since pix.Millis
	late  bool
}

func newWatch(b due.Bounds) *watch {
	return &watch{
		bounds: b, running: map[pix.TxID]bool{}, ran: map[pix.TxID]bool{}, until: map[pix.TxID]pix.Millis{},
		tries: map[pix.TxID]int{}, closed: map[pix.AccountID]bool{}, working: map[bool]int{}, begun: map[bool]int{}, needs: map[pix.TxID]bool{},
		seen: map[string]sight{}, misses: map[string]int{},
	}
}

// These are the longest times, in ms, that the scanner may take. pace: between two looks at
// due rows. late: until it finds a row that became visible after its due time. patience:
// until it finds a postponed row that it could not remember. With small bounds the scanner
// needs several looks to go through all rows.
const (
	pace     = pix.Millis(200)
	late     = pix.Millis(10_000)
	patience = pix.Millis(130_000)
)

// mayMiss is the number of looks that may pass over a row which should have a task.
func (w *watch) mayMiss() int {
	if w.bounds != due.DefaultBounds() {
		return 40
	}
	return 2
}

func (w *watch) begins(t due.Task, k layout.DueKind) {
	if t.Retry {
		return
	}
	w.running[pix.TxID(t.ID)], w.ran[pix.TxID(t.ID)], w.needs[pix.TxID(t.ID)] = true, true, k.Need() == layout.NeedsScheme
	w.working[k.Need() == layout.NeedsScheme]++
	w.begun[k.Need() == layout.NeedsScheme]++
}

func (w *watch) ends(t due.Task, r due.Result, now pix.Millis) {
	if errors.Is(r.Err, ledger.ErrQuarantined) {
		w.closed[t.Account] = true
	}
	if t.Retry {
		return
	}
	delete(w.running, pix.TxID(t.ID))
	w.working[w.needs[pix.TxID(t.ID)]]--
	w.until[pix.TxID(t.ID)] = now
	if r.Unheard {
		w.quiet = now + 5_000
	}
	if r.Err != nil || r.Unheard || r.Open {
		w.tries[pix.TxID(t.ID)]++
	}
	switch {
	case r.Err != nil:
		w.until[pix.TxID(t.ID)] = now + 30_000
	case r.Rarely && (r.Unheard || r.Open):
		// A row that the scanner could not remember counts as tried three times when it is found again.
		w.until[pix.TxID(t.ID)] = now + max(60_000, min(pix.Millis(3_000)<<min(3+w.tries[pix.TxID(t.ID)], 12), 30*60_000))
	case r.Unheard:
		w.until[pix.TxID(t.ID)] = now + 60_000
	case r.Open:
		w.until[pix.TxID(t.ID)] = now + 60_000
	case r.Again != 0:
		w.until[pix.TxID(t.ID)] = r.Again
	}
}

// excused reports whether no task of a kind has to start now: the scheme could not be reached
// (for kinds that need it), engine time is doubted (for the other kinds), or enough tasks of
// the same lane are under way.
func (w *watch) excused(k layout.DueKind, now pix.Reading) bool {
	if k.Need() == layout.NeedsScheme && now.Clock < w.quiet || k.Need() != layout.NeedsScheme && now.Doubted {
		return true
	}
	return w.working[k.Need() == layout.NeedsScheme] >= w.bounds.AtOnce-w.bounds.AtOnce/4 || w.begun[k.Need() == layout.NeedsScheme] >= w.bounds.Look
}

// looked checks all due rows after the scanner has looked at them.
func (w *watch) looked(l *life) {
	now, seen := l.time.Read(), map[string]sight{}
	for _, kind := range layout.DueKinds() {
		lo, hi := layout.DueRange(kind, 0, now.Clock+1)
		err := l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
			d, err := layout.DecodeDue(k, v)
			if err != nil {
				return false, err
			}
			key := string(k)
			first, before := w.seen[key]
			if !before {
				first = sight{now.Clock, w.last > d.At}
			}
			seen[key] = first
			if w.closed[d.Account] {
				l.count("met: a due row of a quarantined account")
			}
			if !w.overdue(&d, first, now.Clock) || w.closed[d.Account] || l.flipped[d.Account] {
				delete(w.misses, key)
			} else if !w.excused(kind, now) {
				if w.misses[key]++; w.misses[key] > w.mayMiss() {
					l.fail("%v of %v was due at %v, and is not looked after at %v", d.ID, d.Account, d.At, now.Clock)
				}
			}
			return true, nil
		})
		if err != nil {
			l.fail("due rows: %v", err)
		}
	}
	w.seen, w.last = seen, now.Clock
	clear(w.begun)
}

// overdue reports whether a row should have had a task by now.
func (w *watch) overdue(d *layout.Due, first sight, now pix.Millis) bool {
	switch {
	case w.running[pix.TxID(d.ID)]:
		return false
	case first.late:
		return now > max(w.until[pix.TxID(d.ID)], first.since)+patience
	case w.ran[pix.TxID(d.ID)]:
		return now > max(w.until[pix.TxID(d.ID)], d.At)+patience
	}
	return now > d.At+late+pace
}
