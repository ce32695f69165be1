package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/audit"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/cmd/metrics"
	"pixd/wal"
)

// keptBook is a scheme whose book of settled payments the test sets.
type keptBook struct {
	scheme.Scheme
	read func() scheme.Book
	n    atomic.Int64
}

func (k *keptBook) Book(context.Context) (scheme.Book, error) { k.n.Add(1); return k.read(), nil }

// booked returns the book of an idle scheme at which the merchant has sent and received the
// given amounts.
func (w *harness) booked(sent, received pix.Amount) scheme.Book {
	id, _ := pix.ParseAccountID(w.ID)
	return scheme.Book{At: now(), Accounts: []scheme.AccountBook{{Account: id, Sums: scheme.Sums{Sent: sent, Received: received}}}}
}

func (w *harness) audits() audit.Report {
	w.t.Helper()
	var r audit.Report
	status, got := w.operate("GET", "/admin/audit", "")
	if status != 200 || json.Unmarshal([]byte(got), &r) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	return r
}

// pays makes one payout of the merchant and one customer's payment, and waits until both
// are settled.
func (w *harness) pays() {
	w.t.Helper()
	if status, got := w.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":70}`, w.EVP)); status != 201 {
		w.t.Fatalf("%d %s", status, got)
	}
	id, _ := pix.ParseAccountID(w.ID)
	key, _ := pix.ParseKey(pix.KeyEmail, "a@pix.test")
	if a, err := w.Accounts.Do(id, ledger.RequestPayout{Amount: 500, Key: key}); err != nil || a.Refusal != nil {
		w.t.Fatalf("%+v %v", a, err)
	}
	w.becomes("settled", soon, func() bool {
		a, err := w.Accounts.Do(id, ledger.ReadAccount{})
		return err == nil && a.Head.Totals.Balance == 1_000_000+70-500
	})
}

// TestAuditLive checks that an audit finds no differences where the engine and the scheme's
// book agree, that it reports work in flight, and that a wrong book of the scheme is a
// difference once all its notices are acknowledged.
func TestAuditLive(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	w.pays()
	book := &keptBook{read: func() scheme.Book { return scheme.Book{} }}
	w.Engine.scheme = metrics.NewSchemeCalls(book)
	if r := w.audits(); r.Book != "not compared: the scheme keeps none" || len(r.Differences) > 0 {
		t.Errorf("%+v", r)
	}
	book.read = func() scheme.Book { return w.booked(500, 70) }
	r := w.audits()
	want := audit.ReportedAccount{ID: w.ID, Balance: 999_570, Sent: 500, Received: 70}
	if r.Book != audit.Compared || len(r.Differences) > 0 || r.Accounts != 1 || r.Records == 0 || r.Balance.Int64() != 999_570 || len(r.Rows) != 1 || r.Rows[0] != want {
		t.Errorf("%+v", r)
	}
	book.n.Store(0)
	book.read = func() scheme.Book { return w.booked(600, 70) }
	r = w.audits()
	if len(r.Differences) != 1 || r.Rows[0].Differences != 1 || r.Differences[0].Kind != "book" || *r.Differences[0].Field != "sent" ||
		*r.Differences[0].Engine != 500 || *r.Differences[0].Scheme != 600 || book.n.Load() != 4 {
		t.Errorf("%+v after %d looks", r, book.n.Load())
	}
}

// TestAuditWaits checks that an audit waits for notices on their way, but only for a limited
// time.
func TestAuditWaits(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	w.pays()
	book := &keptBook{}
	w.Engine.scheme = metrics.NewSchemeCalls(book)
	began := now()
	book.read = func() scheme.Book { // a second payment, whose notice arrives at the third comparison
		if book.n.Load() == 6 {
			if status, got := w.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":30}`, w.EVP)); status != 201 {
				t.Errorf("%d %s", status, got)
			}
			w.becomes("heard", soon, func() bool { _, got := w.balance(); return strings.Contains(got, `"balance":999600,`) })
		}
		b := w.booked(500, 100)
		if book.n.Load() < 6 {
			b.OldestOpen = began
		}
		return b
	}
	if r := w.audits(); len(r.Differences) > 0 || book.n.Load() < 6 {
		t.Errorf("%+v after %d looks", r, book.n.Load())
	}
	w.auditor.Patience = 600 * time.Millisecond
	book.read = func() scheme.Book { // a book with a payment whose notice never comes
		b := w.booked(500, 101)
		b.OldestOpen = began
		return b
	}
	asked := time.Now()
	r := w.audits()
	if took := time.Since(asked); len(r.Differences) != 1 || took < 600*time.Millisecond || took > 5*time.Second {
		t.Errorf("%+v after %v", r, took)
	}
}

