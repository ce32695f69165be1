package webhook_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/webhook"
	"pixd/wal"
)

// oneRow has one delivery that is due.
type oneRow struct{ webhook.Rows }

var theRow = layout.Pending{Target: layout.Target{Account: 1, Number: 1}, Due: 1, Sequence: 1, Record: 1}

func (oneRow) Get(key []byte) ([]byte, bool, error) {
	return theRow.Value(), string(key) == string(theRow.Key()), nil
}

func (oneRow) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	if k := theRow.Key(); string(lo) <= string(k) && string(k) < string(hi) {
		_, err := fn(k, theRow.Value())
		return err
	}
	return nil
}

func (oneRow) Subscription(layout.Target) (*ledger.Subscription, error) {
	return &ledger.Subscription{Status: ledger.SubscriptionActive}, nil
}

// appended is a journal that keeps its entries waiting.
type appended chan *wal.Entry

func (a appended) Append(e *wal.Entry) wal.Ticket { a <- e; return 1 }

// TestHeld checks that an event does not leave before the journal has made durable all that
// could be read when its row was read.
func TestHeld(t *testing.T) {
	journal, posts := make(appended, 8), make(chan webhook.Post, 8)
	d := webhook.NewDispatcher(webhook.Options{
		Rows: oneRow{}, Journal: journal,
		Record: func(a pix.AccountID, seq uint64) (*ledger.Record, error) {
			r := &ledger.Record{Account: a, Seq: seq, Body: ledger.Body{Events: []pix.EventKind{pix.EventCompleted}, Tx: &ledger.Transaction{}}}
			r.Totals.Events = 1
			return r, nil
		},
		Render:  func(ledger.Event) []byte { return nil },
		Post:    func(_ context.Context, p webhook.Post) webhook.Answer { posts <- p; return webhook.Answer{Status: 200} },
		Now:     func() pix.Reading { return pix.Reading{Time: 2 + 5*60*60*1000, Clock: 2} },
		Entropy: func() [10]byte { return [10]byte{} }, Log: slog.New(slog.DiscardHandler),
	})
	ctx, end := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { d.Run(ctx); close(stopped) }()
	defer func() { end(); <-stopped }()
	e := <-journal
	select {
	case <-posts:
		t.Fatal("an event has left, and its record may not be durable")
	case <-time.After(100 * time.Millisecond):
	}
	for _, out := range e.Out {
		out.Release(nil)
	}
	<-posts
}

// TestRetryEnds checks that who puts a delivery back in line does not wait for a store that has
// failed once the dispatcher has ended.
func TestRetryEnds(t *testing.T) {
	d := webhook.NewDispatcher(webhook.Options{
		Rows: oneRow{}, Journal: make(appended, 8),
		Now:     func() pix.Reading { return pix.Reading{Time: 5 * 60 * 60 * 1000} },
		Entropy: func() [10]byte { return [10]byte{} }, Log: slog.New(slog.DiscardHandler),
	})
	done := make(chan error)
	go func() {
		done <- d.Retry(layout.Target{Account: 1, Number: 1}, ledger.Event{Sequence: 1, Record: &ledger.Record{Time: 1}})
	}()
	ended, end := context.WithCancel(context.Background())
	end()
	d.Run(ended)
	if err := <-done; !errors.Is(err, ledger.ErrCut) {
		t.Errorf("got %v", err)
	}
}
