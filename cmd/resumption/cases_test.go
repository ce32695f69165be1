package resumption

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// noRows are rows of which there are none, or none that can be read.
type noRows struct {
	layout.Rows
	err   error
	scans int
}

func (r *noRows) Scan([]byte, []byte, layout.Visit) error { r.scans++; return r.err }

func quiet(rows layout.Rows) *Cases {
	return &Cases{Options: Options{
		Rows: rows, Terms: &ledger.Terms{Epoch: 2}, Log: slog.New(slog.DiscardHandler), Every: time.Millisecond,
		Clock: func() pix.Reading { return pix.Reading{Time: 10 * ReportedLate} }, Write: func(...wal.Op) error { return nil },
	}, Until: 5}
}

// TestLooksBack checks from when on cases are looked for the next time: some become readable late, and where they could
// not be read, all are looked for again.
func TestLooksBack(t *testing.T) {
	rows := &noRows{err: errors.New("unreadable")}
	r := quiet(rows)
	if !r.round(t.Context()) || r.Until != 5 {
		t.Errorf("after an error they are looked for from %d on", r.Until)
	}
	rows.err = nil
	if r.round(t.Context()) || r.Until != 9*ReportedLate {
		t.Errorf("they are looked for from %v on", r.Until)
	}
}

// TestDoubtedClock checks that nothing is looked for, and no time is noted, while the clock is in doubt.
func TestDoubtedClock(t *testing.T) {
	rows := &noRows{}
	r := quiet(rows)
	r.Clock = func() pix.Reading { return pix.Reading{Time: 10 * ReportedLate, Doubted: true} }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if r.Run(ctx); rows.scans != 0 || r.Until != 5 {
		t.Errorf("looked %d times, up to %v", rows.scans, r.Until)
	}
}

// TestAsksAllWithoutAnswers checks that a round goes through cases of which the scheme says nothing, and ends.
func TestAsksAllWithoutAnswers(t *testing.T) {
	r := quiet(&noRows{})
	waits := &ledger.Case{}
	r.Case = func(pix.AccountID, uint64) (*ledger.Case, error) { return waits, nil }
	r.Returns = func(pix.AccountID, string) ([]ledger.Returned, error) { return nil, errors.New("no answer") }
	if !waits.AwaitsOperator(r.Terms) {
		t.Fatal("it is not a case that awaits an operator")
	}
	r.waiting = map[pix.CaseID]ledger.OwnedCase{}
	for i := range 3 * resumedAtOnce {
		r.waiting[pix.FirstCaseID(pix.Millis(i+1))] = ledger.OwnedCase{Account: 7, Case: waits}
	}
	over := make(chan struct{})
	go func() { r.ask(t.Context()); close(over) }()
	select {
	case <-over:
	case <-time.After(2 * time.Second):
		t.Fatal("the round does not end")
	}
	if len(r.waiting) != 3*resumedAtOnce {
		t.Errorf("%d wait", len(r.waiting))
	}
}

// TestResumesUnseen checks with what a case goes on that no operator has looked at.
func TestResumesUnseen(t *testing.T) {
	r := quiet(&noRows{})
	found := []ledger.Returned{{}}
	r.Case = func(pix.AccountID, uint64) (*ledger.Case, error) { return &ledger.Case{}, nil }
	r.Returns = func(pix.AccountID, string) ([]ledger.Returned, error) { return found, nil }
	var got ledger.ResumeCase
	r.Do = func(_ pix.AccountID, c ledger.Command) (*ledger.Refusal, error) {
		got = c.(ledger.ResumeCase)
		return nil, nil
	}
	k := &ledger.Case{ID: pix.FirstCaseID(9)}
	heard, why := r.resume(ledger.OwnedCase{Account: 7, Case: k})
	if !heard || why != "" || got.ID != k.ID || got.Operator != resumedBy || !got.Unseen || len(got.Returned) != 1 {
		t.Errorf("%v %q %+v", heard, why, got)
	}
}
