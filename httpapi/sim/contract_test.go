package sim

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fasthttp/router"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/schemetest"
	"pixd/actors/scheme/sim"
	"pixd/httpapi"
	"pixd/httpapi/control"
	"pixd/httpapi/notices"
)

func realNow() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }

var drawn atomic.Uint64

func draw() (b [10]byte) {
	n := drawn.Add(1)
	for i := range 8 {
		b[i] = byte(n >> (8 * i))
	}
	return b
}

func testSecret(t *testing.T) provider.Secret {
	t.Helper()
	s, err := provider.NewSecret("a secret of the tests, long enough")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve serves a handler on a port of its own and returns the URL.
func serve(t *testing.T, h fasthttp.RequestHandler) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httpapi.NewServer(h, "test", slog.New(slog.DiscardHandler))
	go func() { _ = s.Serve(httpapi.Limit(l, httpapi.ConnectionOptions{Log: slog.New(slog.DiscardHandler)})) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond) // a short time, because the shutdown would wait for the connections that clients keep open
		defer cancel()
		_ = s.ShutdownWithContext(ctx)
	})
	return "http://" + l.Addr().String()
}

// TestContract runs the contract tests of scheme.Scheme against a simulator that is called
// over HTTP.
func TestContract(t *testing.T) {
	schemetest.Contract(t, func(t *testing.T) schemetest.Body { return remote(t, vfs.NewMem()) })
}

func options(t *testing.T, to string) provider.Options {
	return provider.Options{URL: to, Secret: testSecret(t), Now: realNow, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)}
}

// remote returns a simulator on the book in fs, served over HTTP, and a provider that calls
// it.
func remote(t *testing.T, fs *vfs.MemFS) schemetest.Body {
	log := slog.New(slog.DiscardHandler)
	s, err := sim.Open(sim.Options{Dir: "sim", FS: fs, SettleDelay: 30 * time.Millisecond, Now: realNow, Entropy: draw, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	r := router.New()
	control.Strict(r)
	Provide(r, s, provider.NewGuard(testSecret(t), provider.ToScheme, realNow, nil), log)
	o := options(t, serve(t, r.Handler))
	o.BookPage = 2 // the contract's books have more accounts
	p, err := provider.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var notifier *provider.Notifier
	closed := false
	end := func() {
		if closed {
			return
		}
		closed = true
		p.Close()
		if notifier != nil {
			notifier.Close()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	return schemetest.Body{
		Scheme: p, Now: realNow,
		Start: func(f scheme.Feed) (err error) {
			to := serve(t, notices.New(notices.Options{Guard: provider.NewGuard(testSecret(t), provider.ToEngine, realNow, nil), Feed: f, Log: log}))
			if notifier, err = provider.NewNotifier(options(t, to)); err != nil {
				return err
			}
			return s.Start(notifier.Take)
		},
		Pay: func(t *testing.T, k pix.Key, amount pix.Amount, at pix.Millis) string {
			paid, _, err := s.Pay(t.Context(), sim.Payment{Key: k.Value, Amount: amount, At: at})
			if err != nil {
				t.Fatal(err)
			}
			return paid
		},
		Payable: func(t *testing.T, k pix.Key) bool {
			_, _, err := s.Pay(t.Context(), sim.Payment{Key: k.Value, Amount: 1})
			if err != nil && !errors.Is(err, sim.ErrUnknownKey) {
				t.Fatal(err)
			}
			return err == nil
		},
		Again: func(t *testing.T) schemetest.Body { end(); return remote(t, fs) },
	}
}
