package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// life is a random sequence of commands to one account, with the ids that later commands name.
type life struct {
	*harness
	rng      *rand.Rand
	payments []*Transaction // received payments
	sent     []*Transaction // payouts and refunds, as they were held
	cases    []pix.CaseID
	reports  []OpenCase
	log      []string
	late     bool // a late settlement has happened, so that the balance may be too low
	restores bool // the journal is sometimes restored, without a loss of records, and its gap accepted
	spends   bool // payouts take all that is available, so that cases find too little money
	limited  bool // the newest decision made as many refunds as one decision makes
}

func (l *life) amount() pix.Amount { return pix.Amount(100 * (1 + l.rng.IntN(10))) }

func one[T any](l *life, all []T) (t T, ok bool) {
	if len(all) == 0 {
		return t, false
	}
	return all[l.rng.IntN(len(all))], true
}

// command draws the next command; nil: only the clock, the settings or the process change.
func (l *life) command() Command {
	switch n := l.rng.IntN(100); {
	case n < 10:
		e2e := endToEnd(fmt.Sprint("p", l.rng.IntN(40)))
		return ReceivePayment{EndToEnd: e2e, Amount: l.amount(), Key: "k", PayerName: "Ana"}
	case n < 14:
		return Credit{Kind: pix.TxTED, Amount: l.amount()}
	case n < 20:
		amount := l.amount()
		if l.spends {
			amount = max(1, l.account.Totals.Available())
		}
		return RequestPayout{Amount: amount, Key: pix.Key{Type: pix.KeyEmail, Value: fmt.Sprintf("a%d@pix.test", l.rng.IntN(5))}}
	case n < 34:
		return l.refund()
	case n < 54:
		return l.outcome()
	case n < 62:
		return l.report()
	case n < 66:
		if r, ok := one(l, l.reports); ok {
			return CancelCase{Infraction: r.Infraction, EndToEnd: r.EndToEnd}
		}
	case n < 69:
		if id, ok := one(l, l.cases); ok {
			return DefendCase{ID: id, Justification: "j", Result: pix.Disagreed}
		}
	case n < 77:
		if id, ok := one(l, l.cases); ok {
			return CloseCase{ID: id, Result: [...]pix.CaseResult{pix.Agreed, pix.Agreed, pix.Disagreed}[l.rng.IntN(3)]}
		}
	case n < 80:
		if id, ok := one(l, l.cases); ok {
			if l.rng.IntN(2) == 0 {
				return l.resume(id)
			}
			return RetryCase{ID: id, Operator: "ana"}
		}
	case n < 84:
		if id, ok := one(l, l.cases); ok {
			return Attend{Kind: layout.DueCase, ID: layout.EntityID(id)}
		}
	case n < 90:
		if t, ok := one(l, l.sent); ok {
			return Attend{Kind: layout.DueTransfer, ID: layout.EntityID(t.ID), Seq: t.at}
		}
	case n < 92:
		if t, ok := one(l, l.sent); ok && t.Kind == pix.TxPayout {
			return ReceiveReturn{ID: t.ID, EndToEnd: t.EndToEnd, ReturnID: "D" + endToEnd(fmt.Sprint(l.rng.IntN(20)))[1:], Amount: l.amount(), Reason: "MD06"}
		}
	}
	l.outside()
	return nil
}

// outside changes what is not in the account: the time, whether it is doubted, a setting, or
// the process.
func (l *life) outside() {
	switch l.rng.IntN(9) {
	case 8:
		if l.restores {
			l.terms.Epoch, l.terms.GapEnd = l.terms.Epoch+1, l.now
		}
	case 0:
		l.doubted = !l.doubted
	case 1:
		l.behind = pix.Millis(l.rng.IntN(2)) * 60_000
	case 2:
		l.terms.MEDWaits = !l.terms.MEDWaits
	case 3:
		l.restart()
	default:
		l.now += [...]pix.Millis{1, 5000, 31 * 60_000, 30 * 3_600_000, 3 * day, 40 * day}[l.rng.IntN(6)]
	}
}

