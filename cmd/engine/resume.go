package engine

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"pixd/actors/layout"
	"pixd/actors/ledger"
)

// How the special-return cases go on that an accepted gap held, once the journal lacks nothing of it any more.
const (
	resumedAtOnce = 4           // cases of which the scheme is asked at once
	unheardAtMost = 10          // so many questions without an answer, one after the other, end a round
	resumeEvery   = time.Minute // the time between two rounds, while cases wait
	reportedEvery = time.Hour   // the time until cases are looked for that were reported since
	resumedBy     = "catch-up"  // stands in for the operator
)

// resumeCases lets the cases go on that wait for an operator because a gap was accepted: the journal has caught up
// since. As for an operator, the scheme is asked first what was returned of each payment.
func (e *Engine) resumeCases(ctx context.Context) {
	for {
		wait := reportedEvery
		if e.resumeRound(ctx) {
			wait = cmp.Or(e.Config.resumeEvery, resumeEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// resumeRound tries to let each case go on that waits, and reports whether there may be more.
func (e *Engine) resumeRound(ctx context.Context) (more bool) {
	waiting, err := e.awaiting(ctx)
	e.logError("special-return cases not looked for", err)
	if len(waiting) == 0 {
		return err != nil
	}
	// One whose question has no answer may be asked about first in one round, and last in the next.
	rand.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	var r resumed
	var work sync.WaitGroup
	room := make(chan struct{}, resumedAtOnce)
	for _, o := range waiting {
		room <- struct{}{}
		if ctx.Err() != nil || r.isOver() {
			break
		}
		work.Go(func() {
			r.add(e.resume(o))
			<-room
		})
	}
	work.Wait()
	e.Config.Log.Info("special-return cases go on that an accepted gap held", "cases", len(waiting), "gone_on", r.done, "why_not", r.why)
	return err != nil || r.done < len(waiting)
}

// resumed is what a round has come to.
type resumed struct {
	mu      sync.Mutex
	done    int    // cases that have gone on
	unheard int    // questions without an answer since the last one with an answer
	why     string // why a case has not gone on, the last of them
}

func (r *resumed) add(heard bool, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unheard++; heard {
		r.unheard = 0
	}
	if why == "" {
		r.done++
		return
	}
	r.why = why
}

func (r *resumed) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unheard >= unheardAtMost
}

// resume tries to let one case go on. heard: the scheme has answered. why is why the case still waits; empty: it
// does not.
func (e *Engine) resume(o ledger.OwnedCase) (heard bool, why string) {
	found, err := e.returnsOf(o.Account, o.Case.EndToEnd)
	if err != nil {
		return false, err.Error()
	}
	answer, err := e.Accounts.Do(o.Account, ledger.ResumeCase{ID: o.Case.ID, Operator: resumedBy, Returned: found, Unseen: true})
	switch {
	case err != nil:
		return true, err.Error()
	case answer.Refusal != nil && answer.Refusal.Code != ledger.RefuseNotAwaiting: // an operator may have been faster
		return true, answer.Refusal.Message
	}
	return true, ""
}

// awaiting finds the cases that wait for an operator. One that cannot be read goes on waiting.
func (e *Engine) awaiting(ctx context.Context) (all []ledger.OwnedCase, err error) {
	lo, hi := layout.AllCases()
	err = e.Store.Scan(lo, hi, func(_, b []byte) (bool, error) {
		row, err := layout.DecodeCaseIDRow(b)
		if err != nil {
			return false, err
		}
		k, err := e.History.CaseRecord(row.Account, row.Ordinal)
		if err != nil {
			e.Config.Log.Error("a special-return case cannot be read", "account", row.Account.String(), "case", row.Ordinal, "error", err)
		} else if k.AwaitsOperator(&e.terms) {
			all = append(all, ledger.OwnedCase{Account: row.Account, Case: k})
		}
		return ctx.Err() == nil, nil
	})
	return all, err
}
