package simulation

import (
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
)

// The functions of this file are what merchants, payers and analysts do about refunds and
// special-return cases, and how refunds reach the scheme.

// report is a payer's report of a payment, as the scheme has it.
type report struct {
	account   pix.AccountID
	endToEnd  string
	amount    pix.Amount
	withdrawn bool
}

// refunds does one random thing about refunds and cases.
func (l *life) refunds() {
	switch n := l.rng.IntN(14); {
	case n == 13:
		l.retryCase()
	case n == 12:
		l.resumeCase()
	case n < 6:
		l.refund()
	case n < 7:
		l.exactRefund()
	case n < 8:
		l.complain()
	case n < 9:
		l.withdraw()
	case n < 10:
		l.defend()
	default:
		l.analyse()
	}
}

// somePayment returns a customer's payment; false where there was none.
func (l *life) somePayment() (endToEnd string, p arrived, ok bool) {
	if len(l.outside.received) == 0 {
		return "", p, false
	}
	endToEnd = l.outside.received[l.rng.IntN(len(l.outside.received))]
	return endToEnd, l.outside.paid[endToEnd], true
}

// refund asks for a refund of a customer's payment, sometimes of another account's.
func (l *life) refund() {
	endToEnd, paid, ok := l.somePayment()
	if !ok {
		return
	}
	id := paid.account
	if l.odds(20) {
		id = l.someone()
	}
	c := ledger.RequestRefund{
		Original: l.nameOf(endToEnd, id), Reason: ledger.DefaultReturnCode, Description: ledger.DefaultRefundDescription,
		Amount: pix.Amount([...]int{0, 1_000, 2_000, 3_000}[l.rng.IntN(4)]),
	}
	if l.odds(6) {
		c.Reason = "ZZ99" // the scheme knows no such code
	}
	l.askRefund(id, c)
}

func (l *life) askRefund(id pix.AccountID, c ledger.RequestRefund) {
	key := ""
	if l.odds(2) {
		l.numbers++
		key = fmt.Sprintf("r%d", l.numbers)
	}
	l.ask(&request{account: id, key: key, make: func() ledger.Command {
		c := c
		c.Claim = l.claim(key)
		return c
	}})
}

// nameOf returns one of the names of a payment that an account received: its end-to-end id,
// its id, or its transaction_id.
func (l *life) nameOf(endToEnd string, id pix.AccountID) string {
	t := l.receivedAs(endToEnd, id)
	if t == nil {
		return endToEnd
	}
	return [...]string{endToEnd, t.ID.String(), t.Public()}[l.rng.IntN(3)]
}

// receivedAs returns the transaction of a payment that an account received; nil where the
// account has not received it yet.
func (l *life) receivedAs(endToEnd string, id pix.AccountID) *ledger.Transaction {
	b, ok, err := l.journal.Get(layout.ReceivedKey(endToEnd, id))
	if err != nil || !ok {
		return nil
	}
	row, err := layout.DecodeReceivedRow(endToEnd, b)
	if err != nil {
		return nil
	}
	r, err := rows{l.journal}.Record(id, row.Seq)
	if err != nil {
		return nil
	}
	return r.Tx
}

// exactRefund asks, while nothing of the account is on its way to the disk, for exactly what
// is left of a payment, or for one base unit more.
func (l *life) exactRefund() {
	endToEnd, paid, ok := l.somePayment()
	if !ok || l.flipped[paid.account] || l.clock < l.stalled || l.failing > 0 {
		return
	}
	l.settle()
	a, t := l.account(paid.account), l.receivedAs(endToEnd, paid.account)
	if t == nil || a.Broken() != nil || l.unsettled[paid.account] || l.journal.Err() != nil {
		return
	}
	sums := layout.RefundSums{Amount: t.Amount}
	if b, ok, err := l.journal.Get(layout.RefundSumsKey(paid.account, t.ID)); err == nil && ok {
		sums, _ = layout.DecodeRefundSums(t.ID, b)
	}
	counts, waits := l.stopped(paid.account, t.ID)
	if waits {
		return
	}
	left := sums.Amount - sums.Settled - sums.InFlight - sums.Held + counts
	more := pix.Amount(l.rng.IntN(2))
	totals := a.Head().Totals
	available := totals.Balance - totals.Held - totals.MEDHeld + counts
	if left+more <= 0 {
		return
	}
	want := ledger.RefuseNothing
	switch {
	case more > 0:
		want = ledger.RefuseOverRefund
	case left > available:
		want = ledger.RefuseSafeBalance
	}
	l.count(fmt.Sprintf("asked: what is left of a payment, and %d", more))
	l.ask(&request{account: paid.account, refund: &want, make: func() ledger.Command {
		return ledger.RequestRefund{Original: endToEnd, Amount: left + more, Reason: "MD06"}
	}})
}