// resume lets a case go on, and sometimes the scheme has a return that the journal lacks: of a
// merchant's refund, or of the next refund for the case.
func (l *life) resume(id pix.CaseID) Command {
	c := ResumeCase{ID: id, Operator: "ana"}
	f, err := Gather(l, l.account, c, l.stamp())
	if err != nil {
		l.t.Fatal(err)
	}
	sums, k := &f.cases.Sums, f.cases.Case
	if left := sums.Amount - sums.Settled - sums.InFlight; left > 0 && k.AwaitsOperator(&l.terms) && l.rng.IntN(2) == 0 {
		d := draft{account: l.account, stamp: l.stamp()}
		r := Returned{ID: pix.NewTxID(l.now, [10]byte{byte(l.rng.IntN(256)), byte(l.rng.IntN(256)), byte(l.rng.IntN(256))}), Amount: min(left, l.amount()), Reason: "MD06", Open: l.rng.IntN(6) == 0}
		suffix := fmt.Sprintf("%011d", l.rng.IntN(1e9))
		if l.rng.IntN(2) == 0 {
			r.Reason, suffix = fraudCode, d.partSuffix(k, k.Parts+1)
		}
		r.ReturnID = pix.ReturnID(l.terms.OwnISPB, l.now, suffix)
		c.Returned = []Returned{r}
	}
	return c
}

func (l *life) refund() Command {
	p, ok := one(l, l.payments)
	if !ok {
		return nil
	}
	c := RequestRefund{Original: [...]string{p.ID.String(), p.Public(), p.EndToEnd}[l.rng.IntN(3)], Reason: "MD06"}
	if l.rng.IntN(3) > 0 {
		c.Amount = l.amount()
	}
	return c
}

func (l *life) report() Command {
	p, ok := one(l, l.payments)
	if !ok {
		return nil
	}
	return OpenCase{Infraction: fmt.Sprint("inf-", l.rng.IntN(60)), EndToEnd: p.EndToEnd, Amount: l.amount(), Situation: "SCAM"}
}

func (l *life) outcome() Command {
	t, ok := one(l, l.sent)
	if !ok {
		return nil
	}
	if l.rng.IntN(2) == 0 { // mostly of a recent transfer, which is in flight
		t = l.sent[len(l.sent)-1-l.rng.IntN(min(4, len(l.sent)))]
	}
	c := ResolveTransfer{ID: t.ID, EndToEnd: t.EndToEnd, Notice: l.rng.IntN(2) == 0}
	switch l.rng.IntN(10) {
	case 0, 1:
		c.Result, c.Doubt = TransferIsAccepted, l.rng.IntN(2) == 0
	case 2, 3, 4:
		c.Result = TransferIsSettled
	case 5:
		c.Result, c.Reason = TransferIsRejected, [...]string{"CH16", "CH16", "CH16", ReasonDuplicate}[l.rng.IntN(4)]
	case 6, 7:
		c.Result, c.Refusal, c.Notice = TransferIsRefused, RefuseProvider, false
		if l.rng.IntN(2) == 0 {
			c.Refusal = RefuseRateLimited
		}
	case 8:
		c.Result = [...]TransferResult{TransferIsOpen, TransferIsNotHeard}[l.rng.IntN(2)]
	case 9:
		if c.Result = TransferIsOpen; t.Kind == pix.TxPayout {
			c.Result = TransferIsVoided
		} else if c.Notice = false; l.rng.IntN(2) == 0 {
			c.Refusal = RefuseProviderOther
		} else {
			c.Doubt = true
		}
	}
	return c
}

