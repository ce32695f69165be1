package due

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pixd/actors/ledger"
)

// TestScanner: visits start, their ends are taken, and the operators hear of a
// scheme that cannot be reached.
func TestScanner(t *testing.T) {
	s := newShelf()
	s.due(5, 1, 1, ledger.DueDoubt)
	s.accept(1, 1)
	var mu sync.Mutex
	var log strings.Builder
	visits := 0
	ctx, end := context.WithCancel(t.Context())
	scanner := NewScanner(New(3000), s, func(v Visit, came func(Came)) {
		mu.Lock()
		visits++
		first := visits == 1
		mu.Unlock()
		came(Came{Unheard: first})
		if !first {
			end()
		}
	}, func() ledger.Millis { return ledger.Millis(time.Now().UnixMilli()) * 20 }, slog.New(slog.NewTextHandler(&locked{&mu, &log}, nil)))
	go func() {
		time.Sleep(5 * time.Second)
		end()
	}()
	scanner.Run(ctx)
	mu.Lock()
	defer mu.Unlock()
	if visits != 2 || strings.Count(log.String(), "alert=scheme_unreachable") != 1 {
		t.Errorf("%d visits, log %s", visits, log.String())
	}
}

type locked struct {
	mu *sync.Mutex
	b  *strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// shelf is rows in order.
type shelf struct {
	rows map[string][]byte
	fail error
	read int
}

func newShelf() *shelf { return &shelf{rows: map[string][]byte{}} }

func txID(n int) ledger.TxID { return ledger.TxID{byte(n >> 16), byte(n >> 8), byte(n)} }

func (s *shelf) due(at ledger.Millis, a ledger.AccountID, n int, kind ledger.DueKind) {
	s.rows[string(ledger.DueKey(at, a, txID(n)))] = append([]byte{byte(kind)}, 0, 0, 0, 0, 0, 0, 0, byte(n))
}

func (s *shelf) accept(a ledger.AccountID, n int) {
	s.rows[string(ledger.OpenKey(a, txID(n)))] = []byte{1}
}

func (s *shelf) queue(l ledger.Line, n int) {
	s.rows[string(ledger.QueueKey(l, txID(n)))] = []byte{0, 0, 0, 0, 0, 0, 0, 9}
}

func (s *shelf) Get(key []byte) ([]byte, bool, error) {
	v, ok := s.rows[string(key)]
	return v, ok, s.fail
}

func (s *shelf) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	if s.fail != nil {
		return s.fail
	}
	var keys []string
	for k := range s.rows {
		if k >= string(lo) && k < string(hi) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		s.read++
		if more, err := fn([]byte(k), s.rows[k]); err != nil || !more {
			return err
		}
	}
	return nil
}

func ids(visits []Visit) (out []int) {
	for _, v := range visits {
		out = append(out, int(v.ID[0])<<16|int(v.ID[1])<<8|int(v.ID[2]))
	}
	return out
}