// stopped is what cases hold of a payment whose refunds have failed for good: the merchant may
// refund it. waits: for one of them it may have to wait, because a failed refund may still settle or
// an operator has to let the case go on.
func (l *life) stopped(a pix.AccountID, original pix.TxID) (held pix.Amount, waits bool) {
	lo, hi := layout.CasesOf(a)
	_ = l.journal.Scan(lo, hi, func(_, v []byte) (bool, error) {
		at, err := layout.DecodeCaseRow(v)
		if err != nil {
			return false, err
		}
		r, err := rows{l.journal}.Record(a, at.Seq)
		if err == nil && r.Case.Original == original && r.Case.Stopped {
			held += r.Case.Held
			waits = waits || r.Case.Unsure != 0 || r.Case.AwaitsOperator(&l.terms)
		}
		return true, err
	})
	return held, waits
}

// refundHeard checks the answer to a refund request.
func (l *life) refundHeard(r *request, c *ledger.RequestRefund, a *ledger.Answer) {
	if r.refund != nil {
		got := ledger.RefuseNothing
		if a.Refusal != nil {
			got = a.Refusal.Code
		}
		if got != *r.refund {
			l.fail("%v asks for a refund of %d and hears %q, and is to be answered %q", r.account, c.Amount, got, *r.refund)
		}
	}
	if t := a.Tx; t != nil && a.Refusal == nil && !a.Replay && !r.other &&
		(t.Kind != pix.TxRefund || c.Amount != 0 && t.Amount != c.Amount || t.Refund.Code != c.Reason || t.Refund.Case != nil) {
		l.fail("%v asks for %+v, and hears of %+v", r.account, *c, *t)
	}
}

// complain has a payer report a payment.
func (l *life) complain() {
	endToEnd, paid, ok := l.somePayment()
	if !ok || !l.odds(2) {
		return
	}
	amount := [...]pix.Amount{paid.amount, 1_000, 4_000}[l.rng.IntN(3)]
	l.complains(endToEnd, min(amount, paid.amount))
}

// complains has the payer report an amount of a payment.
func (l *life) complains(endToEnd string, amount pix.Amount) {
	paid := l.outside.paid[endToEnd]
	id, err := l.outside.sim.Report(ctx, sim.Report{EndToEnd: endToEnd, Amount: amount, Situation: "SCAM"})
	if err != nil {
		l.fail("report of %s: %v", endToEnd, err)
		return
	}
	l.outside.reports[id] = report{paid.account, endToEnd, amount, false}
	l.outside.reported = append(l.outside.reported, id)
	l.say("a payer reports %s, %d of %d, as %s", endToEnd, amount, paid.amount, id)
}

// withdraw has a payer withdraw a report.
func (l *life) withdraw() {
	o := l.outside
	if len(o.reported) == 0 {
		return
	}
	l.withdrawThis(o.reported[l.rng.IntN(len(o.reported))])
}

// withdrawThis has a payer withdraw a report.
func (l *life) withdrawThis(id string) {
	o := l.outside
	if err := o.sim.Withdraw(ctx, id); err != nil {
		l.fail("withdraw %s: %v", id, err)
	}
	r := o.reports[id]
	r.withdrawn = true
	o.reports[id] = r
	l.say("%s is withdrawn", id)
}

// someCase returns a case that is in the journal; false where there is none.
func (l *life) someCase() (id pix.CaseID, a pix.AccountID, ok bool) {
	var ids []pix.CaseID
	var accounts []pix.AccountID
	lo, hi := layout.AllCases()
	_ = l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		row, err := layout.DecodeCaseIDRow(v)
		if err == nil && !l.flipped[row.Account] {
			ids, accounts = append(ids, pix.CaseID(k[1:])), append(accounts, row.Account)
		}
		return true, nil
	})
	if len(ids) == 0 {
		return id, 0, false
	}
	i := l.rng.IntN(len(ids))
	if l.odds(2) {
		i = len(ids) - 1 // the newest is most often still open
	}
	return ids[i], accounts[i], true
}