// silentBook is a scheme that never answers a request for its book.
type silentBook struct{ scheme.Unassigned }

func (silentBook) Book(ctx context.Context) (scheme.Book, error) {
	<-ctx.Done()
	return scheme.Book{}, ctx.Err()
}

// TestAuditUnanswered checks that an audit ends in time with an error that says why, if the
// scheme does not send its book.
func TestAuditUnanswered(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	w.auditor.Patience = 200 * time.Millisecond
	for _, s := range []scheme.Scheme{silentBook{}, scheme.Unassigned{}} {
		w.Engine.scheme = metrics.NewSchemeCalls(s)
		asked := time.Now()
		status, got := w.operate("GET", "/admin/audit", "")
		if status != 503 || !strings.Contains(got, "the scheme's book cannot be read, so the books were not compared: ") || time.Since(asked) > 5*time.Second {
			t.Errorf("%T: %d %s after %v", s, status, got, time.Since(asked))
		}
	}
}

// TestAuditUnderLoad audits with the simulator's own book while payouts and payments go on
// and some are rejected. It audits again when the engine is idle: then the engine's sums and
// the book must be exactly equal.
func TestAuditUnderLoad(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), func(c *Config) { c.SettleDelay = 5 * time.Millisecond })
	id, _ := pix.ParseAccountID(w.ID)
	var work sync.WaitGroup
	stop := make(chan struct{})
	for n := range 4 {
		work.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				to := [...]string{"a@pix.test", "settle-now@pix.test", "reject-ac03@pix.test", "not-found@pix.test"}[i%4]
				command := ledger.RequestPayout{Amount: pix.Amount(100 + n), Key: pix.Key{Type: pix.KeyEmail, Value: to}}
				if _, err := w.Accounts.Do(id, command); err != nil {
					t.Error(err)
				}
				if status, got := w.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":%d}`, w.EVP, 200+n)); status != 201 {
					t.Errorf("%d %s", status, got)
				}
			}
		})
	}
	for range 4 {
		if r := w.audits(); r.Book != audit.Compared || len(r.Differences) > 0 {
			t.Errorf("%+v", r)
		}
	}
	close(stop)
	work.Wait()
	w.becomes("at rest", 10*time.Second, func() bool {
		b, err := w.Engine.scheme.Book(t.Context())
		r := w.audits()
		return err == nil && b.OldestOpen == 0 && r.InFlight == 0 && len(r.Differences) == 0
	})
	r := w.audits()
	book, err := w.Engine.scheme.Book(t.Context())
	if err != nil || len(book.Accounts) != 1 || book.Accounts[0].Sent != r.Rows[0].Sent || book.Accounts[0].Received != r.Rows[0].Received || r.Rows[0].Sent == 0 {
		t.Errorf("%+v\n%+v %v", r, book, err)
	}
	w.Engine.scheme = metrics.NewSchemeCalls(&keptBook{Scheme: w.Engine.scheme, read: func() scheme.Book { b := book; b.Accounts[0].Received++; return b }})
	if r := w.audits(); len(r.Differences) != 1 || *r.Differences[0].Field != "received" {
		t.Errorf("one base unit: %+v", r)
	}
}

