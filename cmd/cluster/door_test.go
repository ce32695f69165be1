package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/cmd/forward"
	"pixd/wal"
	"pixd/wal/waltest"
)

// TestDoor checks that what an operator or a merchant asks an engine reaches it only while its node may
// be the owner, also on connections that are older than the handover.
func TestDoor(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", t.TempDir())
	now := 10 * time.Minute
	n.elapsed = func() time.Duration { return now }
	n.lease.elapsed = n.elapsed
	var got string
	says := func(what string) fasthttp.RequestHandler { return func(*fasthttp.RequestCtx) { got = what } }
	s := &Served{flags: Flags{SnapshotOn: OnAny}, asStandby: says("standby")}
	s.forward = forward.New(forward.Options{Owner: s.where, Patience: time.Millisecond, NoOwner: says("standby")})
	s.notices = forward.New(forward.Options{Owner: s.where, Patience: time.Millisecond, NoOwner: says("standby, of notices")})
	notices := s.door(n)(forward.Scheme, says("engine"))
	handles := []fasthttp.RequestHandler{s.operatorsOf(n)(says("engine")), s.door(n)(forward.Merchant, says("engine"))}
	var ctx fasthttp.RequestCtx
	ask := func() string {
		ctx.Request.SetRequestURI("/admin/accounts")
		got = ""
		handles[0](&ctx)
		operators := got
		got = ""
		handles[1](&ctx)
		if got != operators {
			t.Errorf("an operator reaches %q, and a merchant %q", operators, got)
		}
		return got
	}
	if is := ask(); is != "standby" {
		t.Errorf("never certain: %s", is)
	}
	if notices(&ctx); got != "standby, of notices" {
		t.Errorf("a notice reaches %q", got)
	}
	n.lease.renewed(now)
	if is := ask(); is != "engine" {
		t.Errorf("certain: %s", is)
	}
	now += certainFor
	if is := ask(); is != "standby" {
		t.Errorf("no longer certain: %s", is)
	}
	n.lease.renewed(now)
	n.over.Store(true)
	if is := ask(); is != "standby" {
		t.Errorf("handed over: %s", is)
	}
	ctx.SetUserValue(forwarded{}, true)
	if is := ask(); is != "" || ctx.Response.StatusCode() != fasthttp.StatusMisdirectedRequest {
		t.Errorf("handed over while another node has forwarded a request: %s, %d", is, ctx.Response.StatusCode())
	}
}

// TestCertainBy checks that waiting for certainty ends with the context, and with the certainty's end.
func TestCertainBy(t *testing.T) {
	l := newLease(func() time.Duration { return time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if l.certainBy(ctx) {
		t.Error("a node that never renewed itself is certain")
	}
	done := make(chan bool)
	go func() { done <- l.certainBy(t.Context()) }()
	l.renewed(time.Hour)
	if !<-done {
		t.Error("a node that has renewed itself is not certain")
	}
	l.until.Store(0)
	go func() { done <- l.certain() }()
	l.lose()
	if <-done {
		t.Error("a node that was deposed is certain")
	}
}

// lateNodes is a log whose first answer about nodes is late.
type lateNodes struct {
	wal.Log
	late func()
}

// Nodes implements wal.Log.
func (l *lateNodes) Nodes(ctx context.Context) ([]wal.NodeState, error) {
	all, err := l.Log.Nodes(ctx)
	if l.late != nil {
		l.late()
		l.late = nil
	}
	return all, err
}

// TestNameTakenLate checks that a node watches its name for as long as it should although the first
// answer is late.
func TestNameTakenLate(t *testing.T) {
	tape := waltest.NewTape()
	other := tape.Log()
	v, err := other.Node(t.Context(), wal.NodeVersion{Name: "a"}, []byte(`{"run":"a1"}`))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Second
	n := &node{self: state{Run: "a2"}, name: "a", store: aStore(t, t.TempDir(), true), elapsed: func() time.Duration { return now }}
	n.lease = newLease(n.elapsed)
	n.log = &lateNodes{Log: tape.Log(), late: func() { now += 2 * settleFor }}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := n.register(ctx); err == nil {
		t.Error("the name was taken at once")
	}
	if _, err := other.Node(t.Context(), v, []byte(`{"run":"a1","beat":2}`)); err != nil {
		t.Error("the process that has the name cannot renew itself:", err)
	}
}

// TestLogTLS checks that an etcd is trusted by the system's authorities where no other is named, and that
// http needs none.
func TestLogTLS(t *testing.T) {
	if c, _, err := logTLS(&Flags{Log: "http://127.0.0.1:2379"}); c != nil || err != nil {
		t.Error(c, err)
	}
	if c, _, err := logTLS(&Flags{Log: "https://127.0.0.1:2379"}); c == nil || c.RootCAs != nil || err != nil {
		t.Error(c, err)
	}
	if _, _, err := logTLS(&Flags{Log: "https://127.0.0.1:2379", LogCA: "missing"}); err == nil {
		t.Error("a file that is missing is taken")
	}
}
