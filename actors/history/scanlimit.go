package history

import (
	"context"
	"time"

	"pixd/actors/ledger"
)

// The bounds on reads that must look at many rows: how many run at once, and how long one may
// take, its wait for the others included.
const (
	scansAtOnce = 4
	scanTime    = 5 * time.Second
)

// scanLimit bounds one read. The zero value bounds nothing.
type scanLimit struct {
	ctx  context.Context
	rows int
}

// limited calls read once fewer than scansAtOnce other reads run. It returns
// ledger.ErrTooLong where they and read together take longer than scanTime.
func (h *History) limited(read func(*scanLimit) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), h.scanTime)
	defer cancel()
	select {
	case h.scans <- struct{}{}:
		defer func() { <-h.scans }()
	case <-ctx.Done():
		return ledger.ErrTooLong
	}
	return read(&scanLimit{ctx: ctx})
}

// over returns ledger.ErrTooLong once the read's time is over. It looks only now and then,
// because it is called for each row.
func (s *scanLimit) over() error {
	if s.ctx == nil {
		return nil
	}
	if s.rows++; s.rows%1024 == 0 && s.ctx.Err() != nil {
		return ledger.ErrTooLong
	}
	return nil
}
