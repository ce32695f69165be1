package engine

import (
	"time"

	"pixd/actors/ledger"
	"pixd/httpapi"
)

// millis is a duration in the ledger's unit.
func millis(d time.Duration) ledger.Millis { return ledger.Millis(d / time.Millisecond) }

// terms are the service's own terms, as the flags set them.
func (c *Config) terms(secret []byte) ledger.Terms {
	return ledger.Terms{
		Secret: secret, OwnISPB: c.ISPB, OrphanAfter: millis(c.OrphanAfter), QueueTTL: millis(c.QueueTTL), ApprovalTTL: millis(c.ApprovalTTL),
	}
}

// renderer renders answers, with the settings of the queue that merchants read in them.
func (c *Config) renderer() httpapi.Renderer {
	return httpapi.Renderer{Queueing: httpapi.Queueing{Retry: c.QueueRetry, TTL: c.QueueTTL}}
}