// step carries out the next command, and notes what later commands may name.
func (l *life) step() {
	c := l.command()
	if c == nil {
		l.log = append(l.log, fmt.Sprintf("%v doubted %v", l.now, l.doubted))
		return
	}
	before, records := l.account.Totals, len(l.records)
	if l.durable = nil; l.rng.IntN(4) == 0 {
		durable := before
		durable.Balance -= l.amount()
		durable.MEDHeld += l.amount() * pix.Amount(l.rng.IntN(2))
		l.durable = &durable
	}
	d, err := l.try(c, false)
	l.log = append(l.log, fmt.Sprintf("%T%+v: %d records, refused %v (%v)", c, c, len(d.Records), d.Refusal, err))
	if err != nil && !errors.Is(err, ErrUnknownTransfer) {
		l.t.Fatal(err)
	}
	refunds := 0
	for i := range l.records[records:] {
		r := &l.records[records+i]
		switch r.Kind {
		case PaymentReceived:
			l.payments = append(l.payments, r.Tx)
		case PayoutHeld, RefundHeld:
			l.sent = append(l.sent, r.Tx)
		case CaseOpened:
			l.cases = append(l.cases, r.Case.ID)
			l.reports = append(l.reports, c.(OpenCase))
		case CaseRefunding:
			if _, merchants := c.(RequestRefund); !merchants {
				refunds++
			}
		case PayoutSettledLate, RefundSettledLate, RefundFound:
			l.late = true
		}
	}
	if l.limited = refunds == maxRefunds; refunds > maxRefunds {
		l.t.Errorf("%d refunds in one decision", refunds)
	}
	if _, is := c.(RequestRefund); is && len(d.Records) > 0 {
		l.checkSpends(d.Records[len(d.Records)-1].Tx, before)
	}
	if k := d.Case; k != nil && k.Covered != l.coverage()[k.Ordinal] {
		l.t.Errorf("%v: covered %d, want %d", k.ID, k.Covered, l.coverage()[k.Ordinal])
	}
}

// checkSpends checks that a merchant's refund spends only money that was available, or that
// cases held whose refunds had failed for good, and which older cases left them.
func (l *life) checkSpends(t *Transaction, before Totals) {
	free, money, counted, short := before.free(), before.Balance-before.Held, pix.Amount(0), false
	if l.durable != nil {
		free, money = min(free, l.durable.free()), min(money, l.durable.Balance-l.durable.Held-max(0, l.durable.MEDHeld-before.MEDHeld))
	}
	_, cases := l.newest()
	for _, share := range t.Refund.Counts {
		counted += share.Amount
		needs := counted
		for _, k := range cases {
			if k.ID == share.Case {
				for _, older := range cases {
					if older.Ordinal < k.Ordinal {
						needs += older.Held
					}
				}
			}
		}
		short = short || needs > money
	}
	if t.Amount > counted && t.Amount > free+counted || counted > t.Amount || short {
		l.t.Errorf("a refund of %+v from %+v, durable %+v", t, before, l.durable)
	}
}

// between lists the kinds from first to last.
func between(first, last RecordKind) (all []RecordKind) {
	for k := first; k <= last; k++ {
		all = append(all, k)
	}
	return all
}

// TestRandomLives drives accounts through random commands about payments, payouts, refunds and
// cases, and checks after each command that all sums and rows are those of the single
// transactions and cases.
func TestRandomLives(t *testing.T) {
	lives, steps := 250, 220
	if testing.Short() {
		lives = 20
	}
	did := map[RecordKind]int{}
	for seed := range lives {
		l := &life{harness: newHarness(t), rng: rand.New(rand.NewPCG(uint64(seed), 7)), spends: seed%2 == 0, restores: seed%3 == 0}
		l.open(DefaultSettings(), 0)
		for range steps {
			if l.step(); !t.Failed() {
				l.check()
			}
			if t.Failed() {
				t.Fatalf("seed %d, after:\n%s", seed, strings.Join(l.log[max(0, len(l.log)-12):], "\n"))
			}
		}
		if got, want := l.dump(), l.rebuilt(); got != want {
			t.Fatalf("seed %d: rows written:\n%s\nrows rebuilt from the records:\n%s", seed, got, want)
		}
		for i := range l.records {
			did[l.records[i].Kind]++
		}
	}
	for _, k := range slices.Concat(between(RefundHeld, CaseReduced), between(CaseRaised, CaseCounted)) {
		if did[k] == 0 && !testing.Short() { // the few lives of a short run may lack the rarest kinds
			t.Errorf("no life made a record %v", k)
		}
	}
}
