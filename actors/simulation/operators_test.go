package simulation

import (
	"context"
	"slices"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/sim"
)

// companies are the companies that an account may authorize; payouts go to the first.
var companies = []string{knownCNPJ, "11222333000181", "60701190000104", "00000000000191"}

// decide approves or declines a payout that waits for an operator.
func (l *life) decide() {
	for i := range l.answers {
		a := &l.answers[len(l.answers)-1-i]
		if a.tx.Status != pix.StatusPending || !l.odds(2) {
			continue
		}
		word := ledger.Approved
		if l.odds(4) {
			word = ledger.Declined
		}
		id := a.tx.ID
		l.ask(&request{account: a.account, make: func() ledger.Command {
			return ledger.DecideApproval{ID: id, Word: word, Operator: "ana"}
		}})
		return
	}
}

// govern makes one random change to the directory, to an account, or to the scheme.
func (l *life) govern() {
	id := l.someone()
	switch l.rng.IntN(5) {
	case 4:
		l.outside.gone = [...]string{"", "ana@example.com", "eva@example.com", "settle-now@pix.test"}[l.rng.IntN(4)]
	case 3:
		l.change(id)
	case 0:
		l.setActive(id, !l.registry.Active(id))
	case 1:
		capacity := [...]sim.Capacity{sim.Available, sim.Available, sim.ClientLimited, sim.BucketExhausted}[l.rng.IntN(4)]
		l.say("capacity %v", capacity)
		if err := l.outside.sim.SetCapacity(context.Background(), capacity); err != nil {
			l.fail("capacity: %v", err)
		}
	case 2:
		for i := range l.answers {
			if a := &l.answers[len(l.answers)-1-i]; a.tx.Kind == pix.TxPayout && !a.refused && l.odds(4) {
				for range 1 + l.rng.IntN(2) {
					l.outside.giveBack(a.tx.EndToEnd, pix.Amount(l.rng.IntN(3))*3_000)
				}
				return
			}
		}
	}
}

// change changes an account's settings.
func (l *life) change(id pix.AccountID) {
	a := l.account(id)
	if a.Broken() != nil {
		return
	}
	s := a.Head().Settings
	s.CashOutCeiling = [...]pix.Amount{0, 0, 30_000}[l.rng.IntN(3)]
	s.BlockCNPJOut, s.AuthorizedCNPJs = l.odds(2), nil
	if l.odds(2) {
		s.AuthorizedCNPJs = slices.Clone(companies[l.rng.IntN(2):])
		l.rng.Shuffle(len(s.AuthorizedCNPJs), func(i, j int) {
			s.AuthorizedCNPJs[i], s.AuthorizedCNPJs[j] = s.AuthorizedCNPJs[j], s.AuthorizedCNPJs[i]
		})
	}
	if l.odds(2) {
		s.CashInFee = ledger.Fee{Fixed: pix.Amount(l.rng.IntN(10)), BPS: int64(l.rng.IntN(200))}
		s.CashOutFee = ledger.Fee{Fixed: pix.Amount(l.rng.IntN(10)), BPS: int64(l.rng.IntN(200))}
		s.RepeatWindow = l.drawWindow()
		l.count("asked: other fees and another window")
	}
	if s.ApprovalThreshold = nil; l.odds(3) {
		threshold := 20_000 * pix.Amount(1+l.rng.IntN(2))
		s.ApprovalThreshold = &threshold
	}
	listed := slices.Clone(s.AuthorizedCNPJs)
	if r := s.Normalise(); r != nil {
		l.fail("settings %+v: %s", s, r.Message)
	}
	for _, c := range listed {
		if !slices.Contains(s.AuthorizedCNPJs, c) {
			l.fail("%s is authorized, and the settings have %v", c, s.AuthorizedCNPJs)
		}
	}
	l.ask(&request{account: id, make: func() ledger.Command { return ledger.ChangeSettings{Settings: s} }})
}
