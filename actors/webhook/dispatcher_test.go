package webhook

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// desk is a dispatcher on rows in memory, with receivers that a test plays. Its journal makes
// one entry after the other durable, on a goroutine of its own.
type desk struct {
	*Dispatcher
	t       *testing.T
	mu      sync.Mutex
	shelf   *shelf
	entries chan *wal.Entry
	clock   atomic.Int64 // engine time at start
	start   time.Time
	doubted atomic.Bool
	posts   chan Post // each attempt, when it begins
	ended   []ledger.EndSubscription
	alerts  []ledger.Alert
	end     func() // ends Run, and waits for it
}

// newDesk makes a desk whose receivers answer what post returns; nil: 200.
func newDesk(t *testing.T, post func(context.Context, Post) Answer) *desk {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	k := &desk{t: t, shelf: newShelf(), entries: make(chan *wal.Entry, 10_000), posts: make(chan Post, 10_000), start: time.Now()}
	k.clock.Store(int64(t0) + 100*24*int64(hour))
	k.Dispatcher = NewDispatcher(Options{
		Rows: k, Journal: k, Alerts: k, Schedule: []time.Duration{time.Hour}, Log: slog.New(slog.DiscardHandler),
		Record: func(_ pix.AccountID, seq uint64) (*ledger.Record, error) {
			if seq == 404 {
				return nil, errors.New("no such record")
			}
			r := &ledger.Record{Account: 1, Seq: seq, Time: t0 + 100*24*hour}
			r.Events, r.Tx, r.Totals.Events = []pix.EventKind{pix.EventReceived}, &ledger.Transaction{}, seq
			return r, nil
		},
		Render: func(e ledger.Event) []byte {
			if e.Sequence == 500 {
				panic("not rendered")
			}
			return []byte(e.ID.String())
		},
		Post: func(ctx context.Context, p Post) Answer {
			k.posts <- p
			if post == nil {
				return Answer{Status: 200}
			}
			return post(ctx, p)
		},
		End: func(_ pix.AccountID, c ledger.EndSubscription) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.ended = append(k.ended, c)
			return errors.New("not now")
		},
		Now: func() pix.Reading {
			now := k.now()
			return pix.Reading{Time: now, Clock: now - stampsAhead, Doubted: k.doubted.Load()}
		},
		Entropy: func() [10]byte { return [10]byte{} },
	})
	k.shelf.subscribe(target(1), ledger.SubscriptionActive)
	go k.commit()
	t.Cleanup(func() { close(k.entries) })
	k.end = func() { k.cancel(); k.system.Shutdown() }
	t.Cleanup(func() { k.end() })
	return k
}

// run starts the dispatcher.
func (k *desk) run() {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { k.Run(ctx); close(over) }()
	k.end = sync.OnceFunc(func() { cancel(); <-over })
}

func (k *desk) commit() {
	for e := range k.entries {
		k.mu.Lock()
		k.shelf.apply(e.Ops)
		k.mu.Unlock()
		for _, o := range e.Out {
			o.Release(nil)
		}
	}
}

func (k *desk) Append(e *wal.Entry) wal.Ticket {
	if !e.Shared && !e.Parked() || len(e.Records) > 0 {
		k.t.Errorf("entry %+v", e)
	}
	k.entries <- e
	return 0
}

func (k *desk) Get(key []byte) ([]byte, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shelf.Get(key)
}

func (k *desk) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shelf.Scan(lo, hi, fn)
}

func (k *desk) Subscription(t layout.Target) (*ledger.Subscription, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shelf.Subscription(t)
}

func (k *desk) Raise(_ pix.AccountID, a ledger.Alert) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.alerts = append(k.alerts, a)
}

// rows calls a function that may change the rows.
func (k *desk) rows(change func(s *shelf)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k.shelf)
}

// becomes waits until a delivery stands as wanted, and returns its status.
func (k *desk) becomes(sequence uint64, want string) (s *layout.DeliveryStatus) {
	k.t.Helper()
	got := ""
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		k.rows(func(r *shelf) {
			if got = r.stands(target(1), sequence); got == want {
				_, s, _ = findDelivery(r, target(1), sequence)
			}
		})
		if got == want {
			return s
		}
	}
	k.t.Fatalf("delivery %d is %s, want %s", sequence, got, want)
	return nil
}

// stampsAhead is by how much, in ms, records are stamped ahead of the clock, as after a start behind
// the journal, so that a mix-up of the two times is found. A test's times are those of the stamps.
const stampsAhead = 5 * hour

func (k *desk) now() pix.Millis {
	return pix.Millis(k.clock.Load() + time.Since(k.start).Milliseconds())
}

