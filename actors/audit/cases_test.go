package audit

import (
	"slices"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// newest is the newest refund that was held.
func (l *life) newest() *ledger.Transaction {
	for i := len(l.records) - 1; i >= 0; i-- {
		if l.records[i].Kind == ledger.RefundHeld {
			return l.records[i].Tx
		}
	}
	l.t.Fatal("no refund")
	return nil
}

func (l *life) ends(c ledger.ResolveTransfer) {
	t := l.newest()
	c.ID, c.EndToEnd = t.ID, t.EndToEnd
	l.do(c)
}

const (
	paidA = "E60701190202603011200aaaaaaaaaaa"
	paidB = "E60701190202603011200bbbbbbbbbbb"
)

// returning is an account with refunds that are held, accepted, settled, failed and settled
// late, and with cases that are open, defended, withdrawn, and closed with a remainder.
func returning(t *testing.T) *life {
	l := begin(t, 7)
	l.do(ledger.ReceivePayment{EndToEnd: paidA, Amount: 10_003})
	l.do(ledger.ReceivePayment{EndToEnd: paidB, Amount: 10_003})
	l.do(ledger.RequestRefund{Original: paidA, Amount: 100})
	l.ends(ledger.ResolveTransfer{Result: ledger.TransferIsSettled})
	l.do(ledger.RequestRefund{Original: paidA, Amount: 200})
	l.ends(ledger.ResolveTransfer{Result: ledger.TransferIsRejected, Reason: "CH16"})
	l.do(ledger.RequestRefund{Original: paidA, Amount: 300})
	l.ends(ledger.ResolveTransfer{Result: ledger.TransferIsAccepted, Doubt: true})
	l.ends(ledger.ResolveTransfer{Result: ledger.TransferIsRefused, Refusal: ledger.RefuseProvider})
	l.ends(ledger.ResolveTransfer{Result: ledger.TransferIsSettled})
	l.do(ledger.RequestRefund{Original: paidA, Amount: 400})
	l.ends(ledger.ResolveTransfer{Result: ledger.TransferIsAccepted})
	l.do(ledger.OpenCase{Infraction: "open", EndToEnd: paidA, Amount: 1_000, Situation: "SCAM"})
	l.do(ledger.OpenCase{Infraction: "withdrawn", EndToEnd: paidA, Amount: 1_000, Situation: "SCAM"})
	l.do(ledger.CancelCase{Infraction: "withdrawn", EndToEnd: paidA})
	key, _ := pix.ParseKey(pix.KeyEmail, "a@b.com")
	l.do(ledger.RequestPayout{Amount: 18_000, Key: key})
	l.do(ledger.OpenCase{Infraction: "agreed", EndToEnd: paidB, Amount: 5_000, Situation: "SCAM"})
	l.do(ledger.CloseCase{ID: l.caseID(), Result: pix.Agreed})
	return l
}

func (l *life) caseID() pix.CaseID { return l.records[len(l.records)-1].Case.ID }

// caseThat is the first case with a record of a kind.
func (l *life) caseThat(kind ledger.RecordKind) pix.CaseID { return l.find(kind).Case.ID }

// TestReturning checks that the audit finds no difference in the account that returning makes,
// and derives its sums.
func TestReturning(t *testing.T) {
	l := returning(t)
	a := l.audit()
	if len(a.Found()) > 0 {
		t.Fatalf("%+v", a.Found())
	}
	if a.Sums.ReturnedBy != 400 || a.Sums.Received != 20_006 {
		t.Errorf("%+v", a.Sums)
	}
	// In flight are the payout, the accepted refund and the refund for the agreed case.
	if a.InFlight() != 3 || a.Cases() != 2 || a.Totals != l.account.Totals || a.Totals.MEDHeld == 0 || a.Totals.Owed == 0 {
		t.Errorf("%d in flight, %d cases, %+v", a.InFlight(), a.Cases(), a.Totals)
	}
}

// TestPlantedReturns checks that the audit finds each error that the test plants in the
// records and rows of refunds and cases, first and under the right kind, and one alone where it is about due rows.
func TestPlantedReturns(t *testing.T) {
	number := func(l *life, tag byte, at int, by byte) {
		k := l.row(tag)
		v := append([]byte(nil), l.rows[k]...)
		v[at] += by
		l.rows[k] = v
	}
	for name, c := range map[string]struct {
		plant func(l *life)
		kind  string
		says  string
	}{
		"med held": {func(l *life) { l.records[len(l.records)-1].Totals.MEDHeld++ }, KindTotals, "held by cases"},
		"owed":     {func(l *life) { l.records[len(l.records)-1].Totals.Owed++ }, KindTotals, "owed"},
		"no case's due row": {func(l *life) {
			for k := range l.rows {
				if k[0] == 'd' && k[1] == byte(layout.DueCase) {
					delete(l.rows, k)
					return
				}
			}
		}, KindDue, "has none"},
		"a stray case's due row": {func(l *life) {
			l.rows[string(layout.DueKey(layout.DueCase, noon, 7, layout.EntityID{1}))] = make([]byte, 8)
		}, KindDue, "nothing is due"},
		"a case's due row at another time": {func(l *life) {
			l.rows[string(layout.DueKey(layout.DueCase, noon, 7, layout.EntityID(l.caseThat(ledger.CaseOpened))))] = make([]byte, 8)
		}, KindDue, "nothing is due"},
		"an unknown case's due row when a case is due": {func(l *life) {
			for k := range l.rows {
				if d, err := layout.DecodeDue([]byte(k), l.rows[k]); err == nil && d.Kind == layout.DueCase && d.Account == 7 {
					l.rows[string(layout.DueKey(layout.DueCase, d.At, 7, layout.EntityID{1}))] = make([]byte, 8)
					return
				}
			}
			l.t.Error("no case is due")
		}, KindDue, "nothing is due"},
		"another account's case": {func(l *life) {
			l.rows[string(layout.DueKey(layout.DueCase, noon, 8, layout.EntityID{1}))] = make([]byte, 8)
			l.rows[string(layout.DueKey(layout.DueCase, noon, 7, layout.EntityID{2}))] = make([]byte, 8)
		}, KindDue, "nothing is due"},
		"no holding row":  {func(l *life) { delete(l.rows, l.row('u')) }, KindCase, "has none"},
		"another hold":    {func(l *life) { number(l, 'u', 7, 1) }, KindCase, "by its row"},
		"a stray hold":    {func(l *life) { l.rows[string(layout.HoldingKey(7, 99))] = l.rows[l.row('u')] }, KindCase, "by its row"},
		"owed by its row": {func(l *life) { l.rows[string(layout.HoldingKey(7, 1))][8] = 1 }, KindCase, "by its row"}, // case 1 is open
		"sums in flight":  {func(l *life) { number(l, 'b', 23, 1) }, KindRefunds, "in flight"},
		"sums held":       {func(l *life) { number(l, 'b', 31, 1) }, KindRefunds, "held"},
		"sums settled":    {func(l *life) { number(l, 'b', 15, 1) }, KindRefunds, "by the records"},
		"sums of another": {func(l *life) { number(l, 'b', 7, 1) }, KindRefunds, "do not follow"},
		"more than was paid": {func(l *life) {
			k := l.row('b')
			v := append([]byte(nil), l.rows[k]...)
			clear(v[:8]) // the payment's amount
			l.rows[k] = v
		}, KindRefunds, "in flight and"},
		"sums that jump": {func(l *life) {
			for i := range l.records { // the first sums of the first payment
				if s := l.records[i].Sums; s != nil {
					s.Settled++
					return
				}
			}
		}, KindRefunds, "do not follow"},
	} {
		l := returning(t)
		c.plant(l)
		found := l.audit().Found()
		if len(found) == 0 || found[0].Kind != c.kind || !strings.Contains(found[0].Message, c.says) {
			t.Errorf("%s: %+v", name, found)
		}
		if due := slices.DeleteFunc(found, func(d Difference) bool { return d.Kind != KindDue }); c.kind == KindDue && len(due) != 1 {
			t.Errorf("%s: %+v", name, due)
		}
	}
	l := returning(t)
	delete(l.rows, l.row('b'))
	if found := l.audit().Found(); len(found) == 0 || found[0].Kind != KindRefunds {
		t.Errorf("without refund sums: %+v", found)
	}
}

// TestRefundsBeyondThePayment checks that refunds settled, in flight and held that are together more than what was paid
// are a difference, but for the excess that late settlements have made.
func TestRefundsBeyondThePayment(t *testing.T) {
	for _, c := range []struct {
		missing, excess pix.Amount
		want            bool
	}{{0, 0, false}, {1, 0, true}, {1, 1, false}, {2, 1, true}} {
		l := returning(t)
		k := string(layout.RefundSumsKey(7, l.find(ledger.RefundHeld).Tx.Refund.Original))
		s, err := layout.DecodeRefundSums(l.find(ledger.RefundHeld).Tx.Refund.Original, l.rows[k])
		if err != nil || s.Settled == 0 || s.InFlight == 0 || s.Held == 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		s.Amount, s.Excess = s.Settled+s.InFlight+s.Held-c.missing, c.excess
		l.rows[k] = s.Encode()
		found := l.audit().Found()
		if got := slices.ContainsFunc(found, func(d Difference) bool { return strings.Contains(d.Message, "in flight and") }); got != c.want {
			t.Errorf("%+v: %+v", c, found)
		}
	}
}

// TestFingerprint checks that every sum, and the payment, is part of the fingerprint of refund
// sums, which is 0 only where nothing was refunded and nothing is held.
func TestFingerprint(t *testing.T) {
	of := func(change func(*layout.RefundSums)) uint64 {
		s := layout.RefundSums{Original: pix.TxID{1}, Amount: 100, Settled: 10, InFlight: 20, Held: 30}
		change(&s)
		return fingerprint(&s)
	}
	same := of(func(*layout.RefundSums) {})
	for name, change := range map[string]func(*layout.RefundSums){
		"payment":   func(s *layout.RefundSums) { s.Original[15]++ },
		"amount":    func(s *layout.RefundSums) { s.Amount++ },
		"settled":   func(s *layout.RefundSums) { s.Settled++ },
		"in flight": func(s *layout.RefundSums) { s.InFlight++ },
		"held":      func(s *layout.RefundSums) { s.Held++ },
		"one alone": func(s *layout.RefundSums) { s.Settled, s.Held = 0, 0 },
		"another":   func(s *layout.RefundSums) { s.Settled, s.InFlight = 0, 0 },
		"a third":   func(s *layout.RefundSums) { s.InFlight, s.Held = 0, 0 },
	} {
		if got := of(change); got == same || got == 0 {
			t.Errorf("%s is not part of it", name)
		}
	}
	if got := of(func(s *layout.RefundSums) { s.Settled, s.InFlight, s.Held = 0, 0, 0 }); got != 0 {
		t.Error("sums of nothing count")
	}
}
