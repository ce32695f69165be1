package due

import (
	"errors"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestAccountsShareALane checks that tasks of one account that do not end leave places for
// another's, whose row is due after many rows of the first; and that the first account's rows
// follow in order, each once, as its tasks end.
func TestAccountsShareALane(t *testing.T) {
	const greedy = 5000
	for name, atTheStart := range map[string]bool{"due": false, "at the start": true} {
		s, m := newShelf(), newMachine()
		if !atTheStart {
			look(t, m, 50, s)
		}
		for n := range greedy {
			s.due(pix.Millis(100+n), 1, n, layout.DueDoubt)
		}
		s.due(100+greedy, 2, greedy, layout.DueDoubt)
		s.sort()
		tasks := look(t, m, 10_000, s)
		share := DefaultBounds().Share
		if len(tasks) != share+1 || tasks[share].Account != 2 {
			t.Fatalf("%s: %d tasks, the last of account %d", name, len(tasks), tasks[len(tasks)-1].Account)
		}
		if f := m.figures(); f.Scheme != (InLane{share + 1, greedy - share}) || f.Clock != (InLane{}) {
			t.Errorf("%s: %+v", name, f)
		}
		ends(m, s, tasks[share], 10_000)
		order, running := ids(tasks[:share]), tasks[:share]
		gone := string(layout.DueKey(layout.DueDoubt, 100+greedy/2, 1, txID(greedy/2)))
		delete(s.rows, gone) // its payout has settled while it waited for its turn
		for now := pix.Millis(10_001); len(running) > 0; now++ {
			ends(m, s, running[0], now)
			next := look(t, m, now, s)
			order, running = append(order, ids(next)...), append(running[1:], next...)
			if len(running) > share {
				t.Fatalf("%s: %d of one account at once", name, len(running))
			}
		}
		if len(order) != greedy-1 || !slices.IsSorted(order) || len(slices.Compact(slices.Clone(order))) != len(order) || slices.Contains(order, greedy/2) {
			t.Errorf("%s: %d tasks of %d rows", name, len(order), greedy)
		}
		for _, l := range m.lanes {
			if len(l.parked) != 0 || l.line.Waiting() != 0 || l.line.InUse() != 0 {
				t.Errorf("%s: left: %+v", name, l.parked)
			}
		}
	}
}

// TestLanesAreBounded checks that of three accounts that each have more due than their share no more
// tasks run than a lane has places, in each lane by itself, and that the place of one that ends is
// taken at once.
func TestLanesAreBounded(t *testing.T) {
	s, m := newShelf(), newMachine()
	look(t, m, 50, s)
	for n := range 300 {
		s.due(pix.Millis(100+n), pix.AccountID(1+n%3), n, layout.DueDoubt)
		s.due(pix.Millis(100+n), pix.AccountID(1+n%3), 1000+n, layout.DueQueued)
	}
	s.sort()
	b, running := DefaultBounds(), map[layout.DueKind][]Task{}
	for _, one := range look(t, m, 10_000, s) {
		running[one.Kind()] = append(running[one.Kind()], one)
	}
	if len(running[layout.DueDoubt]) != b.AtOnce || len(running[layout.DueQueued]) != b.AtOnce {
		t.Fatalf("%d and %d tasks run", len(running[layout.DueDoubt]), len(running[layout.DueQueued]))
	}
	ends(m, s, running[layout.DueQueued][0], 10_001)
	if next := look(t, m, 10_001+lookEvery, s); len(next) != 1 || next[0].Kind() != layout.DueQueued {
		t.Errorf("%d tasks follow one that has ended", len(next))
	}
}

// TestRetriesShareALane checks that postponed tasks of one account, whose time has come, leave
// places for another's too, and keep the number of their tries.
func TestRetriesShareALane(t *testing.T) {
	s, m := newShelf(), newMachine()
	const n = 200
	for i := range n {
		s.due(10, 1, i, layout.DueDoubt)
		s.accept(1, i)
	}
	for now, done := pix.Millis(100), 0; done < n; now++ {
		for _, one := range look(t, m, now, s) {
			m.Done(one, Result{Open: true}, 100)
			done++
		}
	}
	s.due(5_000, 2, 900, layout.DueDoubt)
	tasks := look(t, m, 5_001, s)
	share := DefaultBounds().Share
	of1, of2 := 0, 0
	for _, one := range tasks {
		if one.Account == 1 {
			of1++
			if m.working[one.ID].tries != 1 || !m.working[one.ID].again {
				t.Fatalf("%+v", m.working[one.ID])
			}
		} else {
			of2++
		}
	}
	if of1 > share || of1 == 0 || of2 != 1 {
		t.Fatalf("%d and %d tasks", of1, of2)
	}
	m.Done(tasks[len(tasks)-1], Result{Open: true}, 5_001)
	if again := look(t, m, 5_002, s); len(again) > 0 && m.working[again[0].ID].tries != 1 {
		t.Errorf("a parked task starts with %+v", m.working[again[0].ID])
	}
}

// TestParkedAreBounded checks that a cursor waits where no more rows can be kept, and goes on
// later without losing one.
func TestParkedAreBounded(t *testing.T) {
	s := newShelf()
	b := DefaultBounds()
	b.Remember = 10
	m := New(3000, 1<<60, b)
	look(t, m, 50, s)
	const n = 300
	for i := range n {
		s.due(pix.Millis(100+i), 1, i, layout.DueDoubt)
	}
	seen, running := 0, []Task{}
	for now := pix.Millis(10_000); now < 100_000 && seen < n; now += lookEvery {
		next := look(t, m, now, s)
		for _, l := range m.lanes {
			if len(l.parked) > b.Remember {
				t.Fatalf("%d rows kept", len(l.parked))
			}
		}
		seen += len(next)
		running = append(running, next...)
		if len(running) > 0 {
			ends(m, s, running[0], now)
			running = running[1:]
		}
	}
	if seen != n {
		t.Errorf("%d of %d tasks", seen, n)
	}
}

// TestUnreadParkedRowWaits checks that a row which waited for its turn, and could not be read then, has
// its turn when rows can be read again.
func TestUnreadParkedRowWaits(t *testing.T) {
	s, m := newShelf(), newMachine()
	look(t, m, 50, s)
	share := DefaultBounds().Share
	for n := range share + 1 {
		s.due(pix.Millis(100+n), 1, n, layout.DueDoubt)
	}
	tasks := look(t, m, 10_000, s)
	ends(m, s, tasks[0], 10_001)
	s.fail = errors.New("the disk fails")
	if _, err := m.Tick(reading(10_001), s); !errors.Is(err, s.fail) {
		t.Fatal(err)
	}
	s.fail = nil
	if next := look(t, m, 10_002, s); len(tasks) != share || !slices.Equal(ids(next), []int{share}) {
		t.Errorf("%d tasks, and then %v", len(tasks), ids(next))
	}
}

// TestLookBackKeepsTheShare checks that rows of an account which were forgotten, because more were
// postponed than are remembered, do not bring it beyond its share when they are found again, and
// are not lost.
func TestLookBackKeepsTheShare(t *testing.T) {
	b := DefaultBounds()
	b.Remember = 1
	s, m := newShelf(), New(3000, 1<<60, b)
	look(t, m, 50, s)
	rows := func(from int, at pix.Millis) []Task {
		for n := range b.Share {
			s.due(at, 1, from+n, layout.DueDoubt)
		}
		return look(t, m, at, s)
	}
	for _, one := range rows(0, 10_000) {
		m.Done(one, Result{Again: 1 << 40}, 10_000) // of these one is remembered
	}
	running := rows(1000, 10_200)
	if len(running) != b.Share {
		t.Fatalf("%d tasks run", len(running))
	}
	now := pix.Millis(10_200)
	for range 2 * backEvery / lookEvery {
		if now += lookEvery; len(look(t, m, now, s)) > 0 {
			t.Fatal("an account has more than its share")
		}
	}
	for _, one := range running {
		ends(m, s, one, now)
	}
	again := 0
	for range 2 * backEvery / lookEvery {
		now += lookEvery
		again += len(look(t, m, now, s))
	}
	if again != b.Share-1 {
		t.Errorf("%d of the rows that were forgotten have had a task", again)
	}
}

// TestDroppedIsForgotten checks that a postponed task which makes room for another is not taken for a
// postponed one any more, and that no more are kept than may be.
func TestDroppedIsForgotten(t *testing.T) {
	p := newPutOff(1)
	p.add(later{layout.Due{ID: txID(1)}, 10, hopelessAfter + 1})
	p.add(later{layout.Due{ID: txID(2)}, 20, 0})
	p.add(later{layout.Due{ID: txID(3)}, 5, 0})
	if p.has(txID(1)) || !p.has(txID(2)) || p.has(txID(3)) || len(p.byID) != 1 {
		t.Errorf("kept: %v", p.byID)
	}
	if l, ok := p.due(30, func() bool { return true }); !ok || l.due.ID != txID(2) || len(p.byID) != 0 {
		t.Errorf("%+v, %v", l, ok)
	}
	p.add(later{layout.Due{ID: txID(4)}, 10, hopelessAfter})
	p.add(later{layout.Due{ID: txID(5)}, 20, 0})
	if !p.has(txID(4)) || p.has(txID(5)) {
		t.Errorf("there is hope after %d tries: %v", hopelessAfter, p.byID)
	}
}

// unread is a shelf of which single rows can't be read for a while.
type unread struct {
	*shelf
	on  bool
	key string // the only one; empty: all
}

func (u *unread) Get(key []byte) ([]byte, bool, error) {
	if u.on && (u.key == "" || u.key == string(key)) {
		return nil, false, errDisk
	}
	return u.shelf.Get(key)
}

// TestUnreadPostponedTaskWaits checks that a postponed task whose row can't be read when its time comes runs once it
// can be read, and not only when all rows are looked through again.
func TestUnreadPostponedTaskWaits(t *testing.T) {
	s, m := &unread{shelf: newShelf()}, newMachine()
	s.due(100, 1, 1, layout.DueDoubt)
	s.accept(1, 1)
	tasks := look(t, m, 10_000, s.shelf)
	if len(tasks) != 1 {
		t.Fatalf("%d tasks", len(tasks))
	}
	m.Done(tasks[0], Result{Again: 11_000}, 10_000)
	s.on = true
	if _, err := m.Tick(reading(11_000), s); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	s.on = false
	if next, err := m.Tick(reading(11_000+unreadAgain), s); err != nil || !slices.Equal(ids(next), []int{1}) {
		t.Errorf("then %v (%v)", ids(next), err)
	}
}

// TestUnreadTaskKeepsNoOther checks that a postponed task whose row can't be read does not keep the one behind it.
func TestUnreadTaskKeepsNoOther(t *testing.T) {
	s, m := &unread{shelf: newShelf()}, newMachine()
	for n := 1; n <= 2; n++ {
		s.due(100, pix.AccountID(n), n, layout.DueDoubt)
	}
	for i, task := range look(t, m, 10_000, s.shelf) {
		m.Done(task, Result{Again: 11_000 + pix.Millis(i)}, 10_000)
	}
	s.on, s.key = true, string(layout.DueKey(layout.DueDoubt, 100, 1, txID(1)))
	for n := range pix.Millis(3) {
		if tasks, err := m.Tick(reading(11_001+n*unreadAgain), s); !errors.Is(err, errDisk) || n == 0 != slices.Equal(ids(tasks), []int{2}) {
			t.Errorf("%v (%v)", ids(tasks), err)
		}
	}
}

// TestUnreadQueueKeepsNoOther checks that a queue whose rows can't be read keeps neither another queue of its limit nor
// another limit, nor is it forgotten.
func TestUnreadQueueKeepsNoOther(t *testing.T) {
	s, m := newShelf(), newMachine()
	s.queue(own, 1)
	s.queue(layout.QueueFor(pix.BucketClient, 8), 2)
	s.queue(shared(3), 3)
	s.queue(shared(4), 4)
	of := func(q layout.Queue) string {
		k := layout.QueueKey(q, pix.TxID{})
		return string(k[:len(k)-16])
	}
	for _, lost := range []struct {
		of   string
		want []int
	}{{of(own), []int{2, 3, 4}}, {of(shared(3)), []int{1, 2, 4}}} {
		m = newMachine()
		s.lost = lost.of
		tasks, err := m.Tick(reading(100), s)
		if got := ids(tasks); !errors.Is(err, errDisk) || !slices.Equal(slices.Sorted(slices.Values(got)), lost.want) {
			t.Errorf("%v (%v), want %v", got, err, lost.want)
		}
	}
	s.lost, s.fail = "", errDisk
	if _, err := m.Tick(reading(5_000), s); !errors.Is(err, errDisk) || len(m.order) != 3 {
		t.Errorf("%d limits are known, want 3: %v", len(m.order), err)
	}
}

// TestUnreadKindIsNotResumedAlone checks that the start of what a former process had in hand goes on behind a kind of rows
// that can't be read.
func TestUnreadKindIsNotResumedAlone(t *testing.T) {
	kinds := []layout.DueKind{layout.DueTransfer, layout.DueSending, layout.DueDoubt}
	for lost := range kinds {
		s := newShelf()
		for n, kind := range kinds {
			s.due(1<<40, pix.AccountID(n+1), n+1, kind)
		}
		s.lost = string(layout.DueKey(kinds[lost], 0, 0, layout.EntityID{})[:2])
		tasks, err := newMachine().Tick(reading(100), s)
		if got := ids(tasks); !errors.Is(err, errDisk) || len(got) != 2 || slices.Contains(got, lost+1) {
			t.Errorf("without %d: %v (%v)", lost+1, got, err)
		}
	}
}

// TestQuarantinedTasks checks that of an account that is quarantined neither a postponed task runs again nor one of
// those with which a process starts and that no look has reached yet, while those of another account do.
func TestQuarantinedTasks(t *testing.T) {
	b := DefaultBounds()
	b.AtOnce, b.Share = 2, 2
	s, m := newShelf(), New(3000, 1<<60, b)
	for n := range 3 {
		s.due(pix.Millis(100+n), 1, n, layout.DueDoubt)
		s.due(pix.Millis(200+n), 2, 10+n, layout.DueDoubt)
	}
	var later, closed, ran int
	for now := pix.Millis(10_000); now < 60_000; now += 100 {
		for _, one := range look(t, m, now, s) {
			switch {
			case one.Account == 2:
				ran++
				ends(m, s, one, now)
			case later == 0:
				later++
				m.Done(one, Result{Again: now + 1_000}, now)
			case closed == 0:
				closed++
				m.Done(one, Result{Err: ledger.ErrQuarantined}, now)
			default:
				t.Errorf("at %d: %+v", now, one)
				m.Done(one, Result{Err: ledger.ErrQuarantined}, now)
			}
		}
	}
	if later+closed != 2 || ran != 3 {
		t.Errorf("%d and %d of the one, %d of the other", later, closed, ran)
	}
}

// TestQuarantinedParkedRow checks that a row that waited for its turn starts no task once its account has
// reported that it is quarantined, and that other accounts' rows have theirs.
func TestQuarantinedParkedRow(t *testing.T) {
	b := DefaultBounds()
	b.AtOnce, b.Share = 4, 1
	s, m := newShelf(), New(3000, 1<<60, b)
	look(t, m, 50, s)
	for n := range 2 {
		s.due(pix.Millis(100+n), 1, n, layout.DueDoubt)
		s.due(pix.Millis(100+n), 2, 10+n, layout.DueDoubt)
	}
	for _, task := range look(t, m, 10_000, s) {
		if task.Account == 1 {
			m.Done(task, Result{Err: ledger.ErrQuarantined}, 10_001)
		} else {
			ends(m, s, task, 10_001)
		}
	}
	if next := ids(look(t, m, 10_002, s)); !slices.Equal(next, []int{11}) {
		t.Errorf("tasks %v", next)
	}
}

// ends ends a task whose payout waits no more.
func ends(m *Machine, s *shelf, t Task, now pix.Millis) {
	delete(s.rows, string(layout.DueKey(t.due.Kind, t.due.At, t.due.Account, t.due.ID)))
	m.Done(t, Result{}, now)
}
