package engine

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
)

// How the special-return cases go on that an accepted gap held, once the journal lacks nothing of it any more.
const (
	resumedAtOnce = 4           // cases of which the scheme is asked at once
	unheardAtMost = 64          // so many questions without an answer, one after the other, end a round
	resumeEvery   = time.Minute // the time between two rounds, while cases wait
	reportedEvery = time.Hour   // the time until cases are looked for that were reported since
	resumedBy     = "catch-up"  // stands in for the operator
)

// resumption lets the cases go on that wait for an operator because a gap was accepted: the journal has caught up
// since. As for an operator, the scheme is asked first what was returned of each payment.
type resumption struct {
	e       *Engine
	until   pix.Millis // no case that was reported before waits, unless it is in waiting
	waiting map[pix.CaseID]ledger.OwnedCase
	last    pix.CaseID // of which the scheme was asked last
	told    string     // what was logged last
}

// run works in rounds until ctx ends.
func (r *resumption) run(ctx context.Context) {
	for {
		wait := cmp.Or(r.e.Config.resumeEvery, reportedEvery)
		if r.e.Clock.Doubted() || r.round(ctx) {
			wait = cmp.Or(r.e.Config.resumeEvery, resumeEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// round tries to let each case go on that waits, and reports whether there may be more.
func (r *resumption) round(ctx context.Context) (more bool) {
	err := r.look(ctx)
	r.e.logError("special-return cases not looked for", err)
	if len(r.waiting) > 0 {
		r.ask(ctx)
	}
	if err != nil || len(r.waiting) > 0 {
		return true
	}
	r.e.logError("cases that wait no more not noted", r.e.writeLate(restored.SetKnown(r.e.terms.Epoch, r.until)))
	return false
}

// reportedLate is more than the time between a case's id and its record being readable, and than two clocks differ that
// count as right.
const reportedLate = pix.Millis(5 * time.Minute / time.Millisecond)

// look finds the cases that wait for an operator and were reported since the last look. One that cannot be read goes on
// waiting.
func (r *resumption) look(ctx context.Context) error {
	if r.waiting == nil {
		r.waiting = map[pix.CaseID]ledger.OwnedCase{}
	}
	now := r.e.Clock.Stamp()
	_, hi := layout.AllCases()
	err := r.e.Store.Scan(layout.CaseIDKey(pix.FirstCaseID(r.until)), hi, func(_, b []byte) (bool, error) {
		row, err := layout.DecodeCaseIDRow(b)
		if err != nil || row.Status == pix.CaseCancelled {
			return true, err
		}
		k, err := r.e.History.CaseRecord(row.Account, row.Ordinal)
		o := ledger.OwnedCase{Account: row.Account, Case: k}
		switch {
		case err != nil:
			r.e.Config.Log.Error("a special-return case cannot be read", "account", row.Account.String(), "case", row.Ordinal, "error", err)
		case k.AwaitsOperator(&r.e.terms) || r.e.mayAwait(o):
			r.waiting[k.ID] = o
		}
		return true, ctx.Err()
	})
	if err == nil {
		r.until = max(r.until, now-reportedLate)
	}
	return err
}

// ask tries to let the cases go on, beginning behind the one that was tried last: some may have no answer.
func (r *resumption) ask(ctx context.Context) {
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
			heard, why := r.e.resume(o)
			got.add(id, heard, why)
			<-room
		})
	}
	work.Wait()
	for _, id := range got.gone {
		delete(r.waiting, id)
	}
	if len(got.gone) > 0 || got.why != r.told {
		r.e.Config.Log.Info("special-return cases go on that an accepted gap held", "gone_on", len(got.gone), "wait", len(r.waiting), "why", got.why)
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
func (e *Engine) mayAwait(o ledger.OwnedCase) bool {
	if o.Case.Epoch >= e.terms.Epoch || o.Case.Result != pix.Agreed {
		return false
	}
	sums, ok, err := layout.Find(e.Store, layout.RefundSumsKey(o.Account, o.Case.Original), func(b []byte) (layout.RefundSums, error) {
		return layout.DecodeRefundSums(o.Case.Original, b)
	})
	return err != nil || ok && sums.InFlight > 0
}

// resume tries to let one case go on. heard: the scheme has answered. why is why the case still waits; empty: it
// does not.
func (e *Engine) resume(o ledger.OwnedCase) (heard bool, why string) {
	k, err := e.History.CaseRecord(o.Account, o.Case.Ordinal)
	switch {
	case err != nil:
		return true, err.Error()
	case !k.AwaitsOperator(&e.terms) && e.mayAwait(ledger.OwnedCase{Account: o.Account, Case: k}):
		return true, "a refund that counts towards it is in flight"
	case !k.AwaitsOperator(&e.terms): // an operator may have been faster
		return true, ""
	}
	found, err := e.returnsOf(o.Account, o.Case.EndToEnd)
	if err != nil {
		return false, err.Error()
	}
	answer, err := e.Accounts.Do(o.Account, ledger.ResumeCase{ID: o.Case.ID, Operator: resumedBy, Returned: found, Unseen: true})
	switch {
	case err != nil:
		return true, err.Error()
	case answer.Refusal != nil:
		return true, answer.Refusal.Message
	}
	return true, ""
}
