package due

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestScanner checks that the scanner starts tasks, takes their results, and raises one
// alert when the scheme cannot be reached.
func TestScanner(t *testing.T) {
	s := newShelf()
	s.due(5, 1, 1, layout.DueDoubt)
	s.accept(1, 1)
	a := &accounts{end: func() {}}
	ctx, end := context.WithCancel(t.Context())
	a.end = end
	now := func() pix.Reading { return reading(pix.Millis(time.Now().UnixMilli()) * 20) }
	a.scanner = NewScanner(newMachine(), s, now, a, slog.New(slog.DiscardHandler))
	go func() {
		time.Sleep(5 * time.Second)
		end()
	}()
	a.scanner.Run(ctx, a)
	if a.tasks.Load() != 2 || a.alerts.Load() != 1 {
		t.Errorf("%d tasks, %d alerts", a.tasks.Load(), a.alerts.Load())
	}
}

// TestScannerAlerts checks that the scanner raises an alert for a task that nobody answers, and neither for one that is
// answered nor for one that does not run; and that it needs no place for alerts.
func TestScannerAlerts(t *testing.T) {
	for _, raises := range []bool{true, false} {
		s, a := newShelf(), &accounts{}
		s.due(5, 1, 1, layout.DueDoubt)
		m := newMachine()
		tasks := look(t, m, 10, s)
		var alerts ledger.Alerts
		if raises {
			alerts = a
		}
		scanner := NewScanner(m, s, func() pix.Reading { return reading(10) }, alerts, slog.New(slog.DiscardHandler))
		scanner.Done(Task{Account: 1, ID: txID(9)}, Result{Unheard: true})
		scanner.hear()
		if n := a.alerts.Load(); n != 0 {
			t.Errorf("%d alerts about a task that does not run", n)
		}
		scanner.Done(tasks[0], Result{Unheard: true, Public: "PIXOUT7"})
		scanner.hear()
		again := look(t, m, 10_000, s)
		scanner.Done(again[0], Result{})
		scanner.hear()
		if n := a.alerts.Load(); (n == 1) != raises {
			t.Errorf("%d alerts", n)
		}
		if at := a.last.Load(); raises && (at == nil || at.account != 1 || layout.EntityID(at.alert.Tx) != tasks[0].ID || at.alert.Public != "PIXOUT7" || at.alert.Message == "") {
			t.Errorf("the alert is %+v", at)
		}
	}
}

// halting are rows whose reading waits, and says that it does, while there is something in on.
type halting struct {
	*shelf
	on, waits chan struct{}
}

// Scan implements layout.Rows.
func (h halting) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	select {
	case <-h.on:
		h.waits <- struct{}{}
		<-h.waits
	default:
	}
	return h.shelf.Scan(lo, hi, fn)
}

// TestDoneWhileReading checks that the end of a task waits for no reading of rows: the journal's goroutine says it, behind
// which all accounts' answers are. The machine hears of it afterwards.
func TestDoneWhileReading(t *testing.T) {
	s := newShelf()
	s.due(5, 1, 1, layout.DueDoubt)
	h := halting{s, make(chan struct{}, 1), make(chan struct{})}
	sc := NewScanner(newMachine(), h, func() pix.Reading { return reading(pix.Millis(time.Now().UnixMilli()) * 20) }, nil, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tasks := make(handing, 10)
	go sc.Run(ctx, tasks)
	first := <-tasks
	h.on <- struct{}{}
	<-h.waits // a later look
	done := make(chan struct{})
	go func() {
		sc.Done(first, Result{})
		sc.Done(Task{Account: 1, ID: txID(9)}, Result{})
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the reading")
	}
	if n := sc.Figures().Scheme.Running; n != 1 {
		t.Errorf("%d tasks run", n)
	}
	h.waits <- struct{}{}
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		select {
		case again := <-tasks: // the row is still there
			if again.ID != first.ID {
				t.Errorf("%+v, expected the same again", again)
			}
			return
		default:
		}
		if time.Now().After(until) {
			t.Fatal("the machine does not hear of it")
		}
	}
}

// accounts ends each task at once. The result of the first task is Unheard.
type accounts struct {
	scanner       *Scanner
	tasks, alerts atomic.Int64
	last          atomic.Pointer[raised]
	end           func()
}

// raised is an alert of an account.
type raised struct {
	account pix.AccountID
	alert   ledger.Alert
}

