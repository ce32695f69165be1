package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/actors/scheme/schemetest"
	"pixd/httpapi"
	"pixd/httpapi/notices"
)

// TestContractOfSim runs the contract of scheme.Scheme against a real `pixd sim`. Where a
// story needs a restart, the process is killed and another one started.
func TestContractOfSim(t *testing.T) {
	t.Parallel()
	schemetest.Contract(t, func(t *testing.T) schemetest.Body { return simBody(t, t.TempDir()) })
}

func simBody(t *testing.T, dir string) schemetest.Body {
	secret, err := provider.NewSecret(schemeWord)
	if err != nil {
		t.Fatal(err)
	}
	now := func() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }
	log := slog.New(slog.DiscardHandler)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var feed atomic.Pointer[scheme.Feed]
	server := httpapi.NewServer(notices.New(notices.Options{
		Guard: provider.NewGuard(secret, provider.ToEngine, now, nil), Log: log,
		Feed: func(n scheme.Notice, done func(error)) {
			if f := feed.Load(); f != nil {
				(*f)(n, done)
				return
			}
			done(errors.New("nobody listens yet"))
		},
	}), "test", log)
	go func() { _ = server.Serve(httpapi.Limit(l, httpapi.ConnectionOptions{Log: log})) }()
	p := launchSim(t, dir, "127.0.0.1:0", "http://"+l.Addr().String()).awaitReady()
	s, err := provider.New(provider.Options{URL: p.operator, Secret: secret, Now: now, NewID: uuid.NewString, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if ended {
			return
		}
		ended = true
		p.end(syscall.SIGKILL)
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_ = server.ShutdownWithContext(ctx)
	}
	t.Cleanup(end)
	return schemetest.Body{
		Scheme: s, Now: now,
		Start: func(f scheme.Feed) error { feed.Store(&f); return nil },
		Pay: func(t *testing.T, k pix.Key, amount pix.Amount, at pix.Millis) string {
			t.Helper()
			var paid struct {
				EndToEnd string `json:"end_to_end_id"`
			}
			p.made("/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":%d,"paid_at":%q}`, k.Value, amount, at-100), &paid) // the process's clock may be some ms behind this one's
			return paid.EndToEnd
		},
		Payable: func(t *testing.T, k pix.Key) bool {
			t.Helper()
			status, answer, err := p.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":1}`, k.Value))
			if err != nil || status != 201 && status != 404 {
				t.Fatalf("%d %s %v", status, answer, err)
			}
			return status == 201
		},
		Again: func(t *testing.T) schemetest.Body { end(); return simBody(t, dir) },
	}
}
