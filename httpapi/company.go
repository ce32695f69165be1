package httpapi

import (
	"sync/atomic"

	"pixd/actors/pix"
)

// companyLasts is how long, in ms, an account counts as not alone after a request of another one.
const companyLasts = pix.Millis(1000)

// company tells whether requests of more than one account have come in of late. Where requests
// all are one account's, noting one costs a load; each that is another's costs two stores and a
// reading of the clock.
type company struct {
	account atomic.Uint64 // whose request came in last; 0: none has
	changed atomic.Int64  // engine time of the last request that was not the same account's as the one before it
}

// hear notes a request of an account.
func (c *company) hear(a pix.AccountID, now func() pix.Millis) {
	if c.account.Load() == uint64(a) {
		return
	}
	if c.account.Swap(uint64(a)) != 0 {
		c.changed.Store(int64(now()))
	}
}

// near tells whether two accounts have taken turns within companyLasts.
func (c *company) near(now pix.Millis) bool {
	return now-pix.Millis(c.changed.Load()) < companyLasts
}
