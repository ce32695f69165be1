package provider

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestConnections checks that messages about payments use at most Options.Conns connections,
// and that every other message does not wait for them.
func TestConnections(t *testing.T) {
	release := make(chan struct{})
	var payments, others atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case PathLookup, PathSubmit, PathReturn, PathAsk:
			payments.Add(1)
			<-release
		default:
			others.Add(1)
		}
	}))
	defer server.Close()
	var ids atomic.Int64
	p, err := New(Options{
		URL: server.URL, Secret: secret(t, shared), Conns: 3, Now: func() pix.Millis { return noon },
		NewID: func() string { return fmt.Sprint("m", ids.Add(1)) }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			_, _ = p.Lookup(ctx, scheme.Query{Tx: payout.Tx, Account: 7, EndToEnd: payout.EndToEnd, Key: payout.Key})
		})
		work.Go(func() { _, _ = p.Submit(ctx, payout) })
		work.Go(func() { _, _ = p.Return(ctx, repayment) })
		work.Go(func() { _, _ = p.Ask(ctx, payout.Tx, payout.EndToEnd) })
	}
	for end := time.Now().Add(5 * time.Second); payments.Load() < 3 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	soon, over := context.WithTimeout(t.Context(), 5*time.Second)
	defer over()
	for name, call := range map[string]func() error{
		"register":   func() error { return p.RegisterKey(soon, payout.Key, 7) },
		"deregister": func() error { return p.DeregisterKey(soon, payout.Key, 7) },
		"returns":    func() error { _, err := p.Returns(soon, 7, payout.EndToEnd); return err },
		"movements":  func() error { _, err := p.Movements(soon, 1, "", 1); return err },
		"book":       func() error { _, err := p.Book(soon); return err },
	} {
		before := others.Load()
		if _ = call(); others.Load() == before {
			t.Errorf("%s waits for messages about payments", name)
		}
	}
	if n := payments.Load(); n != 3 {
		t.Errorf("%d connections for payments", n)
	}
	cancel()
	close(release)
	work.Wait()
}
