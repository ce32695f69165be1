// Package due is the one scanner of due times and of the directory's lines: rows
// that say which payout waits for which instant, or for which capacity. It knows
// how many may be looked after at once and in which order; what is to be done with
// each, its account knows. What waits costs no memory here.
//
// Machine says which are to be visited; Scanner is its shell.
package due

import (
	"fmt"

	"pixd/actors/ledger"
)

// Rows is where due and queue rows are read.
type Rows interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
}

// Visit is a payout to look after.
type Visit struct {
	Account ledger.AccountID
	ID      ledger.TxID
	Seq     uint64      // of a record about it; 0 with Retry
	Retry   bool        // one in line: capacity may be back. Else its time has come
	Line    ledger.Line // with Retry
}

// Came is how a visit ended.
type Came struct {
	Again   ledger.Millis // come again then; 0: no more is to be done
	Unheard bool          // the scheme could not be asked
	Open    bool          // it was heard, and its answer settles nothing
	Queued  bool          // it waits for capacity, still or again
	Skipped bool          // nothing was asked
	Failed  bool          // its account could not look
}

// Bounds on what goes on at once, and on what is remembered.
const (
	atOnce      = 64     // due payouts looked after at once
	lookAtOnce  = 20_000 // rows looked at in one step of the start
	rememberMax = 10_000 // payouts that are to be visited again later
	margin      = ledger.Millis(10_000)
	wholeEvery  = ledger.Millis(5 * 60_000)
)

// How long a visit that came to nothing waits: a failed one, one whose scheme was
// not heard (twice as long each time), and all others once several in a row were
// not heard.
const (
	failedAgain  = ledger.Millis(30_000)
	unheardAgain = ledger.Millis(3_000)
	unheardMost  = ledger.Millis(60_000)
	quietFor     = ledger.Millis(5_000)
	quietAfter   = 3
)

// Machine knows what is visited and what is to be. It has no goroutine, clock or
// I/O but the rows it is given.
type Machine struct {
	every ledger.Millis // between two rounds of a line

	last    ledger.Millis // the newest instant it was told
	mark    ledger.Millis // no due row lies before it
	whole   ledger.Millis // when all rows are looked at again, from the first
	resume  []byte        // where the start's look at all rows goes on; nil: it is over
	working map[ledger.TxID]bool
	later   map[ledger.TxID]later

	unheard int           // visits in a row
	quiet   ledger.Millis // until then none starts
	silent  bool          // the scheme is: that was told

	find  ledger.Millis // when lines are looked for again
	lines map[ledger.Line]*line
	order []ledger.Line
}

// later is when a payout is visited again.
type later struct {
	at    ledger.Millis
	tries int
}

// New is a machine at the start of a process. A line is tried every so many
// milliseconds.
func New(every ledger.Millis) *Machine {
	lo, _ := ledger.AllDue()
	return &Machine{
		every: every, resume: lo, working: map[ledger.TxID]bool{}, later: map[ledger.TxID]later{},
		lines: map[ledger.Line]*line{},
	}
}

// Tick is what to visit now. Each visit given must be answered by Came.
func (m *Machine) Tick(now ledger.Millis, rows Rows) ([]Visit, error) {
	m.follow(now)
	if now >= m.whole { // what is believed of old rows is looked at again from time to time
		m.mark, m.whole = 0, now+wholeEvery
	}
	var visits []Visit
	var err error
	if m.resume != nil {
		visits, err = m.resumed(rows)
	}
	if err == nil && now >= m.quiet {
		visits, err = m.dueNow(visits, now, rows)
	}
	if err == nil {
		visits, err = m.inLine(visits, now, rows)
	}
	if err != nil {
		return visits, fmt.Errorf("due: %w", err)
	}
	return visits, nil
}

// follow takes note of the clock. One that went back makes rows due before the
// mark, and what was to wait did so by instants that would now keep it waiting for
// as long as the clock went back.
func (m *Machine) follow(now ledger.Millis) {
	if now < m.last {
		m.whole, m.quiet = 0, 0
		clear(m.later)
	}
	m.last = now
}