// TestInternalFaults checks that an event that cannot be read or rendered, and a fault of the sender,
// are attempts that failed, and that the others are delivered.
func TestInternalFaults(t *testing.T) {
	k := newDesk(t, func(_ context.Context, p Post) Answer {
		if id, _ := pix.ParseEventID(string(p.Body)); id.Sequence() == 3 {
			panic("not sent")
		}
		return Answer{Status: 204}
	})
	k.rows(func(s *shelf) {
		for _, sequence := range []uint64{1, 2, 3, 404, 500} {
			s.wait(target(1), sequence, t0)
		}
		p := layout.Pending{Target: target(1), Due: t0, Sequence: 5, Record: 5, Event: 1}
		s.apply([]wal.Op{{Kind: wal.OpSet, Key: p.Key(), Value: p.Value()}})
	})
	k.run()
	for _, sequence := range []uint64{3, 404, 500, 5} {
		s := k.becomes(sequence, "pending")
		if len(s.Attempts) != 1 || s.Attempts[0].Status != 0 || s.Attempts[0].Err != "internal error" || s.Due < k.now()+hour-10*second {
			t.Errorf("delivery %d: %+v", sequence, s)
		}
	}
	for _, sequence := range []uint64{1, 2} {
		if s := k.becomes(sequence, "delivered"); s.CreatedAt != t0+100*24*hour || len(s.Attempts) != 1 || s.Attempts[0].Status != 204 {
			t.Errorf("%+v", s)
		}
	}
	k.clock.Add(int64(2 * hour))
	for _, sequence := range []uint64{3, 5, 404, 500} {
		k.becomes(sequence, "dead")
	}
	for end := time.Now().Add(5 * time.Second); k.Measure().Due > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the rows are there before the dispatcher hears that they are durable
	}
	k.end()
	oldest, err := k.Oldest()
	if m := k.Measure(); len(k.alerts) != 1 || k.alerts[0].Kind != AlertDead || m.Dead != 4 || m.Delivered != 2 ||
		m.Attempts["error"] != 8 || m.Attempts["2xx"] != 2 || m.Running != 0 || m.Due != 0 || m.Failing != 1 || oldest != 0 || err != nil {
		t.Errorf("%+v %+v", k.alerts, m)
	}
}

// TestEndOfRun checks that the end of the process cuts attempts short without counting them,
// that an answer that came in time counts, and that nothing runs after Run has returned.
func TestEndOfRun(t *testing.T) {
	k := newDesk(t, func(ctx context.Context, p Post) Answer {
		<-ctx.Done()
		if id, _ := pix.ParseEventID(string(p.Body)); id.Sequence() == 2 {
			return Answer{Status: 200}
		}
		return Answer{Err: "cut"}
	})
	two := layout.Target{Account: 1, Number: 2}
	k.rows(func(s *shelf) {
		s.subscribe(two, ledger.SubscriptionActive)
		s.wait(target(1), 1, t0)
		s.wait(two, 2, t0)
	})
	k.run()
	<-k.posts
	<-k.posts
	oldest, err := k.Oldest()
	if m := k.Measure(); m.Running != 2 || m.Due != 2 || oldest < 100*24*hour || oldest > k.now()-t0 || err != nil {
		t.Errorf("%+v, oldest %v (%v)", m, oldest, err)
	}
	k.end()
	k.becomes(1, "new")
	got := ""
	for end := time.Now().Add(5 * time.Second); got != "delivered" && time.Now().Before(end); time.Sleep(time.Millisecond) {
		k.rows(func(r *shelf) { got = r.stands(two, 2) })
	}
	if got != "delivered" {
		t.Errorf("delivery 2 of subscription 2 is %s, want delivered", got)
	}
	if err := k.Sweep(); err != nil {
		t.Error(err)
	}
}

// TestGone checks that a receiver that answers 410 has its subscription stopped.
func TestGone(t *testing.T) {
	k := newDesk(t, func(context.Context, Post) Answer { return Answer{Status: 410} })
	k.rows(func(s *shelf) { s.wait(target(1), 1, t0) })
	k.run()
	if s := k.becomes(1, "dead"); s.Why == "" || len(s.Attempts) != 1 {
		t.Errorf("%+v", s)
	}
	k.end()
	if want := (ledger.EndSubscription{ID: k.shelf.subscriptions[target(1)].ID, Stop: true, URL: k.shelf.subscriptions[target(1)].URL}); len(k.ended) != 1 || k.ended[0] != want || len(k.alerts) != 0 {
		t.Errorf("%+v %+v", k.ended, k.alerts)
	}
}

// TestPosted checks what a receiver gets.
func TestPosted(t *testing.T) {
	k := newDesk(t, nil)
	k.rows(func(s *shelf) { s.wait(target(1), 9, t0) })
	k.run()
	p := <-k.posts
	s, _ := k.Subscription(target(1))
	if p.URL != s.URL || p.Secret != s.Shown() || !strings.HasPrefix(p.EventID, "evt_") || string(p.Body) != p.EventID || p.At.UnixMilli() > int64(k.now()-stampsAhead) || p.At.UnixMilli() < k.clock.Load()-int64(stampsAhead) {
		t.Errorf("%+v", p)
	}
}

// TestGoneAfterChange checks that 410 of a receiver does not stop a subscription that got another one meanwhile,
// although Run has not looked since.
func TestGoneAfterChange(t *testing.T) {
	k := newDesk(t, nil)
	k.rows(func(s *shelf) { s.wait(target(1), 1, t0) })
	tasks, err := k.tick()
	if len(tasks) != 1 || err != nil {
		t.Fatal(tasks, err)
	}
	changed := &ledger.Record{Account: 1}
	changed.Subscription = tasks[0].Subscription
	k.Emitted(changed)
	now := k.Now()
	r := Begun(now, nil)
	r.Answer = Answer{Status: 410}
	r.End(now, now, k.ahead, 0)
	k.attempted(&tasks[0], r)
	k.becomes(1, "pending")
	k.work.Wait()
	if len(k.ended) != 0 {
		t.Errorf("the subscription is stopped: %+v", k.ended)
	}
}
