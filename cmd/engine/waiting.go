package engine

import (
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
)

// millis converts a duration to milliseconds, the ledger's unit of time.
func millis(d time.Duration) pix.Millis { return pix.Millis(d / time.Millisecond) }

// terms returns the service's own terms, as the flags set them.
func (c *Config) terms(secret []byte) ledger.Terms {
	return ledger.Terms{
		Secret: secret, OwnISPB: c.ISPB, OrphanAfter: millis(c.OrphanAfter), QueueTTL: millis(c.QueueTTL), ApprovalTTL: millis(c.ApprovalTTL),
		MEDDeadline: millis(c.MEDDeadline), MEDAnalysis: millis(c.MEDAnalysis), MEDWaits: c.MEDSilence == silenceWaits,
	}
}

// renderer returns the merchant API's renderer, which shows merchants the settings of the
// queue.
func (c *Config) renderer() httpapi.Renderer {
	return httpapi.Renderer{Queueing: httpapi.Queueing{Retry: c.QueueRetry, TTL: c.QueueTTL}}
}
