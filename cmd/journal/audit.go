package journal

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pixd/actors/audit"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/wal"
)

// AuditOptions say what Audit reads. DataDir alone is enough.
type AuditOptions struct {
	DataDir string
	SimDir  string            // folder of the simulator's book; empty: SimFolder in the data folder
	FS      wal.FS            // the file system; nil: the disk
	Now     func() pix.Millis // nil: the machine's wall clock
}

// Audit audits a data folder whose engine does not run: it compares each account's records
// with the account's rows, and with the simulator's book if the folder has one. It makes and
// changes no file, so the folder may be on a read-only medium. A folder in use is an error that
// names the process.
func Audit(ctx context.Context, o AuditOptions) (*audit.Report, error) {
	if o.Now == nil {
		o.Now = func() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }
	}
	dir := filepath.Join(o.DataDir, Folder)
	if o.FS == nil {
		if err := wal.InUse(dir); err != nil {
			return nil, fmt.Errorf("%w: a running engine is audited with --admin", err)
		}
	}
	store, err := wal.Open(wal.Options{Dir: dir, FS: o.FS, ReadOnly: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	r, err := o.audit(ctx, store)
	if closed := store.Close(); err == nil {
		err = closed
	}
	return r, err
}

func (o *AuditOptions) audit(ctx context.Context, store *wal.Store) (*audit.Report, error) {
	accounts, err := registry.Open(store, o.Now)
	if err != nil {
		return nil, err
	}
	_, at, _ := store.Head()
	r := audit.NewReport(pix.Millis(at))
	ids, _ := accounts.Accounts(0, math.MaxInt)
	var b audit.Books
	v := store.View()
	err = b.Derive(ctx, v, ids, r)
	if closed := v.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	if err := o.compareBook(ctx, store, &b, r); err != nil {
		return nil, err
	}
	return r.Finish(), nil
}

// compareBook compares the accounts with the simulator's book, if there is one. A movement
// whose notice the engine has not acknowledged counts as in flight.
func (o *AuditOptions) compareBook(ctx context.Context, store *wal.Store, b *audit.Books, r *audit.Report) error {
	dir := cmp.Or(o.SimDir, filepath.Join(o.DataDir, SimFolder))
	if o.FS == nil {
		if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
			if o.SimDir != "" {
				return fmt.Errorf("no simulator's book in %s", dir)
			}
			r.Book = audit.NotCompared + "no simulator's book in " + dir
			return nil //nolint:nilerr // that there is none is no failure
		}
	}
	ispb, _, err := store.HardSetting(settingISPB)
	if err != nil {
		return err
	}
	s, err := sim.Open(sim.Options{
		Dir: dir, ReadOnly: true, FS: o.FS, OwnISPB: ispb, Now: o.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.Book = audit.NotCompared + err.Error()
		return nil //nolint:nilerr // the rest was audited all the same
	}
	book, floor, err := readBook(ctx, s)
	switch {
	case err != nil:
		return err
	case book.At == 0:
		r.Book = audit.NotCompared + "the scheme keeps none"
		return nil
	}
	r.Book = audit.Compared
	if book.OldestOpen != 0 {
		r.Book += ", but for what has settled since " + book.OldestOpen.String() + ": notices of it are not acknowledged"
	}
	var compare audit.Comparison
	compare.Before(&floor)
	r.AddDifferences(compare.Judge(b.Sums(), &book))
	return nil
}

// readBook reads the simulator's book, and the book as far as the engine has acknowledged it,
// and closes the simulator.
func readBook(ctx context.Context, s *sim.Sim) (book, floor scheme.Book, err error) {
	book, err = s.Book(ctx)
	floor = book
	if err == nil && book.OldestOpen != 0 {
		floor, err = heard(ctx, s, &book)
	}
	if closed := s.Close(); err == nil {
		err = closed
	}
	return book, floor, err
}

// heard returns the simulator's book without the movements since the oldest unacknowledged
// notice. The engine has acknowledged the notices of all earlier movements. The book has no
// longer a payment that the engine has refused, so such a payment is not taken out again.
func heard(ctx context.Context, s *sim.Sim, book *scheme.Book) (scheme.Book, error) {
	floor := *book
	floor.OldestOpen, floor.Accounts = 0, slices.Clone(book.Accounts)
	place, refused := map[pix.AccountID]int{}, map[string]bool{}
	for i := range floor.Accounts {
		place[floor.Accounts[i].Account] = i
	}
	err := moved(ctx, s, book, func(m *sim.SettledMovement) {
		if m.Kind == sim.MovedRefused {
			refused[m.EndToEnd] = true
		}
	})
	if err != nil {
		return floor, err
	}
	return floor, moved(ctx, s, book, func(m *sim.SettledMovement) {
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
func moved(ctx context.Context, s *sim.Sim, book *scheme.Book, fn func(*sim.SettledMovement)) error {
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := s.Settled(ctx, book.OldestOpen, cursor, 10_000)
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
