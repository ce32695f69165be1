package engine

import (
	"errors"
	"time"

	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/ledger"
	"pixd/httpapi"
)

// millis is a duration as the ledger counts.
func millis(d time.Duration) ledger.Millis { return ledger.Millis(d / time.Millisecond) }

// terms are the service's own, as the flags have them.
func (c *Config) terms() ledger.Terms {
	return ledger.Terms{
		OwnISPB: c.ISPB, OrphanAfter: millis(c.OrphanAfter), QueueTTL: millis(c.QueueTTL), ApprovalTTL: millis(c.ApprovalTTL),
	}
}

// queueing is what merchants are told of the queue.
func (c *Config) queueing() httpapi.Queueing {
	return httpapi.Queueing{Retry: c.QueueRetry, TTL: c.QueueTTL}
}

// scanner has payouts that wait looked after by their accounts.
func (e *Engine) scanner() *due.Scanner {
	return due.NewScanner(due.New(millis(e.Config.QueueRetry), due.DefaultBounds()), e.Store, e.visit, e.Clock.Read, e.Config.Log)
}

func (e *Engine) visit(v due.Visit, came func(due.Came)) {
	then := func(a account.Visited) {
		if a.Err != nil && e.ending.Err() == nil {
			e.Config.Log.Warn("due: payout not looked at; it is tried again",
				"account", v.Account.String(), "transaction", v.ID.Public(ledger.TxPayout), "error", a.Err)
		}
		came(due.Came{
			Again: a.Again, Unheard: a.Unheard, Open: a.Open, Queued: a.Queued, Skipped: a.Skipped,
			Failed: a.Err != nil, Closed: errors.Is(a.Err, ledger.ErrQuarantined),
		})
	}
	if v.Retry {
		e.Accounts.Retry(v.Account, v.ID, then)
		return
	}
	e.Accounts.Due(v.Account, v.ID, v.Seq, then)
}
