package audit

import (
	"context"
	"errors"
	"fmt"

	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// Books holds, for each account, the sums that it has settled with the scheme, and the last
// record that was read: a later reading goes on after that record. Call Derive first.
type Books struct {
	// Tell is told how far Derive is: before the first account, after each one, and within an account
	// after every 1,024 records. It must not block. Nil: nobody is told.
	Tell     func(Progress)
	accounts map[pix.AccountID]*read
}

// Progress is how far Derive is.
type Progress struct {
	Accounts, OfAccounts int    // accounts that were read, of all
	Records              uint64 // records that were read, those of an account that is not finished included
}

type read struct {
	seq, sum uint64
	settled  scheme.Sums
}

// told is the number of records of an account between two words of progress.
const told = 1024

// errRecord is the error for a record that is undamaged but cannot be decoded.
var errRecord = errors.New("record cannot be read")

// Derive reads every account of ids from its first record on, one account after the other, and
// adds each to the report. Damage is reported as a difference of its account; an error says what
// else could not be read.
func (b *Books) Derive(ctx context.Context, v *wal.View, ids []pix.AccountID, r *Report) error {
	b.accounts = make(map[pix.AccountID]*read, len(ids))
	waiting, err := CountWaiting(ctx, v)
	if err != nil {
		return err
	}
	tell := func(done int, more uint64) {
		if b.Tell != nil {
			b.Tell(Progress{done, len(ids), r.Records + more})
		}
	}
	tell(0, 0)
	for i, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		a, at := NewAccount(id), &read{}
		err := at.readNew(ctx, v, id, func(record *ledger.Record) {
			if a.Record(record); a.Records%told == 0 {
				tell(i, a.Records)
			}
		})
		if wal.IsDamage(err) || errors.Is(err, errRecord) {
			r.AddDifferences([]Difference{damageOf(id, err)})
			err = nil
		}
		if err == nil {
			err = b.check(a, v, waiting, r)
		}
		if err != nil {
			return fmt.Errorf("account %v: %w", id, err)
		}
		at.settled = a.Sums
		b.accounts[id] = at
		r.addAccount(a)
		tell(i+1, 0)
	}
	for _, id := range waiting.Left() { // due rows and other rows of accounts that do not exist
		a := NewAccount(id)
		if err := b.check(a, v, waiting, r); err != nil {
			return err
		}
		r.AddDifferences(a.Found())
	}
	r.AddDifferences(waiting.malformed)
	return nil
}

// check compares an account's records with its rows. A malformed row is damage of this account: the others are audited.
func (b *Books) check(a *Account, v layout.Rows, w Waiting, r *Report) error {
	err := a.Check(v, w)
	if errors.Is(err, layout.ErrMalformed) {
		r.AddDifferences([]Difference{damageOf(a.ID, err)})
		return nil
	}
	return err
}

// ReadOn reads the new records of the accounts in differ. It leaves out damage, which Derive has
// reported.
func (b *Books) ReadOn(ctx context.Context, v *wal.View, differ []Difference) error {
	done := map[pix.AccountID]bool{}
	for _, d := range differ {
		if done[d.Account] {
			continue
		}
		done[d.Account] = true
		at := b.accounts[d.Account]
		if at == nil {
			at = &read{}
			b.accounts[d.Account] = at
		}
		var failed error
		err := at.readNew(ctx, v, d.Account, func(r *ledger.Record) { failed = errors.Join(failed, Settled(&at.settled, r)) })
		if wal.IsDamage(err) || errors.Is(err, errRecord) {
			continue // Derive has reported this damage
		}
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("account %v: %w", d.Account, err)
		}
	}
	return nil
}

// readNew reads an account's records after the last record that was read before.
func (at *read) readNew(ctx context.Context, v *wal.View, id pix.AccountID, take func(*ledger.Record)) error {
	return v.Read(wal.Stream(id), at.seq+1, at.sum, func(w wal.Record) error {
		if w.Seq%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := history.Decode(&w)
		if err != nil {
			return fmt.Errorf("%w: %w", errRecord, err)
		}
		take(r)
		at.seq, at.sum = w.Seq, w.Sum
		return nil
	})
}

// Sums returns what each account has settled with the scheme, up to the last record read.
func (b *Books) Sums() map[pix.AccountID]scheme.Sums {
	all := make(map[pix.AccountID]scheme.Sums, len(b.accounts))
	for id, at := range b.accounts {
		all[id] = at.settled
	}
	return all
}
