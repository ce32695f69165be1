package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/fair"
	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/transfer"
	"pixd/actors/webhook"
	"pixd/cmd/metrics"
	"pixd/cmd/overload"
	"pixd/httpapi"
	"pixd/wal"
)

// unread is a journal in which no read ends before the test.
type unread struct {
	history.Journal
	end context.Context
}

func (s unread) Look(wal.Stream, func(history.View) error) error {
	<-s.end.Done()
	return s.end.Err()
}

// dueRows are due rows and queue rows in memory.
type dueRows map[string][]byte

func (r dueRows) Get(key []byte) ([]byte, bool, error) {
	v, ok := r[string(key)]
	return v, ok, nil
}

func (r dueRows) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	for _, k := range slices.Sorted(maps.Keys(r)) {
		if k < string(lo) || k >= string(hi) {
			continue
		}
		if more, err := fn([]byte(k), r[k]); err != nil || !more {
			return err
		}
	}
	return nil
}

// endless carries out no task.
type endless struct{}

func (endless) Due(due.Task) {}

// TestPoolsShowTheirOwn checks that each pool shows the figures of its own bound: each bound has others
// than all the rest.
func TestPoolsShowTheirOwn(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	w := newHarness(t, vfs.NewMem())
	s := &Served{Engine: &Engine{}, meters: newMeters(slog.New(slog.DiscardHandler)), admission: &overload.Admission{}}

	receipts := fair.New[pix.AccountID](fair.Bounds{Places: 4, Share: 4})
	for range 5 {
		_ = receipts.Take(ctx, 1)
	}
	s.meters.merchant.InHand.Store(5)
	s.admission.Refused.Store(6)
	var clock atomic.Int64
	now := func() pix.Reading { return pix.At(pix.Millis(clock.Add(time.Hour.Milliseconds()))) } // no account was read of late
	s.Accounts = account.NewHost(account.Options{
		Limits: account.Limits{PerAccount: 7}, Journal: w.Store, Rows: rows{w.Store}, Tail: w.Store, Now: now, Log: slog.New(slog.DiscardHandler),
		Opening: func(pix.AccountID) (ledger.Settings, bool) { return ledger.DefaultSettings(), true },
		Look: func(stream wal.Stream, _ func(*wal.View) error) error {
			if stream == 0 { // the host closes
				end()
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		},
	})
	defer func() { _ = s.Accounts.Close() }()
	for range 7 + 8 {
		go func() { _, _ = s.Accounts.Do(1, ledger.ReadAccount{}) }()
	}
	s.targets = webhook.NewTargets(false, func(context.Context, string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	for range 2 + 9 {
		go func() { _ = s.targets.Check(ctx, 1, "https://merchant.example/") }()
	}
	of := dueRows{}
	for n := range 70 {
		of[string(layout.DueKey(layout.DueDoubt, 1, 1, layout.EntityID{byte(n + 1)}))] = make([]byte, 8)
	}
	for n := range 12 {
		of[string(layout.DueKey(layout.DueQueued, 1, 1, layout.EntityID{100, byte(n + 1)}))] = make([]byte, 8)
	}
	for n := range 13 {
		of[string(layout.QueueKey(layout.QueueFor(pix.BucketClient, 1), pix.TxID{200, byte(n + 1)}))] = binary.BigEndian.AppendUint64(nil, 1)
	}
	s.scanner = due.NewScanner(due.New(3000, 1<<50, due.DefaultBounds()), of, now, nil, slog.New(slog.DiscardHandler))
	go s.scanner.Run(ctx, endless{})
	s.History = history.Over(unread{end: ctx})
	for _, id := range []pix.AccountID{1, 1, 1, 2} {
		go func() {
			_, _ = s.History.Statement(id, layout.Filter{Type: layout.FilterTED}, layout.Page{Number: 1, Size: 1})
		}()
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.connections = httpapi.Limit(port, httpapi.ConnectionOptions{Total: 1, Log: slog.New(slog.DiscardHandler)})
	defer func() { _ = port.Close() }()
	go func() {
		for err := error(nil); err == nil; {
			_, err = s.connections.Accept()
		}
	}()
	for range 1 + 3 {
		c, err := net.Dial("tcp", port.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		go func() { // it would linger for 0.1 s only
			for err := error(nil); err == nil && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
				_, err = c.Write([]byte{1})
			}
		}()
	}

	want := map[string]fair.Counts{
		"receipts": {InUse: 4, Refused: 1}, "lists": {InUse: 2, Waiting: 2},
		"connections": {InUse: 1, Refused: 3}, "lingering": {InUse: 3}, "bodies": {},
		"requests": {InUse: 5, Refused: 6}, "account": {InUse: 7, Refused: 8}, "transfers": {}, "lookups": {InUse: 2, Refused: 9},
		"scheme_tasks": {InUse: 64, Waiting: 6}, "clock_tasks": {InUse: 12}, "queue_tries": {InUse: 13},
	}
	pools := s.pools(receipts)
	if len(pools) != len(want) {
		t.Errorf("%d pools", len(pools))
	}
	// Waiting lists and refused connections end by themselves: each pool need be seen only once.
	for until := time.Now().Add(10 * time.Second); len(want) > 0 && time.Now().Before(until); time.Sleep(time.Millisecond) {
		for name, counts := range pools {
			if got, waits := want[name]; waits && counts() == got {
				delete(want, name)
			}
		}
	}
	for name, counts := range want {
		t.Errorf("%s: %+v, want %+v", name, pools[name](), counts)
	}
}

// apart is a scheme whose lookups wait until the test goes on, and which loses each payment; of what
// became of one it says nothing.
type apart struct {
	scheme.Unassigned
	goOn chan struct{}
}

func (s *apart) Lookup(context.Context, scheme.Query) (pix.Party, error) {
	<-s.goOn
	return pix.Party{}, nil
}

func (s *apart) Submit(context.Context, scheme.Payment) (scheme.State, error) {
	return scheme.State{}, errors.New("connection reset")
}

func (s *apart) Ask(ctx context.Context, _ pix.TxID, _ string) (scheme.State, error) {
	<-ctx.Done()
	return scheme.State{}, ctx.Err()
}

// TestLanesShowTheirOwn checks the figures of the lanes to a scheme in another process: while two payouts
// and one question are at work, and when the payouts were lost and wait to ask.
func TestLanesShowTheirOwn(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(context.Background())
	var work sync.WaitGroup
	defer work.Wait()
	defer end()
	s, began := &apart{goOn: make(chan struct{})}, time.Now()
	lanes := transfer.NewLanes(func() time.Duration { return 0 }) // the time of the next probe never comes
	m := newMeters(slog.New(slog.DiscardHandler))
	m.registry.MustRegister(metrics.Lanes{Of: lanes}, metrics.Lanes{Of: lanes}.Pools())
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	children := transfer.Props(&transfer.Runner{Context: ctx, Scheme: s, Timeout: time.Minute, Work: &work, Lanes: lanes})
	parent := actor.PropsFromFunc(func(c actor.Context) {
		if j, ok := c.Message().(*transfer.Job); ok {
			c.Send(c.Spawn(children), j)
		}
	})
	carries := system.Root.Spawn(parent)
	for _, j := range []transfer.Job{{Goal: ledger.GoalPay}, {Goal: ledger.GoalPay}, {Goal: ledger.GoalVoid, Task: &due.Task{}}} {
		work.Add(1)
		j.Account = 1
		j.Tx = &ledger.Transaction{Kind: pix.TxPayout}
		system.Root.Send(carries, &j)
	}
	shows := func(lines ...string) {
		t.Helper()
		lacks := ""
		for time.Since(began) < 10*time.Second {
			got := m.text(t)
			i := slices.IndexFunc(lines, func(want string) bool { return !strings.Contains(got, "\n"+want+"\n") })
			if i < 0 {
				return
			}
			lacks = lines[i]
			time.Sleep(time.Millisecond)
		}
		t.Errorf("%s is not there", lacks)
	}
	shows("pixd_scheme_down 0", "pixd_scheme_repeats_waiting 0", `pixd_pool_in_use{pool="payments"} 2`, `pixd_pool_in_use{pool="questions"} 1`)
	close(s.goOn)
	shows("pixd_scheme_down 1", "pixd_scheme_repeats_waiting 2", `pixd_pool_in_use{pool="payments"} 0`, `pixd_pool_in_use{pool="questions"} 1`)
}

// TestWebhookMetrics checks the figures of webhooks after three deliveries, one that a receiver did not
// want, and one that failed and is tried again by a receiver that hangs.
func TestWebhookMetrics(t *testing.T) {
	t.Parallel()
	well, gone, fails := newReceiver(t), newReceiver(t), newReceiver(t)
	gone.status.Store(410)
	fails.status.Store(500)
	w := newHarness(t, vfs.NewMem(), insecure)
	w.hooks(well.URL+"/", `"pix.received"`)
	w.receives(1000, "")
	w.receives(1000, "")
	w.arrives(well, "/", 2)
	w.hooks(gone.URL+"/", `"pix.received"`)
	failing := w.hooks(fails.URL+"/", `"pix.received"`)
	w.receives(1000, "")
	shows := func(what string, lines ...string) {
		t.Helper()
		got := ""
		for until := time.Now().Add(8 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			_, got = w.operate("GET", "/metrics", "")
			if !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(got, "\npixd_webhook_"+line+"\n") }) {
				return
			}
		}
		for _, line := range lines {
			if !strings.Contains(got, "\npixd_webhook_"+line+"\n") {
				t.Errorf("%s: %s is not there", what, line)
			}
		}
	}
	shows("at rest", `deliveries_ended_total{status="delivered"} 3`, `deliveries_ended_total{status="dead"} 1`,
		`attempts_total{result="2xx"} 3`, `attempts_total{result="4xx"} 1`, `attempts_total{result="5xx"} 1`, `attempts_total{result="error"} 0`,
		`attempts_limit{pool="good"} 192`, `attempts_limit{pool="failing"} 64`, `attempts_limit{pool="slow"} 480`,
		`subscriptions{state="due"} 0`, `subscriptions{state="waiting"} 1`)
	hold := make(chan struct{})
	fails.hold.Store(&hold)
	defer close(hold)
	event := w.deliveries(failing.ID, "?status=pending")[0].Event
	if status, got, _ := w.post("/webhooks/"+failing.ID+"/deliveries/"+event+"/retry", "{}"); status/100 != 2 {
		t.Fatalf("%d %s", status, got)
	}
	w.arrives(fails, "/", 1)
	shows("a retry hangs", `subscriptions{state="due"} 1`, `subscriptions{state="waiting"} 0`, `subscriptions{state="failing"} 1`,
		`attempts_running{pool="slow"} 1`, `attempts_running{pool="failing"} 0`, `attempts_running{pool="good"} 0`,
		`subscriptions_in_line{pool="slow"} 0`, `account_limit_total{pool="slow"} 0`)
	_, got := w.operate("GET", "/metrics", "")
	_, oldest, _ := strings.Cut(got, "\npixd_webhook_oldest_pending_seconds ")
	oldest, _, _ = strings.Cut(oldest, "\n")
	if age, err := strconv.ParseFloat(oldest, 64); err != nil || age < 0.5 || age > 60 {
		t.Errorf("the oldest event that waits is %s s old (%v)", oldest, err)
	}
}
