package auditor

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/audit"
	"pixd/actors/scheme"
	"pixd/httpapi/control"
	"pixd/wal"
)

// readEvery is the time between two readings of the scheme's book and the engine's accounts
// in one audit, while they differ. patience is the longest time for which they are read again, from when they were compared
// first; they are read readAgain times at least, however long that takes.
const (
	readEvery = 250 * time.Millisecond
	patience  = 30 * time.Second
	readAgain = 2
)

// bookWithin is the longest time for reading the scheme's book: page by page, each of which has a far shorter one.
const bookWithin = 10 * time.Minute

func (a *Auditor) patient() time.Duration {
	if a.Patience != 0 {
		return a.Patience
	}
	return patience
}

// Make computes every account's sums anew from its records, in one view of the store, and compares
// its settled movements with the scheme's book. It is not one of those that Runs tells of.
func (a *Auditor) Make(ctx context.Context) (*audit.Report, error) {
	a.stage(StageBook)
	book, err := a.book(ctx)
	if err != nil {
		return nil, err
	}
	r := audit.NewReport(a.Now())
	if book.At == 0 {
		a.stage(StageRecords)
		if _, err := a.Derive(ctx, r); err != nil {
			return nil, err
		}
		r.Book = audit.NotCompared + "the scheme keeps none"
		return r, nil
	}
	b := &audit.Books{Tell: a.read}
	after, err := a.lookBetween(ctx, func(v *wal.View) error {
		a.stage(StageRecords)
		return b.Derive(ctx, v, a.Accounts(), r)
	})
	if err != nil {
		return nil, err
	}
	a.stage(StageComparing)
	differ, err := a.compare(ctx, b, &book, &after)
	r.Book = audit.Compared
	r.AddDifferences(differ)
	return r, err
}

// Derive computes every account's sums anew from its records, in one view of the store.
func (a *Auditor) Derive(ctx context.Context, r *audit.Report) (*audit.Books, error) {
	b := &audit.Books{Tell: a.read}
	return b, a.look(ctx, func(v *wal.View) error { return b.Derive(ctx, v, a.Accounts(), r) })
}

// book reads the scheme's book of settled payments. A scheme that does not answer in time is
// reported like a scheme that cannot be reached.
func (a *Auditor) book(ctx context.Context) (scheme.Book, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.Patience, bookWithin))
	defer cancel()
	b, err := a.Book(ctx)
	if err != nil {
		return b, errors.Join(control.Refuse(fasthttp.StatusServiceUnavailable,
			"the scheme's book cannot be read, so the books were not compared: %v", err), err)
	}
	return b, nil
}

// compare compares the accounts' settled sums with the scheme's books from before and after them. While they differ, and
// notices on their way may be the reason, it reads both again.
func (a *Auditor) compare(ctx context.Context, b *audit.Books, before, after *scheme.Book) ([]audit.Difference, error) {
	var began time.Time
	var c audit.Comparison
	for sure, again := 0, 0; ; again++ {
		c.Before(before)
		differ := c.Judge(b.Sums(), after)
		if c.Certain() {
			sure++
		}
		if again == 0 {
			began = time.Now() // reading the book and the records may have taken longer
		}
		if len(differ) == 0 || sure == 2 || again >= readAgain && time.Since(began) > a.patient() {
			return differ, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(readEvery):
		}
		book, err := a.book(ctx)
		if err != nil {
			return nil, err
		}
		later, err := a.lookBetween(ctx, func(v *wal.View) error { return b.ReadOn(ctx, v, differ) })
		if err != nil {
			return nil, err
		}
		before, after = &book, &later
	}
}

// lookBetween lets read read one view of the store, and returns the scheme's book of after the view was opened: reading
// takes minutes, and what the scheme moves meanwhile would hide as much that the engine has too much of.
func (a *Auditor) lookBetween(ctx context.Context, read func(*wal.View) error) (after scheme.Book, err error) {
	err = a.look(ctx, func(v *wal.View) error {
		var err error
		if after, err = a.book(ctx); err != nil {
			return err
		}
		return read(v)
	})
	return after, err
}

// look lets read read one view of the store, and returns once everything in that view is
// durable.
func (a *Auditor) look(ctx context.Context, read func(*wal.View) error) error {
	if err := a.Look(0, read); err != nil {
		return err
	}
	return ctx.Err()
}
