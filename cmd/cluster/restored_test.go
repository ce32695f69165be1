package cluster

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/restored"
	"pixd/actors/scheme/provider"
	"pixd/cmd/engine"
	"pixd/cmd/simulator"
	"pixd/wal"
	"pixd/wal/waltest"
)

const schemeSecret = "0123456789abcdef0123456789abcdef"

// losesMovements is a scheme that lists one movement where it is asked for one, and no more.
func losesMovements(t *testing.T) (at string, refused *atomic.Int64) {
	t.Helper()
	sim, err := simulator.Serve(simulator.Config{
		DataDir: t.TempDir(), Listen: "127.0.0.1:0", Engine: "http://127.0.0.1:1", ISPB: agreedISPB, SchemeSecret: schemeSecret,
		Log: slog.New(slog.DiscardHandler), OnFailure: func(err error) { t.Error(err) },
	}, engine.Build{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Shutdown() })
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: sim.Addr.String()})
	refused = new(atomic.Int64)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.URL.Path == provider.PathMovements && !bytes.Contains(body, []byte(`"limit":1}`)) {
			refused.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL, refused
}

// alone serves a node of one, which is called a, unless change says otherwise, and returns it with the address for other nodes.
func alone(t *testing.T, change func(*engine.Config, *Flags)) (s *Served, port string) {
	t.Helper()
	port = waltest.FreePorts(t, 1, 2)[0]
	c, f := engine.Defaults(), Defaults()
	c.AdminToken, c.ISPB, c.SchemeSecret = "token", agreedISPB, schemeSecret
	c.Listen, c.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	c.Log, c.OnFailure = slog.New(slog.DiscardHandler), func(err error) { t.Error(err) }
	f.Node, f.Listen, f.Peers = "a", port, "a=http://"+port
	change(&c, &f)
	s, err := Serve(t.Context(), c, f, engine.Build{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return s, port
}

// justRestored is a folder whose journal was restored from a snapshot, and was not taken into use since.
func justRestored(t *testing.T) (dir string) {
	t.Helper()
	dir = filled(t, "x")
	store := aStore(t, dir, false)
	op, err := (&restored.Mark{Position: 1, Newest: 1, Taken: 1, Restored: 2}).Op()
	if err := errors.Join(err, store.WriteRows(wal.Shared, op), store.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNodeCatchesUpLater has a node serve a restored journal whose gap is accepted, while the scheme can be
// asked for movements and does not list them: the node begins anew, and serves the journal without them.
func TestNodeCatchesUpLater(t *testing.T) {
	t.Parallel()
	dir := justRestored(t)
	at, refused := losesMovements(t)
	s, port := alone(t, func(c *engine.Config, _ *Flags) {
		c.DataDir, c.Scheme, c.SchemeTimeout, c.AcceptRestoredGap = dir, at, 100*time.Millisecond, true
	})
	for until, cut := time.Now().Add(time.Minute), 0; ; time.Sleep(20 * time.Millisecond) {
		r, err := http.Get("http://" + s.AdminAddr.String() + "/healthz")
		if cut++; err == nil {
			_ = r.Body.Close()
			cut = 0
		}
		if cut > 10 {
			t.Fatal("nobody has the port:", err)
		}
		select {
		case err := <-s.Failed():
			t.Fatal("the node has ended:", err)
		default:
		}
		if e := s.engine.Load(); e != nil && refused.Load() > 0 {
			if s.config.Uncaught == nil || s.uncaughtAt == 0 {
				t.Error("at a handover now, the scheme would be asked in vain once more:", s.uncaughtAt)
			}
			if m, err := restored.Uncaught(e.Store); m == nil || err != nil {
				t.Errorf("it has caught up with nothing: %v", err)
			}
			break
		}
		if time.Now().After(until) {
			t.Fatal("no owner")
		}
	}
	for _, at := range []string{s.MerchantAddr.String() + "/api/external/balance", s.AdminAddr.String() + "/readyz"} {
		r, err := http.Get("http://" + at)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode >= http.StatusInternalServerError {
			t.Errorf("%s: %d %s", at, r.StatusCode, body)
		}
	}
	other, err := net.Dial("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	open := s.engine.Load().Config.Shared.Others
	for until := time.Now().Add(5 * time.Second); open() != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the engine counts %d connections of other nodes", open())
		}
	}
}

// TestNodeAsksOnce checks that a node which could not ask the scheme for movements does not ask at its next takeover: it would
// wait once more, and nobody serves meanwhile. A first start accepts the gap, a later one finds that it was accepted.
func TestNodeAsksOnce(t *testing.T) {
	t.Parallel()
	dir := justRestored(t)
	port := waltest.FreePorts(t, 1, 2)[0]
	for _, accepts := range []bool{true, false} {
		c, f := engine.Defaults(), Defaults()
		c.AdminToken, c.ISPB, c.SchemeSecret, c.Scheme = "token", agreedISPB, schemeSecret, "http://127.0.0.1:1"
		c.Listen, c.AdminListen, c.DataDir, c.SchemeTimeout, c.AcceptRestoredGap = "127.0.0.1:0", "127.0.0.1:0", dir, 100*time.Millisecond, accepts
		c.Log, c.OnFailure = slog.New(slog.DiscardHandler), func(err error) { t.Error(err) }
		f.Node, f.Listen, f.Peers = "a", port, "a=http://"+port
		s, err := Serve(t.Context(), c, f, engine.Build{})
		if err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(time.Minute); s.engine.Load() == nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("it never serves")
			}
		}
		if s.config.Uncaught == nil || s.uncaughtAt == 0 {
			t.Errorf("accepts %v: it would ask again: %v, %v", accepts, s.config.Uncaught, s.uncaughtAt)
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	}
}

// TestMayCatchUp checks for how long a node does not try to catch up again.
func TestMayCatchUp(t *testing.T) {
	now := 10 * time.Hour
	s := &Served{elapsed: func() time.Duration { return now }, uncaughtAt: now}
	s.config.Uncaught = errors.New("why")
	now += time.Hour
	if s.mayCatchUp(); s.config.Uncaught == nil {
		t.Error("it tries again within the hour")
	}
	now++
	if s.mayCatchUp(); s.config.Uncaught != nil {
		t.Error("it never tries again")
	}
}
