package engine

import (
	"time"

	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/httpapi"
)

// millis is a duration as the ledger counts.
func millis(d time.Duration) ledger.Millis { return ledger.Millis(d / time.Millisecond) }

// terms are the service's own, as the flags have them.
func (c *Config) terms(secret []byte) ledger.Terms {
	return ledger.Terms{
		Secret: secret, OwnISPB: c.ISPB, OrphanAfter: millis(c.OrphanAfter), QueueTTL: millis(c.QueueTTL), ApprovalTTL: millis(c.ApprovalTTL),
	}
}

// renderer writes answers with what merchants read of the queue.
func (c *Config) renderer() httpapi.Renderer {
	return httpapi.Renderer{Queueing: httpapi.Queueing{Retry: c.QueueRetry, TTL: c.QueueTTL}}
}

// scanner has payouts that wait looked after by their accounts.
func (e *Engine) scanner() *due.Scanner {
	return due.NewScanner(due.New(millis(e.Config.QueueRetry), due.DefaultBounds()), e.Store, e.startTask, e.Clock.Read, e.Config.Log)
}

func (e *Engine) startTask(t due.Task, done func(due.Result)) {
	e.Accounts.Due(t, func(r due.Result) {
		if r.Err != nil && e.ending.Err() == nil {
			e.Config.Log.Warn("due: payout not looked at; it is tried again",
				"account", t.Account.String(), "transaction", ledger.TxID(t.ID).Public(ledger.TxPayout), "error", r.Err)
		}
		done(r)
	})
}