func (a *accounts) Due(t Task) {
	if a.tasks.Add(1) == 1 {
		go a.scanner.Done(t, Result{Unheard: true})
		return
	}
	go a.scanner.Done(t, Result{})
	a.end()
}

func (a *accounts) Raise(id pix.AccountID, alert ledger.Alert) {
	a.last.Store(&raised{id, alert})
	if alert.Kind == AlertUnreachable {
		a.alerts.Add(1)
	}
}

// shelf is a store of rows in memory.
type shelf struct {
	rows map[string][]byte
	keys []string // sorted keys, once sort was called; nil: every scan sorts the keys
	fail error
	lost string // rows whose keys begin so cannot be read; empty: all can
	read int
}

func newShelf() *shelf { return &shelf{rows: map[string][]byte{}} }

// newMachine makes a machine with the bounds of an engine and 3 s between two rounds of a
// queue.
func newMachine() *Machine { return New(3000, 1<<60, DefaultBounds()) }

const atOnce = 64

func txID(n int) layout.EntityID { return layout.EntityID{byte(n >> 16), byte(n >> 8), byte(n)} }

func (s *shelf) due(at pix.Millis, a pix.AccountID, n int, kind layout.DueKind) {
	s.rows[string(layout.DueKey(kind, at, a, txID(n)))] = []byte{0, 0, 0, 0, 0, 0, 0, byte(n)}
}

func (s *shelf) accept(a pix.AccountID, n int) {
	s.rows[string(layout.OpenKey(a, pix.TxID(txID(n))))] = []byte{1}
}

// The queues of these tests: the institution's queue of earlier versions, in which all payouts
// are of account 9, and that of an account's own limit.
var (
	earlier = layout.QueueFor(pix.BucketInstitution, 9)
	own     = layout.QueueFor(pix.BucketClient, 7)
)

func shared(a pix.AccountID) layout.Queue { return layout.QueueFor(pix.BucketShared, a) }

func (s *shelf) queue(q layout.Queue, n int) {
	a := q.Account
	if q == earlier {
		a = 9
	}
	s.rows[string(layout.QueueKey(q, pix.TxID(txID(n))))] = binary.BigEndian.AppendUint64(nil, uint64(a))
}

func (s *shelf) Get(key []byte) ([]byte, bool, error) {
	v, ok := s.rows[string(key)]
	return v, ok, s.fail
}

// sort makes scans of many rows fast. Rows that are added after it are not found until sort
// is called again.
func (s *shelf) sort() { s.keys = slices.Sorted(maps.Keys(s.rows)) }

func (s *shelf) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	if s.fail != nil {
		return s.fail
	}
	if s.lost != "" && strings.HasPrefix(string(lo), s.lost) {
		return errDisk
	}
	keys := s.keys
	if keys == nil {
		keys = slices.Sorted(maps.Keys(s.rows))
	}
	from, _ := slices.BinarySearch(keys, string(lo))
	for _, k := range keys[from:] {
		if k >= string(hi) {
			break
		}
		v, there := s.rows[k]
		if !there {
			continue
		}
		s.read++
		if more, err := fn([]byte(k), v); err != nil || !more {
			return err
		}
	}
	return nil
}

func ids(tasks []Task) (out []int) {
	for _, v := range tasks {
		out = append(out, int(v.ID[0])<<16|int(v.ID[1])<<8|int(v.ID[2]))
	}
	return out
}

// reading is a time of which records are stamped hours ahead, as after a start behind the journal,
// so that a mix-up of the two times is found.
func reading(now pix.Millis) pix.Reading {
	return pix.Reading{Time: now + 5*60*60*1000, Clock: now}
}

