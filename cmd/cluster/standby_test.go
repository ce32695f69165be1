package cluster

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/registry"
	"pixd/cmd/engine"
	"pixd/cmd/forward"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/wal/waltest"
)

// TestRefusedIsNotInHand checks that a forwarded request that is sent back does not count as in hand: to hand the log
// over would wait for it.
func TestRefusedIsNotInHand(t *testing.T) {
	s := &Served{}
	for _, face := range []forward.Face{forward.Merchant, forward.Operator, forward.Checked, forward.Scheme} {
		if s.handler(face) != nil || s.inHand.Load() != 0 {
			t.Errorf("%s: %d in hand", face, s.inHand.Load())
		}
	}
}

// TestCheckpointAfterAFailure checks that a copy that could not be made, and one that was sent, keep no other from being made.
func TestCheckpointAfterAFailure(t *testing.T) {
	from := filled(t, "the owner's")
	closed := aStore(t, filled(t, "closed"), true)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	over := 0
	if err := sendCheckpoint(&fasthttp.RequestCtx{}, closed, from, func() { over++ }); err == nil || over != 1 {
		t.Errorf("over %d times: %v", over, err)
	}
	s := &Served{config: engine.Config{DataDir: from, Log: slog.New(slog.DiscardHandler)}}
	s.node.Store(&node{store: aStore(t, from, true), role: roleStandby})
	url := serveCopies(t, s.answerNode)
	for range 2 {
		into := t.TempDir()
		if err := fetchCheckpoint(t.Context(), url, nil, into, 0); err != nil {
			t.Error(err)
		}
		for s.sending.Load() { // the other side has it before this one knows that
			time.Sleep(time.Millisecond)
		}
		err := filepath.Walk(into, func(path string, is os.FileInfo, err error) error {
			if err == nil && path != into && is.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has the mode %v", path, is.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestSnapshotsAreGuarded checks that a node that is not the owner tells of snapshots only who has a token.
func TestSnapshotsAreGuarded(t *testing.T) {
	nobody := forward.New(forward.Options{
		Owner: func() (string, string, bool) { return "", "", false }, Patience: 1, Log: slog.New(slog.DiscardHandler),
	})
	s := &Served{Token: strings.Repeat("t", 32), elapsed: func() time.Duration { return time.Second }, toMaker: nobody}
	handle := s.operators(func(*fasthttp.RequestCtx) { t.Error("it went on") })
	for token, want := range map[string]int{"": 401, "Bearer " + s.Token: 503} {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI(admin.SnapshotsPath)
		ctx.Request.Header.Set("Authorization", token)
		if handle(&ctx); ctx.Response.StatusCode() != want {
			t.Errorf("%q: %d", token, ctx.Response.StatusCode())
		}
	}
}

// TestLeaveRefused checks that a node that runs is not removed.
func TestLeaveRefused(t *testing.T) {
	n := aNode(t, waltest.NewTape(), "a", filled(t, "x"))
	s := &Served{log: n.log, elapsed: n.elapsed}
	s.node.Store(n)
	n.seen = seenNodes{"b": {since: n.elapsed()}}
	if _, err := s.Leave("b"); err == nil || !strings.Contains(err.Error(), "node b runs: stop it first") {
		t.Error(err)
	}
	if _, err := s.Leave("c"); err == nil || !strings.Contains(err.Error(), `no node "c"`) {
		t.Error(err)
	}
}

// TestForwardsOperators checks that the owner is told that a token was checked only where that was the one of this node's
// own file: the owner takes such a request for one with its own token, which may do everything.
func TestForwardsOperators(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var face forward.Face
	server := forward.NewServer(forward.Receive(func(f forward.Face) fasthttp.RequestHandler {
		mu.Lock()
		face = f
		mu.Unlock()
		return func(*fasthttp.RequestCtx) {}
	}, log), nil, log)
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Shutdown() }()
	owner := func() (string, string, bool) { return "b", "http://" + l.Addr().String(), true }
	s := &Served{operate: forward.New(forward.Options{Self: "a", Log: log, Owner: owner})}
	defer s.operate.Close()
	handle := s.forwardOperator()
	url := serveCopies(t, func(ctx *fasthttp.RequestCtx) {
		control.As(ctx, control.Operator{Name: string(ctx.QueryArgs().Peek("as"))})
		handle(ctx)
	})
	for name, want := range map[string]forward.Face{registry.Root: forward.Checked, "ana": forward.Operator, "": forward.Operator} {
		answer, err := http.Get(url + "/admin/accounts?as=" + name)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		mu.Lock()
		if face != want || answer.StatusCode != 200 {
			t.Errorf("%q: %s, %d", name, face, answer.StatusCode)
		}
		mu.Unlock()
	}
}
