package auditor

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/audit"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

func anAuditor(t *testing.T) *Auditor {
	a, _ := auditorOf(t)
	return a
}

// auditorOf returns an auditor and the store that it reads.
func auditorOf(t *testing.T) (*Auditor, *wal.Store) {
	t.Helper()
	s, err := wal.Open(wal.Options{Dir: "journal", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &Auditor{Options: Options{
		Book: func(context.Context) (scheme.Book, error) { return scheme.Book{}, nil }, Look: s.Look,
		Accounts: func() []pix.AccountID { return nil }, Damaged: func() []audit.Difference { return nil },
		Now: func() pix.Millis { return 1000 }, Ending: t.Context(), Log: slog.New(slog.DiscardHandler),
	}}, s
}

// TestClosedOffAccountsDiffer checks that an account that is closed off is a difference, of an audit in the background too.
func TestClosedOffAccountsDiffer(t *testing.T) {
	a := anAuditor(t)
	a.Damaged = func() []audit.Difference {
		return []audit.Difference{{Account: 7, Kind: audit.KindQuarantine, Message: "it is closed off"}}
	}
	got, err := a.Answer()
	r, ok := got.(*audit.Report)
	if err != nil || !ok || len(r.Differences) != 1 || r.Differences[0].Kind != audit.KindQuarantine {
		t.Errorf("%+v, %v", got, err)
	}
	if _, last := a.Runs(); last == nil || last.Agrees || last.Report != r {
		t.Errorf("%+v", last)
	}
}

// TestComparesAfterLongReading checks that the books are read again while they differ and notices are on their way, however
// long the reading of the records took.
func TestComparesAfterLongReading(t *testing.T) {
	for _, slow := range []string{"records", "book"} {
		t.Run(slow, func(t *testing.T) { comparesAfterLong(t, slow) })
	}
}

func comparesAfterLong(t *testing.T, slow string) {
	a := anAuditor(t)
	a.Patience = 50 * time.Millisecond
	look, books := a.Look, 0
	a.Accounts = func() []pix.AccountID { return []pix.AccountID{1} }
	a.Look = func(s wal.Stream, read func(*wal.View) error) error {
		if slow == "records" {
			time.Sleep(2 * a.Patience)
		}
		return look(s, read)
	}
	a.Book = func(context.Context) (scheme.Book, error) {
		books++
		if slow == "book" {
			time.Sleep(2 * a.Patience)
		}
		b := scheme.Book{At: pix.Millis(1000 + books), Accounts: []scheme.AccountBook{{Account: 1}}}
		if books <= 2 { // a notice is on its way
			b.OldestOpen, b.Accounts[0].Sent = 1, 5
		}
		return b, nil
	}
	if r, err := a.Make(t.Context()); err != nil || len(r.Differences) != 0 || r.Book != audit.Compared {
		t.Errorf("%+v, %v; the book was read %d times", r, err, books)
	}
}

// TestMeanwhileHidesNothing checks that what the scheme moves while the records are read does not hide as much that the engine
// has too much of.
func TestMeanwhileHidesNothing(t *testing.T) {
	a := anAuditor(t)
	meanwhile := pix.Amount(0)
	a.Accounts = func() []pix.AccountID { meanwhile = 1000; return []pix.AccountID{1} }
	a.Book = func(context.Context) (scheme.Book, error) {
		b := scheme.Book{At: 1000, Accounts: []scheme.AccountBook{{Account: 1}}}
		b.Accounts[0].Received, meanwhile = meanwhile-1000, 0 // the engine has received nothing, 1000 more than that
		return b, nil
	}
	if r, err := a.Make(t.Context()); err != nil || len(r.Differences) != 1 || *r.Differences[0].Field != "received" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestMalformedRowsAreDifferences checks that a row that cannot be decoded is a difference of its account, and that the other
// accounts are audited.
func TestMalformedRowsAreDifferences(t *testing.T) {
	holding, _ := layout.HoldingsOf(1)
	sums, _ := layout.RefundSumsOf(1)
	open, _ := layout.OpenOf(1)
	client := layout.Queue{Limit: pix.BucketClient, Account: 1}
	for name, c := range map[string]struct {
		key []byte
		of  pix.AccountID
	}{
		"due":     {layout.DueKey(layout.DueCase, 5, 1, layout.EntityID{1}), 1},
		"holding": {append(holding, 0, 0, 0, 0, 0, 0, 0, 7), 1},
		"sums":    {append(sums, make([]byte, 16)...), 1},
		"open":    {append(open, 1), 0},
		"queue":   {layout.QueueKey(client, pix.TxID{1}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, s := auditorOf(t)
			a.Accounts = func() []pix.AccountID { return []pix.AccountID{1, 2} }
			stray := layout.OpenKey(2, pix.TxID{2})
			if err := s.WriteRows(wal.Shared, wal.Op{Kind: wal.OpSet, Key: c.key, Value: []byte("bad")}, wal.Op{Kind: wal.OpSet, Key: stray, Value: layout.SeqRow(1)}); err != nil {
				t.Fatal(err)
			}
			r, err := a.Make(t.Context())
			if err != nil || r.Accounts != 2 {
				t.Fatalf("%+v, %v", r, err)
			}
			found := map[string]string{}
			for _, d := range r.Differences {
				found[d.Account] += d.Kind + " "
			}
			if !strings.Contains(found[c.of.String()], audit.KindDamage) || found[pix.AccountID(2).String()] != audit.KindOpen+" " {
				t.Errorf("%v", r.Differences)
			}
		})
	}
}
