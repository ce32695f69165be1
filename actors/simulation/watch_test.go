package simulation

import (
	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/ledger"
)

// watch looks over the scanner's shoulder: what is due is visited at once, not
// minutes later.
type watch struct {
	visiting map[ledger.TxID]bool
	until    map[ledger.TxID]ledger.Millis // what is visited again only then
	quiet    ledger.Millis                 // the scheme was not heard: nothing may start before
	seen     map[string]ledger.Millis      // due rows that the last look could see, and from when on they must be visited
	last     ledger.Millis                 // when that was
	clock    ledger.Millis                 // the newest instant that was told
}

func newWatch() *watch {
	return &watch{visiting: map[ledger.TxID]bool{}, until: map[ledger.TxID]ledger.Millis{}}
}

// What the scanner may take its time for: patience is its longest wait after a
// failure, with the pause when several fail in a row; late is how long a row may be
// on its way to the disk and still be found at once, and whole how long it takes to
// find one that was longer.
const (
	patience = ledger.Millis(66_000)
	late     = ledger.Millis(10_000)
	whole    = ledger.Millis(5 * 60_000)
	atOnce   = 64
)

func (w *watch) begins(v due.Visit) {
	if !v.Retry {
		w.visiting[v.ID] = true
	}
}

func (w *watch) ends(v due.Visit, came account.Visited, now ledger.Millis) {
	if v.Retry {
		return
	}
	w.follow(now)
	delete(w.visiting, v.ID)
	delete(w.until, v.ID)
	switch {
	case came.Unheard || came.Err != nil:
		w.until[v.ID], w.quiet = now+patience, now+5_000
	case came.Open:
		w.until[v.ID] = now + patience
	case came.Again != 0:
		w.until[v.ID] = came.Again
	}
}

// follow takes note of the clock: what was to wait by one that has gone back waits
// no more.
func (w *watch) follow(now ledger.Millis) {
	if now < w.clock {
		w.quiet = 0
		clear(w.until)
	}
	w.clock = now
}

// looked follows a look of the scanner's.
func (w *watch) looked(l *life) {
	now, seen := l.now(), map[string]ledger.Millis{}
	w.follow(now)
	excused := now < w.quiet || len(w.visiting) >= atOnce
	lo, hi := ledger.DueRange(0, now+1)
	err := l.paper.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		at, id, tx, err := ledger.DecodeDueKey(k)
		if err != nil {
			return false, err
		}
		from, before := w.seen[string(k)]
		if !before && at < w.last-late {
			from = now + whole
		}
		seen[string(k)] = from
		if now >= from && !excused && !w.visiting[tx] && w.until[tx] <= now && !l.flipped[id] {
			l.fail("%v of %v was due at %v, and is not looked after at %v", tx, id, at, now)
		}
		return true, nil
	})
	if err != nil {
		l.fail("due rows: %v", err)
	}
	w.seen, w.last = seen, now
}
