package simulation

import (
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// open registers one more account and credits it with money. The process may crash between
// the registration (the claim) and the account's first record; the next message to the
// account opens it then.
func (l *life) open() {
	id := l.known + 1
	s := ledger.DefaultSettings()
	s.Name, s.Document = "Loja", "12345678909"
	s.CashInFee, s.CashOutFee = ledger.Fee{Fixed: 3}, ledger.Fee{Fixed: 7, BPS: 25}
	s.RepeatWindow = l.drawWindow()
	if l.odds(3) {
		threshold := pix.Amount(40_000)
		s.ApprovalThreshold = &threshold
	}
	if _, err := l.registry.RegisterAccount(id, true, s, pix.Key{Type: pix.KeyEVP, Value: keyOf(id)}); err != nil {
		l.fail("claim of %v: %v", id, err)
		return
	}
	l.learn()
	if l.living && l.odds(3) {
		l.crash("between a claim and its opening")
	}
	l.credit(id, 500_000)
}

func (l *life) drawWindow() pix.Millis {
	return [...]pix.Millis{ledger.MinRepeatWindow, 3_600_000, ledger.MaxRepeatWindow}[l.rng.IntN(3)]
}

// learn takes new accounts over from the registry and registers their keys with the scheme,
// as each start of the engine does.
func (l *life) learn() {
	for {
		if _, there := l.registry.Account(l.known + 1); !there {
			return
		}
		l.known++
		l.outside.register(pix.Key{Type: pix.KeyEVP, Value: keyOf(l.known)}, l.known)
	}
}

func keyOf(id pix.AccountID) string {
	return fmt.Sprintf("%08x-0000-4000-8000-000000000000", uint64(id))
}
