package httpapi

import (
	"sync/atomic"
	"time"

	"pixd/actors/ledger"
)

// companyLasts is how long an account counts as not alone after a request of another one.
const companyLasts = time.Second

// company tells whether requests of more than one account have come in of late. Where requests
// all are one account's, noting one costs a load.
type company struct {
	account atomic.Uint64 // whose request came in last; 0: none has
	changed atomic.Int64  // Unix time in milliseconds of the last request that was not the same account's as the one before it
}

// hear notes a request of an account.
func (c *company) hear(a ledger.AccountID) {
	if c.account.Load() == uint64(a) {
		return
	}
	if c.account.Swap(uint64(a)) != 0 {
		c.changed.Store(time.Now().UnixMilli())
	}
}

// inCompany tells whether two accounts have taken turns within the last second.
func (c *company) inCompany() bool {
	return time.Since(time.UnixMilli(c.changed.Load())) < companyLasts
}
