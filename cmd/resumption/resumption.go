// Package resumption lets the special-return cases go on that an accepted gap held, once the journal lacks nothing of the
// gap any more: it has caught up with the scheme. As for an operator, the scheme is asked first what was returned of
// each payment.
package resumption

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/wal"
)

const (
	resumedAtOnce = 4           // cases of which the scheme is asked at once
	unheardAtMost = 64          // so many questions without an answer, one after the other, end a round
	resumeEvery   = time.Minute // the time between two rounds, while cases wait
	reportedEvery = time.Hour   // the time until cases are looked for that were reported since
	resumedBy     = "catch-up"  // stands in for the operator
)

// Options are what the cases go on with.
type Options struct {
	Rows    layout.Rows
	Case    func(a pix.AccountID, ordinal uint64) (*ledger.Case, error)       // reads a case's newest record
	Returns func(a pix.AccountID, endToEnd string) ([]ledger.Returned, error) // asks the scheme what was returned of a payment
	Do      func(a pix.AccountID, c ledger.Command) (*ledger.Refusal, error)  // carries out a command; a refusal is returned
	Clock   func() pix.Reading
	Write   func(...wal.Op) error // makes named values durable
	Terms   *ledger.Terms
	Every   time.Duration // in place of the times between two rounds, set by tests; 0: a minute while cases wait, else an hour
	Log     *slog.Logger
}

// Cases are the cases that wait for an operator because a gap was accepted.
type Cases struct {
	Options
	Until pix.Millis // no case that was reported before waits, unless it is in waiting

	waiting map[pix.CaseID]ledger.OwnedCase
	last    pix.CaseID // of which the scheme was asked last
	told    string     // what was logged last
}

// Run works in rounds until ctx ends.
func (r *Cases) Run(ctx context.Context) {
	for {
		wait := cmp.Or(r.Every, reportedEvery)
		if r.Clock().Doubted || r.round(ctx) {
			wait = cmp.Or(r.Every, resumeEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// round tries to let each case go on that waits, and reports whether there may be more.
func (r *Cases) round(ctx context.Context) (more bool) {
	err := r.look(ctx)
	r.logError(ctx, "special-return cases not looked for", err)
	if len(r.waiting) > 0 {
		r.ask(ctx)
	}
	if err != nil || len(r.waiting) > 0 {
		return true
	}
	r.logError(ctx, "cases that wait no more not noted", r.Write(restored.SetKnown(r.Terms.Epoch, r.Until)))
	return false
}

// logError logs an error, unless the process ends.
func (r *Cases) logError(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		r.Log.Error(what, "error", err)
	}
}

// ReportedLate is more than the time between a case's id and its record being readable, and than two clocks differ that
// count as right.
const ReportedLate = pix.Millis(5 * time.Minute / time.Millisecond)

// look finds the cases that wait for an operator and were reported since the last look. One that cannot be read goes on
// waiting.
func (r *Cases) look(ctx context.Context) error {
	if r.waiting == nil {
		r.waiting = map[pix.CaseID]ledger.OwnedCase{}
	}
	now := r.Clock().Time
	_, hi := layout.AllCases()
	err := r.Rows.Scan(layout.CaseIDKey(pix.FirstCaseID(r.Until)), hi, func(_, b []byte) (bool, error) {
		row, err := layout.DecodeCaseIDRow(b)
		if err != nil || row.Status == pix.CaseCancelled {
			return true, err
		}
		k, err := r.Case(row.Account, row.Ordinal)
		o := ledger.OwnedCase{Account: row.Account, Case: k}
		switch {
		case err != nil:
			r.Log.Error("a special-return case cannot be read", "account", row.Account.String(), "case", row.Ordinal, "error", err)
		case k.AwaitsOperator(r.Terms) || r.mayAwait(o):
			r.waiting[k.ID] = o
		}
		return true, ctx.Err()
	})
	if err == nil {
		r.Until = max(r.Until, now-ReportedLate)
	}
	return err
}

// ask tries to let the cases go on, beginning behind the one that was tried last: some may have no answer.
func (r *Cases) ask(ctx context.Context) {
	var got answers
	var work sync.WaitGroup
	room := make(chan struct{}, resumedAtOnce)
	for _, id := range behind(slices.Collect(maps.Keys(r.waiting)), r.last) {
		room <- struct{}{}
		if ctx.Err() != nil || got.isOver() {
			break
		}
		r.last = id
		o := r.waiting[id]
		work.Go(func() {
			heard, why := r.resume(o)
			got.add(id, heard, why)
			<-room
		})
	}
	work.Wait()
	for _, id := range got.gone {
		delete(r.waiting, id)
	}
	if len(got.gone) > 0 || got.why != r.told {
		r.Log.Info("special-return cases go on that an accepted gap held", "gone_on", len(got.gone), "wait", len(r.waiting), "why", got.why)
	}
	r.told = got.why
}

// behind orders ids by their time, beginning with the first behind last.
func behind(all []pix.CaseID, last pix.CaseID) []pix.CaseID {
	order := func(a, b pix.CaseID) int { return bytes.Compare(a[:], b[:]) }
	slices.SortFunc(all, order)
	at, there := slices.BinarySearchFunc(all, last, order)
	if there {
		at++
	}
	return slices.Concat(all[at:], all[:at])
}

// answers are what a round has come to.
type answers struct {
	mu      sync.Mutex
	gone    []pix.CaseID // cases that have gone on
	unheard int          // questions without an answer since the last one with an answer
	why     string       // why a case has not gone on, the last of them
}

func (a *answers) add(id pix.CaseID, heard bool, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unheard++; heard {
		a.unheard = 0
	}
	if a.why = cmp.Or(why, a.why); why == "" {
		a.gone = append(a.gone, id)
	}
}

func (a *answers) isOver() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unheard >= unheardAtMost
}

// mayAwait reports whether a case from before the acceptance may come to wait for an operator again: a refund that counts towards
// it is in flight.
func (r *Cases) mayAwait(o ledger.OwnedCase) bool {
	if o.Case.Epoch >= r.Terms.Epoch || o.Case.Result != pix.Agreed {
		return false
	}
	sums, ok, err := layout.Find(r.Rows, layout.RefundSumsKey(o.Account, o.Case.Original), func(b []byte) (layout.RefundSums, error) {
		return layout.DecodeRefundSums(o.Case.Original, b)
	})
	return err != nil || ok && sums.InFlight > 0
}

// resume tries to let one case go on. heard: the scheme has answered. why is why the case still waits; empty: it
// does not.
func (r *Cases) resume(o ledger.OwnedCase) (heard bool, why string) {
	k, err := r.Case(o.Account, o.Case.Ordinal)
	switch {
	case err != nil:
		return true, err.Error()
	case !k.AwaitsOperator(r.Terms) && r.mayAwait(ledger.OwnedCase{Account: o.Account, Case: k}):
		return true, "a refund that counts towards it is in flight"
	case !k.AwaitsOperator(r.Terms): // an operator may have been faster
		return true, ""
	}
	found, err := r.Returns(o.Account, o.Case.EndToEnd)
	if err != nil {
		return false, err.Error()
	}
	refusal, err := r.Do(o.Account, ledger.ResumeCase{ID: o.Case.ID, Operator: resumedBy, Returned: found, Unseen: true})
	switch {
	case err != nil:
		return true, err.Error()
	case refusal != nil:
		return true, refusal.Message
	}
	return true, ""
}