func look(t *testing.T, m *Machine, now pix.Millis, s *shelf) []Task {
	t.Helper()
	v, err := m.Tick(reading(now), s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var errDisk = errors.New("disk")

// TestStart checks that the first Tick of a process starts a task for every payout that a
// child actor of the previous process may have carried (held, sending or in doubt), even
// before its due time, and for no other payout.
func TestStart(t *testing.T) {
	s := newShelf()
	s.due(1<<50, 1, 1, layout.DueTransfer) // a held payout
	s.due(1<<50, 1, 2, layout.DueTransfer) // a payout that accept makes an accepted one
	s.accept(1, 2)
	s.due(1<<50, 1, 3, layout.DueSending)
	s.accept(1, 3)
	for n, kind := range []layout.DueKind{layout.DueQueued, layout.DueApproval, layout.DueDoubt} {
		s.due(1<<50, 1, 4+n, kind)
	}
	m := newMachine()
	v := look(t, m, 1000, s)
	if got := ids(v); !slices.Equal(got, []int{1, 3, 6}) {
		t.Errorf("taken up: %v", got)
	}
	if v[1].Seq != 3 || v[1].Account != 1 || v[1].Retry {
		t.Errorf("task %+v", v[1])
	}
	s.due(1<<50, 1, 9, layout.DueTransfer) // a payout held after the start: a child actor of this process carries it
	if again := look(t, m, 1200, s); len(again) != 0 {
		t.Errorf("taken up later: %v", ids(again))
	}
}

// TestStartLooksAhead checks that the first Tick starts a task for an accepted payout that would
// wait for longer than from its acceptance, because a clock that was ahead has stamped it, and that
// the task runs again when its account says.
func TestStartLooksAhead(t *testing.T) {
	s := newShelf()
	const now, orphan = 1_000_000, 30 * 60_000
	for n := range 2 {
		s.due(pix.Millis(now+orphan+n), 1, n, layout.DueTransfer)
		s.accept(1, n)
	}
	m := New(3000, orphan, DefaultBounds())
	v := look(t, m, now, s)
	if got := ids(v); !slices.Equal(got, []int{1}) {
		t.Fatalf("looked at: %v", got)
	}
	m.Done(v[0], Result{Again: now + 5000}, now)
	if v := look(t, m, now+4999, s); len(v) > 0 {
		t.Errorf("looked at too early: %v", ids(v))
	}
	if v := look(t, m, now+5000, s); !slices.Equal(ids(v), []int{1}) {
		t.Errorf("looked at again: %v", ids(v))
	}
}

// TestStartTakesTurns checks that, when many payouts need a task at the start, at most
// Bounds.AtOnce tasks run at a time, and that no row is missed although the pass over the
// rows is interrupted.
func TestStartTakesTurns(t *testing.T) {
	s := newShelf()
	const n = 5*atOnce + 7
	for i := range n {
		s.due(pix.Millis(1<<50+i), 1, i, layout.DueSending)
	}
	m := newMachine()
	seen := map[int]bool{}
	for turns := 0; len(seen) < n && turns < 100; turns++ {
		v := look(t, m, pix.Millis(1000+turns), s)
		if len(m.working) > atOnce {
			t.Fatalf("%d at once", len(m.working))
		}
		for _, one := range v {
			if seen[ids([]Task{one})[0]] {
				t.Fatalf("%v twice", one)
			}
			seen[ids([]Task{one})[0]] = true
			m.Done(one, Result{}, 1000)
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d taken up", len(seen), n)
	}
}

// TestDue checks that due tasks start in the order of their due times, that no second task
// starts for a payout while one runs, and that a postponed task starts at the time to which
// it was postponed.
func TestDue(t *testing.T) {
	s := newShelf()
	m := newMachine()
	look(t, m, 100, s)
	for n, at := range []pix.Millis{400, 200, 300, 701} {
		s.due(at, 1, n, layout.DueQueued)
	}
	v := look(t, m, 500, s)
	if got := ids(v); !slices.Equal(got, []int{1, 2, 0}) {
		t.Fatalf("due at 500: %v", got)
	}
	if v = look(t, m, 701, s); !slices.Equal(ids(v), []int{3}) {
		t.Fatalf("due at 701: %v", ids(v))
	}
	m.Done(v[0], Result{Again: 900}, 701)
	if v = look(t, m, 899, s); len(v) != 0 {
		t.Errorf("too early: %v", ids(v))
	}
	if v = look(t, m, 900, s); !slices.Equal(ids(v), []int{3}) {
		t.Errorf("at its time: %v", ids(v))
	}
	m.Done(v[0], Result{Err: errors.New("its account cannot look")}, 900)
	if v = look(t, m, 900+failedAgain-1, s); len(v) != 0 {
		t.Errorf("after a failure, too early: %v", ids(v))
	}
	if v = look(t, m, 900+failedAgain, s); !slices.Equal(ids(v), []int{3}) {
		t.Errorf("after a failure: %v", ids(v))
	}
	m.Done(v[0], Result{Again: 40_000}, 31_000)
	s.rows = map[string][]byte{}
	if v = look(t, m, 40_000, s); len(v) != 0 {
		t.Errorf("run, and its row is gone: %v", ids(v))
	}
}

// TestLate checks that a row which was not on disk yet at its due time is found ten seconds
// later, and one that reached the disk even later within two minutes; and that rows which
// the cursors have passed are not read again and again.
func TestLate(t *testing.T) {
	s := newShelf()
	m := newMachine()
	now := pix.Millis(1_000_000)
	look(t, m, now, s)
	look(t, m, now+500, s)
	s.due(now, 1, 1, layout.DueDoubt)
	if v := look(t, m, now+trailAfter+500, s); !slices.Equal(ids(v), []int{1}) {
		t.Errorf("late: %v", ids(v))
	}
	s.due(5, 1, 2, layout.DueDoubt)
	found := pix.Millis(0)
	for at := now + 11_000; at < now+200_000 && found == 0; at += 200 {
		if v := look(t, m, at, s); len(v) > 0 {
			found = at - now - 11_000
		}
	}
	if found == 0 || found > 120_000 {
		t.Errorf("very late: found after %d", found)
	}
	s.rows = map[string][]byte{}
	look(t, m, now+201_000, s)
	for n := range 1000 {
		s.due(pix.Millis(n), 2, 100+n, layout.DueDoubt)
	}
	s.read = 0
	look(t, m, now+201_200, s)
	if s.read > 2 {
		t.Errorf("%d rows read again", s.read)
	}
}

// TestDoubted checks that, while engine time is doubted, no task with NeedsClock starts,
// whereas tasks with NeedsScheme do; and that the tasks with NeedsClock start as soon as
// the doubt ends.
func TestDoubted(t *testing.T) {
	s := newShelf()
	m := newMachine()
	s.due(100, 1, 1, layout.DueQueued)
	s.due(100, 1, 2, layout.DueApproval)
	s.due(100, 1, 3, layout.DueDoubt)
	v, err := m.Tick(pix.Reading{Time: 500 + 5*60*60*1000, Clock: 500, Doubted: true}, s)
	if err != nil || !slices.Equal(ids(v), []int{3}) {
		t.Errorf("doubted: %v, %v", ids(v), err)
	}
	if v := look(t, m, 501, s); !slices.Equal(ids(v), []int{1, 2}) && !slices.Equal(ids(v), []int{2, 1}) {
		t.Errorf("no longer: %v", ids(v))
	}
}

// TestUnreachableAtTheStart checks that, while the scheme cannot be reached, the pass over
// all due rows at the start of a process pauses as other tasks do.
func TestUnreachableAtTheStart(t *testing.T) {
	s, m, all := newShelf(), newMachine(), 300
	for n := range all {
		s.due(10, 1, n, layout.DueDoubt)
		s.accept(1, n)
	}
	v := look(t, m, 100, s)
	if len(v) < quietAfter || len(v) == all {
		t.Fatalf("%d tasks", len(v))
	}
	for _, one := range v[:quietAfter] {
		m.Done(one, Result{Unheard: true}, 100)
	}
	if early := look(t, m, 100+quietFor-1, s); len(early) != 0 {
		t.Errorf("%d asked while the scheme is away", len(early))
	}
	if v = look(t, m, 100+quietFor, s); len(v) != quietAfter {
		t.Errorf("%d asked after it", len(v))
	}
}

// TestUnreachable checks that tasks which could not reach the scheme run again, and that
// after three of them in a row no task runs for 5 s. One alert is raised, and a second one
// only if the scheme answered in between.
func TestUnreachable(t *testing.T) {
	s := newShelf()
	m := newMachine()
	for n := range 4 {
		s.due(10, 1, n, layout.DueDoubt)
		s.accept(1, n)
	}
	v := look(t, m, 100, s)
	if len(v) != 4 {
		t.Fatalf("due: %v", ids(v))
	}
	for n, one := range v[:3] {
		if alert := m.Done(one, Result{Unheard: true}, 100); alert != (n == 0) {
			t.Errorf("unheard %d: alert %v", n, alert)
		}
	}
	m.Done(v[3], Result{Again: 101}, 100)
	if early := look(t, m, 100+quietFor-1, s); len(early) != 0 {
		t.Errorf("asked while the scheme is away: %v", ids(early))
	}
	v = look(t, m, 100+quietFor, s)
	if len(v) != 4 {
		t.Errorf("asked again: %v", ids(v))
	}
	for _, one := range v {
		if m.Done(one, Result{}, 10_000) {
			t.Error("an alert of what was heard")
		}
	}
	s.rows = map[string][]byte{}
	s.due(10_000, 1, 9, layout.DueDoubt)
	if v = look(t, m, 10_200, s); len(v) != 1 || !m.Done(v[0], Result{Unheard: true}, 10_200) {
		t.Error("no alert when it is away again")
	}
}

// waitsOf returns the waits before the first runs of a task that has the same result each
// time.
func waitsOf(t *testing.T, ends Result, runs int) (waits []pix.Millis) {
	t.Helper()
	s := newShelf()
	m := newMachine()
	s.due(10, 1, 1, layout.DueDoubt)
	s.accept(1, 1)
	last := pix.Millis(1000)
	for now := last; len(waits) < runs && now < 10_000_000; now += 500 {
		for _, v := range look(t, m, now, s) {
			waits = append(waits, now-last)
			last = now
			m.Done(v, ends, now)
		}
	}
	return waits
}

// TestSeldom checks that a task which changes nothing runs again after 3 s, and that the
// pause doubles after each further run, up to a minute.
func TestSeldom(t *testing.T) {
	for name, ends := range map[string]Result{"unheard": {Unheard: true}, "open": {Open: true}} {
		waits := waitsOf(t, ends, 8)
		if !slices.Equal(waits, []pix.Millis{0, 3_000, 6_000, 12_000, 24_000, 48_000, 60_000, 60_000}) {
			t.Errorf("%s: run again after %v", name, waits)
		}
	}
}

// TestRarely checks that a task for a special-return case's refund which changes nothing runs
// again after 6 s, and that the pause doubles after each further run, up to half an hour; and
// that the word Rarely alone postpones nothing.
func TestRarely(t *testing.T) {
	for name, ends := range map[string]Result{"unheard": {Unheard: true, Rarely: true}, "open": {Open: true, Rarely: true}} {
		waits := waitsOf(t, ends, 12)
		if !slices.Equal(waits, []pix.Millis{
			0, 6_000, 12_000, 24_000, 48_000, 96_000, 192_000, 384_000, 768_000, 1_536_000, 1_800_000, 1_800_000,
		}) {
			t.Errorf("%s: run again after %v", name, waits)
		}
	}
	s, m := newShelf(), newMachine()
	s.due(10, 1, 1, layout.DueDoubt)
	m.Done(look(t, m, 1000, s)[0], Result{Rarely: true}, 1000)
	for _, l := range m.lanes {
		if len(l.later.byID) != 0 {
			t.Error("a task that changed something is postponed")
		}
	}
}

// TestUnreadable checks that Tick returns an error and starts no task where rows cannot be
// read.
func TestUnreadable(t *testing.T) {
	for name, spoil := range map[string]func(*shelf){
		"the disk": func(s *shelf) { s.fail = errDisk },
		"a due value": func(s *shelf) {
			for k := range s.rows {
				s.rows[k] = s.rows[k][:5]
			}
		},
		"a queue value": func(s *shelf) {
			s.rows = map[string][]byte{string(layout.QueueKey(earlier, pix.TxID(txID(1)))): {1}}
		},
	} {
		s := newShelf()
		s.due(5, 1, 1, layout.DueDoubt)
		spoil(s)
		if v, err := newMachine().Tick(reading(100), s); err == nil || len(v) != 0 {
			t.Errorf("%s: %v, %v", name, ids(v), err)
		}
	}
}

// TestDamagedRowIsPassedOver damages the first row of each kind, and the first of a queue and of all queues: the tasks of
// others start all the same, and the damage is told of.
func TestDamagedRowIsPassedOver(t *testing.T) {
	for name, damage := range map[string]func(*shelf){
		"doubt":    func(s *shelf) { s.due(5, 1, 1, layout.DueDoubt) },
		"case":     func(s *shelf) { s.due(5, 1, 1, layout.DueCase) },
		"queued":   func(s *shelf) { s.due(5, 1, 1, layout.DueQueued) },
		"transfer": func(s *shelf) { s.due(5, 1, 1, layout.DueTransfer) },
		"sending":  func(s *shelf) { s.due(5, 1, 1, layout.DueSending) },
		"queues":   func(s *shelf) { s.queue(earlier, 1) },
		"queue":    func(s *shelf) { s.queue(own, 1) },
	} {
		s := newShelf()
		damage(s)
		for k := range s.rows {
			s.rows[k] = s.rows[k][:1]
		}
		s.due(7, 2, 2, layout.DueDoubt)
		s.due(7, 3, 3, layout.DueCase)
		s.due(7, 4, 4, layout.DueQueued)
		s.due(7, 5, 5, layout.DueTransfer)
		s.accept(5, 5)
		s.queue(own, 6)
		m, got, told := newMachine(), map[int]bool{}, false
		for now := pix.Millis(100); now < 60_000; now += 200 {
			tasks, err := m.Tick(reading(now), s)
			told = told || err != nil
			for _, id := range ids(tasks) {
				got[id] = true
			}
		}
		for n := 2; n <= 6; n++ {
			if !got[n] {
				t.Errorf("%s: the task of %d never starts", name, n)
			}
		}
		if got[1] || !told {
			t.Errorf("%s: a damaged row has a task: %v; it is told of: %v", name, got[1], told)
		}
	}
}

// TestUnreadKindHoldsUpNoOther makes the rows of one kind, or the queues, unreadable: the tasks of the other kinds start.
func TestUnreadKindHoldsUpNoOther(t *testing.T) {
	kinds := []layout.DueKind{layout.DueDoubt, layout.DueCase, layout.DueQueued, layout.DueTransfer, layout.DueSending}
	for lost := range len(kinds) + 1 {
		s := newShelf()
		for n, kind := range kinds {
			s.due(7, pix.AccountID(n+1), n+1, kind)
		}
		s.accept(4, 4)
		s.queue(own, 6)
		if s.lost = string(layout.QueueKey(own, pix.TxID{})[:1]); lost < len(kinds) {
			s.lost = string(layout.DueKey(kinds[lost], 0, 0, layout.EntityID{})[:2])
		}
		m, got, told := newMachine(), map[int]bool{}, false
		for now := pix.Millis(100); now < 20_000; now += 200 {
			tasks, err := m.Tick(reading(now), s)
			told = told || errors.Is(err, errDisk)
			for _, id := range ids(tasks) {
				got[id] = true
			}
		}
		for n := 1; n <= 6; n++ {
			if got[n] == (n == lost+1) {
				t.Errorf("without %d: the task of %d starts: %v", lost+1, n, got[n])
			}
		}
		if !told {
			t.Errorf("without %d: no error", lost+1)
		}
	}
}

// TestThrottlePerNeed checks that, while the scheme cannot be reached, tasks with
// NeedsClock still run. Their results do not count as answers of the scheme: no task with
// NeedsScheme starts sooner because of them, and no second alert is raised.
func TestThrottlePerNeed(t *testing.T) {
	s, m := newShelf(), newMachine()
	for n := range quietAfter + 1 {
		s.due(10, 1, n+1, layout.DueDoubt)
	}
	alerts := 0
	for _, task := range look(t, m, 100, s)[:quietAfter] {
		if m.Done(task, Result{Unheard: true}, 100) {
			alerts++
		}
	}
	s.due(110, 1, 50, layout.DueQueued)
	v := look(t, m, 300, s)
	if !slices.Equal(ids(v), []int{50}) {
		t.Fatalf("while the scheme is away: %v", ids(v))
	}
	if m.Done(v[0], Result{}, 300) || len(look(t, m, 100+quietFor-1, s)) != 0 {
		t.Error("a payout that was given up counts as the scheme's word")
	}
	for _, task := range look(t, m, 100+quietFor, s) {
		if m.Done(task, Result{Unheard: true}, 100+quietFor) {
			alerts++
		}
	}
	if alerts != 1 {
		t.Errorf("%d alerts", alerts)
	}
}

// TestEndedIsNoAnswer checks that the result of a task whose payout had already ended does
// not count as an answer of the scheme: the pause goes on, and no second alert is raised.
func TestEndedIsNoAnswer(t *testing.T) {
	s, m := newShelf(), newMachine()
	for n := range quietAfter + 1 {
		s.due(10, 1, n+1, layout.DueDoubt)
	}
	v := look(t, m, 100, s)
	for n, task := range v[:quietAfter] {
		if n == quietAfter-1 {
			m.Done(v[quietAfter], Result{Skipped: true}, 100)
		}
		if alert := m.Done(task, Result{Unheard: true}, 100); alert != (n == 0) {
			t.Errorf("result %d: alert %v", n, alert)
		}
	}
	s.due(110, 1, 50, layout.DueDoubt)
	if v := look(t, m, 100+quietFor-1, s); len(v) != 0 {
		t.Errorf("asked during the pause: %v", ids(v))
	}
}
