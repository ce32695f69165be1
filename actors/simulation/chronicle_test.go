package simulation

import (
	"pixd/actors/ledger"
)

// chronicle is what the records of all accounts tell of each payout.
type chronicle struct {
	payouts map[ledger.TxID]*told
	prints  map[ledger.Fingerprint][]*told
	claims  map[ledger.AccountID]map[[16]byte][]*told
	windows map[ledger.AccountID]ledger.Millis
}

// told is one payout.
type told struct {
	tx    ledger.Transaction // as its newest record has it
	out   ledger.Millis      // since when it may be on its way: its hold, or its approval
	at    ledger.Millis      // when its key was claimed; 0: it has none
	print ledger.Fingerprint
}

func newChronicle() *chronicle {
	return &chronicle{
		map[ledger.TxID]*told{},
		map[ledger.Fingerprint][]*told{},
		map[ledger.AccountID]map[[16]byte][]*told{},
		map[ledger.AccountID]ledger.Millis{},
	}
}

func (c *chronicle) take(l *life, r *ledger.Record) {
	l.count("record: " + r.Kind.String())
	if r.Settings != nil {
		c.windows[r.Account] = r.Settings.RepeatWindow
	}
	if r.Tx == nil || r.Tx.Kind != ledger.TxPayout {
		return
	}
	p := c.payouts[r.Tx.ID]
	if p == nil {
		p = &told{out: r.Time, print: ledger.Fingerprint{Account: r.Account, Amount: r.Tx.Amount, KeyType: r.Tx.KeyType, Key: r.Tx.Key}}
		c.payouts[r.Tx.ID] = p
		if !r.Tx.OwnEndToEnd {
			c.prints[p.print] = append(c.prints[p.print], p)
		}
		if r.Claim != nil {
			p.at = r.Claim.At
			if c.claims[r.Account] == nil {
				c.claims[r.Account] = map[[16]byte][]*told{}
			}
			c.claims[r.Account][r.Claim.Scope] = append(c.claims[r.Account][r.Claim.Scope], p)
		}
	}
	if r.Kind == ledger.PayoutApproved {
		p.out = r.Time
	}
	p.tx = *r.Tx
}

// judge: one request, one payment.
func (c *chronicle) judge(l *life) {
	for print, all := range c.prints {
		for _, first := range all {
			for _, second := range all {
				if first != second && first.keepsOut(second, c.windows[print.Account]) {
					l.fail("%v and %v are one request of %v, and both settled", first.tx.ID, second.tx.ID, print)
				}
			}
		}
	}
	for id, scopes := range c.claims {
		for scope, all := range scopes {
			c.once(l, id, scope, all)
		}
	}
}

// once: under one key one request is carried out in a day, unless it was refused.
func (c *chronicle) once(l *life, id ledger.AccountID, scope [16]byte, all []*told) {
	var before *told
	for _, p := range all {
		if p.tx.Status == ledger.StatusRefused {
			continue
		}
		if before != nil && p.at < before.at+day {
			l.fail("%v: key %q was carried out by %v and %v", id, scope, before.tx.ID, p.tx.ID)
		}
		before = p
	}
}

// keepsOut tells that the second payment must not have been one: when it went out,
// the first was on its way, or had settled within the account's window.
func (p *told) keepsOut(second *told, window ledger.Millis) bool {
	if p.tx.Status != ledger.StatusSettled || second.tx.Status != ledger.StatusSettled || p.tx.EndToEnd == second.tx.EndToEnd {
		return false
	}
	if second.out < p.out || second.out == p.out && second.tx.ID.String() < p.tx.ID.String() {
		return false
	}
	if p.tx.LateAt != 0 && second.out < p.tx.LateAt {
		return second.out < ledger.ExpiryOf(p.tx.EndToEnd)
	}
	return second.out < max(p.tx.BookedAt, p.tx.LateAt)+window
}
