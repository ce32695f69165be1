package engine

import (
	"time"

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
