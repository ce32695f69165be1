package engine

import (
	"context"
	"errors"
	"math"

	"pixd/actors/audit"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/cmd/auditor"
	"pixd/wal"
)

// newAuditor makes what audits the engine, before the parts that it reads are there.
func (e *Engine) newAuditor() *auditor.Auditor {
	var ending context.Context
	ending, e.endAudits = context.WithCancel(e.ending)
	return &auditor.Auditor{Options: auditor.Options{
		Book: func(ctx context.Context) (scheme.Book, error) { return e.scheme.Book(ctx) },
		Look: func(of wal.Stream, read func(*wal.View) error) error { return e.Store.Look(of, read) },
		Accounts: func() []pix.AccountID {
			ids, _ := e.Registry.Accounts(0, math.MaxInt)
			return ids
		},
		Damaged: e.damaged, Now: func() pix.Millis { return e.Clock.Now() }, Ending: ending, Log: e.Config.Log,
	}}
}

// damaged lists the accounts that are closed off, as differences of an audit.
func (e *Engine) damaged() (all []audit.Difference) {
	for _, id := range e.Config.alerts.Quarantined() {
		if _, err := e.Accounts.Do(id, ledger.ReadAccount{}); errors.Is(err, ledger.ErrQuarantined) {
			all = append(all, audit.Difference{Account: id, Kind: audit.KindQuarantine, Message: err.Error()})
		}
	}
	return all
}
