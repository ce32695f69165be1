package engine

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"pixd/actors/audit"
	"pixd/actors/clock"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/wal"
)

// Audit audits a data folder whose engine does not run: it compares each account's records
// with the account's rows, and with the simulator's book if the folder has one. It makes and
// changes no file, so the folder may be on a read-only medium. A folder in use is an error that
// names the process.
func Audit(ctx context.Context, c Config) (*AuditReport, error) {
	dir := filepath.Join(c.DataDir, journalFolder)
	if c.FS == nil {
		if err := wal.InUse(dir); err != nil {
			return nil, fmt.Errorf("%w: a running engine is audited with --admin", err)
		}
	}
	store, err := wal.Open(wal.Options{Dir: dir, FS: c.FS, ReadOnly: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	r, err := auditStore(ctx, c, store)
	if closed := store.Close(); err == nil {
		err = closed
	}
	return r, err
}

func auditStore(ctx context.Context, c Config, store *wal.Store) (*AuditReport, error) {
	e := &Engine{Config: c, Store: store, Clock: clock.New(c.clocks(), 0), entropy: newEntropy()}
	known, err := registry.Open(store, e.Clock.Now)
	if err != nil {
		return nil, err
	}
	_, at, _ := store.Head()
	r := newAuditReport(pix.Millis(at))
	e.Registry = known
	var b books
	v := store.View()
	err = b.derive(ctx, v, e.accounts(), r)
	if closed := v.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	if err := e.compareOffline(ctx, &b, r); err != nil {
		return nil, err
	}
	return r.finished(), nil
}

// compareOffline compares the accounts with the simulator's book, if there is one. A movement
// whose notice the engine has not acknowledged counts as in flight.
func (e *Engine) compareOffline(ctx context.Context, b *books, r *AuditReport) error {
	c := &e.Config
	if c.FS == nil {
		if _, err := os.Stat(filepath.Join(c.simDir(), "lock")); err != nil {
			if c.SimDir != "" {
				return fmt.Errorf("no simulator's book in %s", c.SimDir)
			}
			r.Book = notCompared + "no simulator's book in " + c.simDir()
			return nil //nolint:nilerr // that there is none is no failure
		}
	}
	ispb, ok, err := e.Store.HardSetting("ispb")
	if err != nil {
		return err
	}
	if ok {
		c.ISPB = ispb
	}
	c.Log = slog.New(slog.DiscardHandler)
	o := e.simulated()
	o.ReadOnly = true
	if e.Sim, err = sim.Open(o); err != nil {
		r.Book = notCompared + err.Error()
		return nil //nolint:nilerr // the rest was audited all the same
	}
	book, err := e.Sim.Book(ctx)
	floor := book
	if err == nil && book.OldestOpen != 0 {
		floor, err = e.heard(ctx, &book)
	}
	if closed := e.Sim.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		return err
	case book.At == 0:
		r.Book = notCompared + "the scheme keeps none"
		return nil
	}
	r.Book = compared
	if book.OldestOpen != 0 {
		r.Book += ", but for what has settled since " + book.OldestOpen.String() + ": notices of it are not acknowledged"
	}
	var compare audit.Comparison
	compare.Before(&floor)
	r.differ(compare.Judge(b.sums(), &book))
	return nil
}

// heard returns the simulator's book without the movements since the oldest unacknowledged
// notice. The engine has acknowledged the notices of all earlier movements. The book has no
// longer a payment that the engine has refused, so such a payment is not taken out again.
func (e *Engine) heard(ctx context.Context, book *scheme.Book) (scheme.Book, error) {
	floor := *book
	floor.OldestOpen, floor.Accounts = 0, slices.Clone(book.Accounts)
	place, refused := map[pix.AccountID]int{}, map[string]bool{}
	for i := range floor.Accounts {
		place[floor.Accounts[i].Account] = i
	}
	err := e.moved(ctx, book, func(m *sim.Movement) {
		if m.Kind == sim.MovedRefused {
			refused[m.EndToEnd] = true
		}
	})
	if err != nil {
		return floor, err
	}
	return floor, e.moved(ctx, book, func(m *sim.Movement) {
		i, known := place[m.Account]
		if !known {
			return
		}
		switch sums := &floor.Accounts[i].Sums; {
		case m.Kind == sim.MovedPayout:
			sums.Sent -= m.Amount
		case m.Kind == sim.MovedPayment && !refused[m.EndToEnd]:
			sums.Received -= m.Amount
		case m.Kind == sim.MovedReturn:
			sums.ReturnedTo -= m.Amount
		case m.Kind == sim.MovedRefund:
			sums.ReturnedBy -= m.Amount
		}
	})
}

// moved calls fn for the simulator's movements from the oldest unacknowledged notice of a book
// up to the book's time.
func (e *Engine) moved(ctx context.Context, book *scheme.Book, fn func(*sim.Movement)) error {
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := e.Sim.Movements(ctx, book.OldestOpen, cursor, 10_000)
		if err != nil {
			return err
		}
		for i := range page {
			if page[i].At <= book.At {
				fn(&page[i])
			}
		}
		cursor = next
	}
	return nil
}