func look(t *testing.T, m *Machine, now ledger.Millis, s *shelf) []Visit {
	t.Helper()
	v, err := m.Tick(now, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var errDisk = errors.New("disk")

// TestStart: what the last process had in hand is taken up whatever its instant
// says: held or on its way. What waits for its time waits.
func TestStart(t *testing.T) {
	s := newShelf()
	s.due(1<<50, 1, 1, ledger.DuePayout) // held
	s.due(1<<50, 1, 2, ledger.DuePayout) // accepted
	s.accept(1, 2)
	s.due(1<<50, 1, 3, ledger.DueSending)
	s.accept(1, 3)
	for n, kind := range []ledger.DueKind{ledger.DueQueued, ledger.DueApproval, ledger.DueDoubt} {
		s.due(1<<50, 1, 4+n, kind)
	}
	m := New(3000)
	v := look(t, m, 1000, s)
	if got := ids(v); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("taken up: %v", got)
	}
	if v[0].Seq != 1 || v[0].Account != 1 || v[0].Retry {
		t.Errorf("visit %+v", v[0])
	}
	s.due(1<<50, 1, 9, ledger.DuePayout) // held since: its process has a child for it
	if again := look(t, m, 1200, s); len(again) != 0 {
		t.Errorf("taken up later: %v", ids(again))
	}
}

// TestStartTakesTurns: a long backlog is worked off so many at a time, and none is
// forgotten where the start's look at it is interrupted.
func TestStartTakesTurns(t *testing.T) {
	s := newShelf()
	const n = 5*atOnce + 7
	for i := range n {
		s.due(ledger.Millis(1<<50+i), 1, i, ledger.DueSending)
	}
	m := New(3000)
	seen := map[int]bool{}
	for turns := 0; len(seen) < n && turns < 100; turns++ {
		v := look(t, m, ledger.Millis(1000+turns), s)
		if len(m.working) > atOnce {
			t.Fatalf("%d at once", len(m.working))
		}
		for _, one := range v {
			if seen[ids([]Visit{one})[0]] {
				t.Fatalf("%v twice", one)
			}
			seen[ids([]Visit{one})[0]] = true
			m.Came(one, Came{}, 1000)
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d taken up", len(seen), n)
	}
}

// TestDue: what is due, oldest first; what is worked on is left alone; what is to
// be looked at again later is, then.
func TestDue(t *testing.T) {
	s := newShelf()
	m := New(3000)
	look(t, m, 100, s)
	for n, at := range []ledger.Millis{400, 200, 300, 501} {
		s.due(at, 1, n, ledger.DueQueued)
	}
	v := look(t, m, 500, s)
	if got := ids(v); !slices.Equal(got, []int{1, 2, 0}) {
		t.Fatalf("due at 500: %v", got)
	}
	if v = look(t, m, 501, s); !slices.Equal(ids(v), []int{3}) {
		t.Fatalf("due at 501: %v", ids(v))
	}
	m.Came(v[0], Came{Again: 900}, 501)
	if v = look(t, m, 899, s); len(v) != 0 {
		t.Errorf("too early: %v", ids(v))
	}
	if v = look(t, m, 900, s); !slices.Equal(ids(v), []int{3}) {
		t.Errorf("at its time: %v", ids(v))
	}
	m.Came(v[0], Came{Failed: true}, 900)
	if v = look(t, m, 900+failedAgain-1, s); len(v) != 0 {
		t.Errorf("after a failure, too early: %v", ids(v))
	}
	if v = look(t, m, 900+failedAgain, s); !slices.Equal(ids(v), []int{3}) {
		t.Errorf("after a failure: %v", ids(v))
	}
}

// TestMark: rows that have been dealt with are not read again, and none is missed
// that turns up late, or after the clock went back.
func TestMark(t *testing.T) {
	s := newShelf()
	m := New(3000)
	now := ledger.Millis(1_000_000)
	look(t, m, now, s)
	s.due(now-margin, 1, 1, ledger.DueDoubt) // was on its way to the disk
	if v := look(t, m, now+1, s); !slices.Equal(ids(v), []int{1}) {
		t.Errorf("late: %v", ids(v))
	}
	s.rows = map[string][]byte{}
	look(t, m, now+100_000, s)
	for n := range 1000 { // of these nobody believes any more that they exist
		s.due(ledger.Millis(n), 2, 100+n, ledger.DueDoubt)
	}
	s.read = 0
	look(t, m, now+100_200, s)
	if s.read > 2 {
		t.Errorf("%d rows read behind the mark", s.read)
	}
	s.rows = map[string][]byte{}
	s.due(5000, 3, 7, ledger.DueDoubt)
	if v := look(t, m, 5000, s); !slices.Equal(ids(v), []int{7}) {
		t.Errorf("after the clock went back: %v", ids(v))
	}
}

// TestUnreachable: each is asked again, later and later; several in a row and none
// is for a while; the operators hear it once, and once more after it was heard.
func TestUnreachable(t *testing.T) {
	s := newShelf()
	m := New(3000)
	for n := range 4 {
		s.due(10, 1, n, ledger.DueDoubt)
		s.accept(1, n)
	}
	v := look(t, m, 100, s)
	if len(v) != 4 {
		t.Fatalf("due: %v", ids(v))
	}
	for n, one := range v[:3] {
		if alert := m.Came(one, Came{Unheard: true}, 100); alert != (n == 0) {
			t.Errorf("unheard %d: alert %v", n, alert)
		}
	}
	m.Came(v[3], Came{Again: 101}, 100)
	if early := look(t, m, 100+quietFor-1, s); len(early) != 0 {
		t.Errorf("asked while the scheme is away: %v", ids(early))
	}
	v = look(t, m, 100+quietFor, s)
	if len(v) != 4 {
		t.Errorf("asked again: %v", ids(v))
	}
	for _, one := range v {
		if m.Came(one, Came{}, 10_000) {
			t.Error("an alert of what was heard")
		}
	}
	if !m.Came(v[0], Came{Unheard: true}, 10_000) {
		t.Error("no alert when it is away again")
	}
	waits := ledger.Millis(0)
	for range 12 {
		m.Came(v[1], Came{Unheard: true}, 0)
		if at := m.later[v[1].ID].at; at < waits || at > unheardMost {
			t.Errorf("again after %d, before that %d", at, waits)
		}
		waits = m.later[v[1].ID].at
	}
	if waits != unheardMost {
		t.Errorf("in the end again after %d", waits)
	}
}

// TestUnreadable: rows that cannot be read are an error, and nothing starts.
func TestUnreadable(t *testing.T) {
	for name, spoil := range map[string]func(*shelf){
		"the disk": func(s *shelf) { s.fail = errDisk },
		"a due value": func(s *shelf) {
			for k := range s.rows {
				s.rows[k] = s.rows[k][:5]
			}
		},
		"a queue value": func(s *shelf) {
			s.rows = map[string][]byte{string(ledger.QueueKey(0, txID(1))): {1}}
		},
	} {
		s := newShelf()
		s.due(5, 1, 1, ledger.DueDoubt)
		spoil(s)
		if v, err := New(3000).Tick(100, s); err == nil || len(v) != 0 {
			t.Errorf("%s: %v, %v", name, ids(v), err)
		}
	}
}
