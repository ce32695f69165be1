package engine

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/audit"
	"pixd/actors/scheme"
	"pixd/httpapi/control"
	"pixd/wal"
)

// auditEvery is the time between two readings of the scheme's book and the engine's accounts
// in one audit, while they differ. auditPatience is the longest time from the audit's
// beginning for which they are read again.
const (
	auditEvery    = 250 * time.Millisecond
	auditPatience = 30 * time.Second
)

// audit computes every account's sums anew from its records, in one view of the store, and compares
// its settled movements with the scheme's book. The engine works on meanwhile.
func (e *Engine) audit(ctx context.Context) (*audit.Report, error) {
	began := time.Now()
	e.auditor.stage(stageBook)
	book, err := e.book(ctx)
	if err != nil {
		return nil, err
	}
	r := audit.NewReport(e.Clock.Now())
	e.auditor.stage(stageRecords)
	b, err := e.derive(ctx, r)
	if err != nil {
		return nil, err
	}
	if book.At == 0 {
		r.Book = audit.NotCompared + "the scheme keeps none"
		return r, nil
	}
	e.auditor.stage(stageComparing)
	differ, err := e.compare(ctx, b, &book, began)
	r.Book = audit.Compared
	r.AddDifferences(differ)
	return r, err
}

// derive computes every account's sums anew from its records, in one view of the store.
func (e *Engine) derive(ctx context.Context, r *audit.Report) (*audit.Books, error) {
	ids, _ := e.Registry.Accounts(0, math.MaxInt)
	b := &audit.Books{Tell: e.auditor.read}
	return b, e.look(ctx, func(v *wal.View) error { return b.Derive(ctx, v, ids, r) })
}

// book reads the scheme's book of settled payments. A scheme that does not answer in time is
// reported like a scheme that cannot be reached.
func (e *Engine) book(ctx context.Context) (scheme.Book, error) {
	ctx, cancel := context.WithTimeout(ctx, e.auditor.patient())
	defer cancel()
	b, err := e.scheme.Book(ctx)
	if err != nil {
		return b, errors.Join(control.Refuse(fasthttp.StatusServiceUnavailable,
			"the scheme's book cannot be read, so the books were not compared: %v", err), err)
	}
	return b, nil
}

// compare compares the accounts' settled sums with the scheme's book. While they differ, and
// notices on their way may be the reason, it reads both again.
func (e *Engine) compare(ctx context.Context, b *audit.Books, before *scheme.Book, began time.Time) ([]audit.Difference, error) {
	var c audit.Comparison
	for sure := 0; ; {
		c.Before(before)
		after, err := e.book(ctx)
		if err != nil {
			return nil, err
		}
		differ := c.Judge(b.Sums(), &after)
		if c.Certain() {
			sure++
		}
		if len(differ) == 0 || sure == 2 || time.Since(began) > e.auditor.patient() {
			return differ, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(auditEvery):
		}
		again, err := e.book(ctx)
		if err != nil {
			return nil, err
		}
		before = &again
		if err := e.look(ctx, func(v *wal.View) error { return b.ReadOn(ctx, v, differ) }); err != nil {
			return nil, err
		}
	}
}

// look lets read read one view of the store, and returns once everything in that view is
// durable.
func (e *Engine) look(ctx context.Context, read func(*wal.View) error) error {
	if err := e.Store.Look(0, read); err != nil {
		return err
	}
	return ctx.Err()
}