// TestAuditPlanted checks that wrong rows and records are found both in a running engine
// and in its files, and that one account's damage is one difference.
func TestAuditPlanted(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs, func(c *Config) { c.SettleDelay = time.Hour })
	w.Engine.scheme = metrics.NewSchemeCalls(&keptBook{read: func() scheme.Book { return w.booked(0, 0) }})
	id, _ := pix.ParseAccountID(w.ID)
	key, _ := pix.ParseKey(pix.KeyEmail, "a@pix.test")
	a, err := w.Accounts.Do(id, ledger.RequestPayout{Amount: 500, Key: key})
	if err != nil || a.Refusal != nil {
		t.Fatalf("%+v %v", a, err)
	}
	if r := w.audits(); len(r.Differences) > 0 || r.InFlight != 1 || r.Pending.Int64() != 500 || r.Rows[0].InFlight != 1 {
		t.Errorf("%+v", r)
	}
	open, due := layout.OpenKey(id, a.Tx.ID), layout.DueKey(layout.DueTransfer, 1<<50, id, layout.EntityID(a.Tx.ID))
	v, _, err := w.Store.Get(open)
	if err != nil {
		t.Fatal(err)
	}
	ops := []wal.Op{{Kind: wal.OpDelete, Key: open}, {Kind: wal.OpSet, Key: due, Value: make([]byte, 8)}}
	if err := w.Store.WriteRows(wal.Local, ops...); err != nil {
		t.Fatal(err)
	}
	found := func(r *audit.Report) (kinds string) {
		for _, d := range r.Differences {
			kinds += d.Kind + " " + d.Account + " " + *d.Transaction + "\n"
		}
		return kinds
	}
	want := fmt.Sprintf("open_row %s %s\ndue_row %[1]s %[2]s\n", w.ID, a.Tx.Public())
	r := w.audits()
	if got := found(&r); got != want || r.Rows[0].Differences != 2 {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if err := w.Store.WriteRows(wal.Local, wal.Op{Kind: wal.OpSet, Key: open, Value: v}, wal.Op{Kind: wal.OpDelete, Key: due}); err != nil {
		t.Fatal(err)
	}
	if r := w.audits(); len(r.Differences) > 0 {
		t.Errorf("%+v", r.Differences)
	}
	w.Config.Log.Error("as if", "alert", "quarantine", "account", w.ID)
	if r := w.audits(); len(r.Differences) > 0 {
		t.Errorf("an account that answers is closed off: %+v", r.Differences)
	}
}

// TestAuditShowsQuarantine checks that an audit lists an account that is closed off as a difference.
func TestAuditShowsQuarantine(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.stop()
	id, _ := pix.ParseAccountID(w.ID)
	store, err := wal.Open(wal.Options{Dir: "data/journal", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	bad := wal.Op{Kind: wal.OpSet, Key: layout.HeadKey(id), Value: []byte("bad")}
	if err := errors.Join(store.WriteRows(wal.Local, bad), store.Close()); err != nil {
		t.Fatal(err)
	}
	again := w.at(serveHarness(t, fs))
	if _, err := again.Accounts.Do(id, ledger.ReadAccount{}); !errors.Is(err, ledger.ErrQuarantined) {
		t.Fatal(err)
	}
	shown := 0
	for _, d := range again.audits().Differences {
		if d.Account == w.ID && d.Kind == audit.KindQuarantine && d.Message != "" {
			shown++
		}
	}
	if shown != 1 {
		t.Errorf("shown %d times", shown)
	}
}

// TestAuditOneAtATime checks that an audit is refused while another one runs, and that no
// audit begins during the shutdown.
func TestAuditOneAtATime(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	reading, release := make(chan bool, 9), make(chan bool)
	w.Engine.scheme = metrics.NewSchemeCalls(&keptBook{read: func() scheme.Book { reading <- true; <-release; return w.booked(0, 0) }})
	first := make(chan int, 1)
	go func() { status, _ := w.operate("GET", "/admin/audit", ""); first <- status }()
	<-reading
	if status, got := w.operate("GET", "/admin/audit", ""); status != 409 || got != `{"error":{"status":409,"message":"an audit is under way"}}` {
		t.Errorf("%d %s", status, got)
	}
	close(release)
	if status := <-first; status != 200 {
		t.Errorf("%d", status)
	}
	w.auditor.Close()
	if status, got := w.operate("GET", "/admin/audit", ""); status != 503 {
		t.Errorf("after the end: %d %s", status, got)
	}
}
