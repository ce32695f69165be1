package history

import (
	"context"
	"errors"
	"time"

	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// fewRows is the most rows that a read looks at without a place. A lookup by external id looks
// at no more in any case.
const fewRows = 1000

// The bounds on reads that must look at more rows. Four of all accounts run at once: each takes
// a processor, and requests must get the larger share of a small machine. An account's own run
// one after another. scanTime is the most time of one, its wait included; scanQueue reads of
// 100,000 rows each end in half of it.
const (
	scansAtOnce = 4
	scanShare   = 1
	scanQueue   = 16
	scanTime    = 5 * time.Second
)

// scanLimit bounds one read. The zero value is the limit of a read without a place.
type scanLimit struct {
	ctx  context.Context // nil: the read has no place
	rows int
}

// errPlace says that a read without a place would have to look at more than fewRows.
var errPlace = errors.New("history: the read needs a place")

// limited calls read once the account has a place. It returns layout.ErrTooLong where the wait
// and read together take longer than scanTime, and at once where scanQueue of the account's
// reads wait already.
func limited[T any](h *History, a pix.AccountID, read func(*scanLimit) (T, error)) (found T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), h.scanTime)
	defer cancel()
	if h.scans.Take(ctx, a) != nil {
		return found, layout.ErrTooLong
	}
	defer h.scans.Give(a)
	return read(&scanLimit{ctx: ctx})
}

// Counts returns the figures of the places for reads that look at many rows.
func (h *History) Counts() fair.Counts { return h.scans.Counts() }

// over returns layout.ErrTooLong once the read's time is over. It looks only now and then,
// because it is called for each row.
func (s *scanLimit) over() error {
	if s.ctx == nil {
		return nil
	}
	if s.rows++; s.rows%1024 == 0 && s.ctx.Err() != nil {
		return layout.ErrTooLong
	}
	return nil
}