// resumed finds what the last process had in hand: a payout that is on its way, or
// that is only held. No clock is asked and no instant remembered for it, so that
// no crash and no flag of another start can hide one.
func (m *Machine) resumed(rows Rows) (visits []Visit, err error) {
	_, hi := ledger.AllDue()
	n := 0
	over := true
	err = rows.Scan(m.resume, hi, func(k, v []byte) (bool, error) {
		if n++; n > lookAtOnce || len(m.working) >= atOnce {
			m.resume, over = append([]byte(nil), k...), false
			return false, nil
		}
		visit, kind, err := read(k, v)
		if err != nil || m.working[visit.ID] {
			return err == nil, err
		}
		in, err := inHand(rows, kind, &visit)
		if err == nil && in {
			m.working[visit.ID] = true
			visits = append(visits, visit)
		}
		return err == nil, err
	})
	if over && err == nil {
		m.resume = nil
	}
	return visits, err
}

// inHand tells a payout that a process has a child for.
func inHand(rows Rows, kind ledger.DueKind, v *Visit) (bool, error) {
	switch kind {
	case ledger.DueSending:
		return true, nil
	case ledger.DuePayout:
		_, accepted, err := rows.Get(ledger.OpenKey(v.Account, v.ID))
		return err == nil && !accepted, err
	}
	return false, nil
}

func read(k, v []byte) (Visit, ledger.DueKind, error) {
	_, account, tx, err := ledger.DecodeDueKey(k)
	if err != nil {
		return Visit{}, 0, err
	}
	kind, seq, err := ledger.DecodeDueRow(v)
	return Visit{Account: account, ID: tx, Seq: seq}, kind, err
}

// dueNow finds what waits for an instant that has come, oldest first.
func (m *Machine) dueNow(visits []Visit, now ledger.Millis, rows Rows) ([]Visit, error) {
	if len(m.working) >= atOnce {
		return visits, nil
	}
	lo, hi := ledger.DueRange(m.mark, now+1)
	oldest := now
	err := rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		at, _, id, err := ledger.DecodeDueKey(k)
		if err != nil {
			return false, err
		}
		oldest = min(oldest, at)
		if m.working[id] || m.later[id].at > now {
			return true, nil
		}
		visit, _, err := read(k, v)
		if err != nil {
			return false, err
		}
		m.working[id] = true
		visits = append(visits, visit)
		return len(m.working) < atOnce, nil
	})
	// What is on its way to the disk may yet turn up a little before now.
	m.mark = min(oldest, max(0, now-margin))
	return visits, err
}

// Came takes the end of a visit; true where the operators must hear that the
// scheme cannot be reached: once, until it is heard again.
func (m *Machine) Came(v Visit, c Came, now ledger.Millis) (alert bool) {
	m.follow(now)
	if v.Retry {
		m.cameInLine(v, c, now)
		return false
	}
	delete(m.working, v.ID)
	before := m.later[v.ID]
	delete(m.later, v.ID)
	switch {
	case c.Failed:
		m.again(v.ID, later{at: now + failedAgain})
	case c.Open:
		m.seldom(v.ID, before.tries, now)
		m.unheard, m.silent = 0, false
	case c.Unheard:
		m.seldom(v.ID, before.tries, now)
		if m.unheard++; m.unheard >= quietAfter {
			m.quiet = now + quietFor
		}
		alert, m.silent = !m.silent, true
	case c.Again != 0:
		m.again(v.ID, later{at: c.Again})
	default:
		m.unheard, m.silent = 0, false
	}
	return alert
}

// seldom has a payout visited again, twice as late each time.
func (m *Machine) seldom(id ledger.TxID, tries int, now ledger.Millis) {
	wait := min(unheardAgain<<min(tries, 8), unheardMost)
	m.again(id, later{now + wait, tries + 1})
}

func (m *Machine) again(id ledger.TxID, l later) {
	if len(m.later) >= rememberMax {
		clear(m.later) // they are visited once more than they need be
	}
	m.later[id] = l
}
