package sim

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme/provider"
	"pixd/httpapi"
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
	s := httpapi.NewServer(h, httpapi.ServerOptions{Name: "test", Log: slog.New(slog.DiscardHandler)})
	go func() { _ = s.Serve(httpapi.Limit(l, httpapi.ConnectionOptions{Log: slog.New(slog.DiscardHandler)})) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond) // a short time, because the shutdown would wait for the connections that clients keep open
		defer cancel()
		_ = s.ShutdownWithContext(ctx)
	})
	return "http://" + l.Addr().String()
}

func options(t *testing.T, to string) provider.Options {
	return provider.Options{URL: to, Secret: testSecret(t), Now: realNow, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)}
}