func (l *life) defend() {
	id, a, ok := l.someCase()
	if !ok {
		return
	}
	key := ""
	if l.odds(2) {
		l.numbers++
		key = fmt.Sprintf("d%d", l.numbers)
	}
	l.ask(&request{account: a, key: key, inTime: l.mayDefend(id, a), make: func() ledger.Command {
		return ledger.DefendCase{ID: id, Justification: "delivered", Result: pix.Disagreed, Claim: l.claim(key)}
	}})
}

// mayDefend lets the journal finish its work and reports whether a case can certainly be
// defended now: it is open, and engine time is doubted or before the deadline.
func (l *life) mayDefend(id pix.CaseID, a pix.AccountID) bool {
	if l.clock < l.stalled || l.failing > 0 || l.unsettled[a] || l.account(a).Broken() != nil {
		return false
	}
	l.settle()
	r, err := l.caseNow(id)
	if err != nil || l.journal.Err() != nil || r.Case.Status != pix.CaseOpen {
		return false
	}
	now := l.time.Read()
	if now.Doubted && now.Clock >= r.Case.DeadlineAt {
		l.count("asked: a defence past its time by a doubted clock")
	}
	return now.Doubted || now.Clock < r.Case.DeadlineAt
}

// analyst is what the analyst writes when a case is closed; a case that the engine closes has
// no words of an analyst.
const analyst = "the analyst has read it"

func (l *life) analyse() {
	id, a, ok := l.someCase()
	if !ok {
		return
	}
	result := pix.Agreed
	if l.odds(3) {
		result = pix.Disagreed
	}
	l.ask(&request{account: a, make: func() ledger.Command { return ledger.CloseCase{ID: id, Result: result, Details: analyst} }})
}

// retryCase has an operator let the engine try the refunds of a case again: most often one of which
// a refund has failed, where that still may settle as well.
func (l *life) retryCase() {
	for range 8 {
		id, a, ok := l.someCase()
		if !ok {
			return
		}
		if r, err := l.caseNow(id); err == nil && !(r.Case.Stopped && r.Case.Held > 0) && !l.odds(8) {
			continue
		}
		l.ask(&request{account: a, make: func() ledger.Command { return ledger.RetryCase{ID: id, Operator: "ana"} }})
		return
	}
}

// resumeCase has an operator let the engine go on with a case.
func (l *life) resumeCase() {
	if id, a, ok := l.someCase(); ok {
		l.resume(id, a)
	}
}

// resume lets the engine go on with a case, as the operator API does: it asks the scheme first.
func (l *life) resume(id pix.CaseID, a pix.AccountID) {
	r, err := l.caseNow(id)
	if err != nil || l.clock < l.outside.down {
		return
	}
	all := l.returnsOf(a, r.Case.EndToEnd)
	l.ask(&request{account: a, make: func() ledger.Command { return ledger.ResumeCase{ID: id, Operator: "ana", Returned: all} }})
}

// resumeAll lets the engine go on with every case that waits since the restore.
func (l *life) resumeAll() {
	var names []pix.CaseID
	var accounts []pix.AccountID
	lo, hi := layout.AllCases()
	_ = l.journal.Scan(lo, hi, func(k, v []byte) (bool, error) {
		row, err := layout.DecodeCaseIDRow(v)
		if r, missing := l.caseNow(pix.CaseID(k[1:])); err == nil && missing == nil && r.Case.AwaitsOperator(&l.terms) && !l.flipped[row.Account] {
			names, accounts = append(names, r.Case.ID), append(accounts, row.Account)
		}
		return true, nil
	})
	for i, id := range names {
		l.resume(id, accounts[i])
		l.settle()
		l.count("restored: cases let go on at the end")
	}
}

// returnsOf returns what the scheme has of the returns of a payment.
func (l *life) returnsOf(a pix.AccountID, endToEnd string) []ledger.Returned {
	all, err := l.outside.sim.Returns(ctx, a, endToEnd)
	if err != nil {
		l.fail("returns of %s: %v", endToEnd, err)
	}
	return all
}

