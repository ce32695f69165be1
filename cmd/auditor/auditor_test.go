package auditor

import (
	"context"
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/audit"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

func anAuditor(t *testing.T) *Auditor {
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
	}}
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
