package engine

import (
	"context"
	"errors"
	"fmt"

	"pixd/actors/audit"
	"pixd/actors/history"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// books holds, for each account, the sums that it has settled with the scheme, and the last
// record that was read: a later reading goes on after that record.
type books struct{ accounts map[pix.AccountID]*read }

type read struct {
	seq, sum uint64
	settled  scheme.Sums
}

// errRecord is the error for a record that is undamaged but cannot be decoded.
var errRecord = errors.New("record cannot be read")

// derive reads every account from its first record on, one account after the other, and
// adds each to the report.
func (b *books) derive(ctx context.Context, v *wal.View, ids []pix.AccountID, r *AuditReport) error {
	b.accounts = make(map[pix.AccountID]*read, len(ids))
	waiting, err := audit.CountWaiting(v)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a, at := audit.NewAccount(id), &read{}
		err := at.goOn(ctx, v, id, a.Record)
		if wal.IsDamage(err) || errors.Is(err, errRecord) {
			r.differ([]audit.Difference{{Account: id, Kind: audit.KindDamage, Message: err.Error()}})
			err = nil
		}
		if err == nil {
			err = a.Check(v, waiting)
		}
		if err != nil {
			return fmt.Errorf("account %v: %w", id, err)
		}
		at.settled = a.Sums
		b.accounts[id] = at
		r.take(a)
	}
	for _, id := range waiting.Left() { // due rows and other rows of accounts that do not exist
		a := audit.NewAccount(id)
		if err := a.Check(v, waiting); err != nil {
			return err
		}
		r.differ(a.Found())
	}
	return nil
}

// goOn reads the new records of the accounts in differ.
func (b *books) goOn(ctx context.Context, v *wal.View, differ []audit.Difference) error {
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
		err := at.goOn(ctx, v, d.Account, func(r *ledger.Record) { failed = errors.Join(failed, audit.Settled(&at.settled, r)) })
		if wal.IsDamage(err) || errors.Is(err, errRecord) {
			continue // derive has reported this damage
		}
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("account %v: %w", d.Account, err)
		}
	}
	return nil
}

// goOn reads an account's records after the last record that was read before.
func (at *read) goOn(ctx context.Context, v *wal.View, id pix.AccountID, take func(*ledger.Record)) error {
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

func (b *books) sums() map[pix.AccountID]scheme.Sums {
	all := make(map[pix.AccountID]scheme.Sums, len(b.accounts))
	for id, at := range b.accounts {
		all[id] = at.settled
	}
	return all
}