// caseHeard checks the answer to a defence or an analysis.
func (l *life) caseHeard(r *request, c ledger.Command, a *ledger.Answer) {
	if a.Refusal != nil && r.inTime {
		l.fail("%v defends in time, and hears %v", r.account, a.Refusal.Code)
	}
	if a.Refusal != nil || a.Case == nil {
		return
	}
	l.cases = append(l.cases, caseAnswer{r.account, *a.Case})
	switch c := c.(type) {
	case ledger.DefendCase:
		if a.Case.ID != c.ID || a.Case.Defense == nil || a.Case.Defense.Justification != c.Justification {
			l.fail("%v defends %v and hears of %+v", r.account, c.ID, *a.Case)
		}
	case ledger.CloseCase:
		if a.Case.ID != c.ID || a.Case.Result != c.Result || a.Case.Status != pix.CaseClosed {
			l.fail("%v is closed with %v, and its answer is %+v", c.ID, c.Result, *a.Case)
		}
	}
	if k := a.Case; k.Covered < 0 || k.Covered > k.Held || k.Held < 0 || k.Refunded > k.Amount {
		l.fail("%v was shown %+v", r.account, *k)
	}
}

// caseAnswer is a case that an answer has shown.
type caseAnswer struct {
	account pix.AccountID
	shown   ledger.Case
}

// refusesForNow refuses a refund for now. Of some of them a further submission is lost, and the
// next one after that refused for good, while the lost one may still arrive.
func (o *outside) refusesForNow(p scheme.Refund) error {
	if o.tries == nil {
		o.tries = map[pix.TxID]int{}
	}
	o.tries[p.Tx]++
	switch n := o.tries[p.Tx]; {
	case p.Tx[13]%2 != 0 || n == 1:
		o.l.count("fault: refund refused for now")
		return &scheme.Refused{Code: forNow[int(p.Tx[14])%len(forNow)]}
	case n == 2:
		o.lateRefunds = append(o.lateRefunds, p)
		return errLost
	}
	o.l.count("fault: refund refused after a lost submission")
	return &scheme.Refused{Code: ledger.RefuseProvider}
}

// forNow are the refusals that say nothing about the refund itself.
var forNow = []ledger.RefusalCode{ledger.RefuseRateLimited, ledger.RefuseBucket, ledger.RefuseLookupFailed, ledger.RefuseProviderOther}

func (o *outside) takeRefund(p scheme.Refund) (scheme.State, error) {
	state, err := o.sim.Return(ctx, p)
	if err == nil {
		o.sent[p.Tx] = p.EndToEnd
	}
	if err == nil && o.l.living && o.l.odds(12) { // the scheme tells that a further submission was a duplicate
		o.l.count("fault: notice that a refund is a duplicate of itself")
		o.held = append(o.held, delivery{scheme.Notice{Kind: scheme.RefundRejected, Tx: p.Tx, EndToEnd: p.EndToEnd, Reason: ledger.ReasonDuplicate}, func(error) {}})
	}
	return state, err
}

// refundArrives lets the i-th late refund reach the scheme.
func (o *outside) refundArrives(i int) {
	p := o.lateRefunds[i]
	o.lateRefunds = append(o.lateRefunds[:i], o.lateRefunds[i+1:]...)
	state, err := o.takeRefund(p)
	o.l.say("late refund %v arrives: %v %v", p.Tx, state, err)
}

// lates is the number of submissions that have not reached the scheme yet.
func (o *outside) lates() int { return len(o.late) + len(o.lateRefunds) }

// reportedTwice returns the callback for a notice of a report. When the notice is
// acknowledged, the callback tells the same report again, of another payment of the account.
func (o *outside) reportedTwice(n scheme.Notice, done func(error)) func(error) {
	return func(err error) {
		done(err)
		if err != nil || o.l.flipped[n.Account] {
			return
		}
		for _, endToEnd := range o.received {
			if p := o.paid[endToEnd]; p.account == n.Account && endToEnd != n.EndToEnd && o.l.odds(2) && o.l.receivedAs(endToEnd, p.account) != nil {
				wrong := n
				wrong.EndToEnd = endToEnd
				o.forge("fault: report of another payment", wrong)
				return
			}
		}
	}
}

// submitsRefund checks that a submission agrees with the refund in the journal.
func (l *life) submitsRefund(c *child, p scheme.Refund) {
	if l.flipped[c.account] {
		return
	}
	t := l.standing(p.Tx, p.EndToEnd)
	if t == nil || t.Amount != p.Amount || t.EndToEnd != p.EndToEnd || t.Refund.OriginalEndToEnd != p.Original || t.Refund.Code != p.Reason ||
		t.Description != p.Description || p.Account != c.account {
		l.fail("%+v is submitted, and the journal has %+v", p, t)
		return
	}
	if l.gap != nil && len(t.Shares()) > 0 {
		if _, before := l.gap.taken.status[t.ID]; before {
			l.fail("%+v is submitted, and another may have been made for its case in the gap", p)
		}
	}
}
