package simulation

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// chronicle collects what the records of all accounts say about each payout.
type chronicle struct {
	heads   map[pix.AccountID]*ledger.Account
	newest  map[pix.TxID]*ledger.Record // the newest record of each transaction
	payouts map[pix.TxID]*chronicled
	prints  map[pix.Fingerprint][]*chronicled
	claims  map[pix.AccountID]map[[16]byte][]*chronicled
	returns map[pix.TxID]pix.Amount // the sum of each payout's returns that were credited
	given   map[string]pix.TxID     // for each return's id, the payout whose account the return has credited
	begun   map[string]moment       // first use of each end-to-end id; a later payout under the same id is a repeat
	terms   map[pix.AccountID]ledger.Settings
	windows map[pix.AccountID][]window       // each account's repeat windows, oldest first
	charges map[string]*ledger.Record        // the newest record of each charge
	waiting map[pix.TxID]bool                // payouts that must wait for an operator's approval
	under   map[string][]*chronicled         // payouts by each end-to-end id that a payout has had, former ids included
	answers map[answerUnder][16]byte         // for each kept answer, the hash of the request body that the answer belongs to
	shown   map[recordName][]*ledger.Account // account heads that reads showed, by the record that made the head
	refunds *refundBook
	hooks   *hookBook
}

// window is a repeat window that was set at the simulated time at. For long milliseconds
// after a payout has settled, an equal payout counts as a repeat of that payout.
type window struct{ at, long pix.Millis }

// end returns the end of the repeat window of a payout that settled at the given time. If the
// setting is lengthened after the payout's window has ended, the window stays ended.
func (c *chronicle) end(id pix.AccountID, settled pix.Millis) (end pix.Millis) {
	for _, w := range c.windows[id] {
		if w.at > settled && w.at >= end {
			break
		}
		end = max(settled+w.long, w.at)
	}
	return end
}

// chronicled is what the records say about one payout.
type chronicled struct {
	tx      ledger.Transaction // the payout as in its newest record
	held    ledger.Transaction // the payout as in its first record, which holds the money
	out     pix.Millis         // simulated time at which the payout's end-to-end id was first used
	claimed bool               // the request had an idempotency key
	hold    pix.Millis         // simulated time of the record that holds the money
	sent    pix.Millis         // simulated time at which the scheme accepted it
	queued  written            // state of the simulation when the payout first entered the queue; zero if it never did
	settled pix.Millis         // simulated time of its settlement
	print   pix.Fingerprint
	account pix.AccountID
	had     map[string]bool // every end-to-end id that the payout has had
	ofHeld  bool            // the payout was rejected as a duplicate of a payout that was only held at that moment

	outBy, settledBy uint64 // sequences of the records that were made at the times out and settled
}

// moment is a simulated time, and the sequence of the account's record made at that time.
type moment struct {
	at pix.Millis
	by uint64
}

func newChronicle(reads []ledger.Account) *chronicle {
	c := &chronicle{
		map[pix.AccountID]*ledger.Account{},
		map[pix.TxID]*ledger.Record{},
		map[pix.TxID]*chronicled{},
		map[pix.Fingerprint][]*chronicled{},
		map[pix.AccountID]map[[16]byte][]*chronicled{},
		map[pix.TxID]pix.Amount{},
		map[string]pix.TxID{},
		map[string]moment{},
		map[pix.AccountID]ledger.Settings{},
		map[pix.AccountID][]window{},
		map[string]*ledger.Record{},
		map[pix.TxID]bool{},
		map[string][]*chronicled{},
		map[answerUnder][16]byte{},
		map[recordName][]*ledger.Account{},
		newRefundBook(),
		newHookBook(),
	}
	for i := range reads {
		at := recordName{wal.Stream(reads[i].ID), reads[i].Seq}
		c.shown[at] = append(c.shown[at], &reads[i])
	}
	return c
}

// take checks the account's next record and adds it to the chronicle.
func (c *chronicle) take(l *life, r *ledger.Record) {
	l.count("record: " + r.Kind.String())
	head := c.heads[r.Account]
	if head == nil {
		head = &ledger.Account{ID: r.Account}
		c.heads[r.Account] = head
	}
	before := *head
	if err := head.Apply(r); err != nil {
		l.fail("%v", err)
	}
	defer c.refunds.paid(l, r)
	defer c.refunds.raised(l, r)
	c.hooks.take(l, r)
	if r.Stored != nil {
		c.answers[answerUnder{r.Account, string(r.Stored.Body)}] = r.Claim.BodyHash
	}
	c.stamped(l, r, &before, l.trueTimeOf(r))
	c.asShown(l, head)
	if r.Settings != nil {
		c.terms[r.Account] = *r.Settings
		c.windows[r.Account] = append(c.windows[r.Account], window{l.trueTimeOf(r).at, r.Settings.RepeatWindow})
	}
	if r.Case != nil {
		c.refunds.caseRecord(l, r, &before)
	}
	if r.Tx == nil {
		return
	}
	if err := r.Follows(c.newest[r.Tx.ID]); err != nil {
		l.fail("%v", err)
	}
	var old *ledger.Transaction
	if prev := c.newest[r.Tx.ID]; prev != nil {
		old = prev.Tx
	}
	c.newest[r.Tx.ID] = r
	c.events(l, r, old)
	c.instants(l, r, old)
	c.charge(l, r)
	c.money(l, &before, r)
	if r.Kind == ledger.PaymentReceived {
		c.refunds.received[r.Tx.ID] = r
	}
	if r.Tx.Kind == pix.TxRefund {
		c.refunds.refund(l, r, &before)
	}
	if r.Tx.Kind == pix.TxPayout {
		c.waitsFirst(l, r, old)
		c.payout(l, r, old)
	}
}

// money checks the fee and the amounts of a record against the account's settings.
func (c *chronicle) money(l *life, before *ledger.Account, r *ledger.Record) {
	t := r.Tx
	fees, terms := pix.Amount(0), c.terms[r.Account]
	switch r.Kind {
	case ledger.PaymentReceived:
		fees = min(feeOf(terms.CashInFee, t.Amount), t.Amount)
	case ledger.PayoutHeld:
		fees = feeOf(terms.CashOutFee, t.Amount)
		c.hold(l, before, r)
		available := before.Totals.Balance - before.Totals.Held
		if t.Amount+t.Fee > available {
			l.fail("%v: %d and %d held of %d", t.ID, t.Amount, t.Fee, available)
		}
		if t.Amount+t.Fee == available {
			l.count("money: all that was available is held")
		}
	case ledger.ReturnReceived:
		c.returns[t.Return.Original] += t.Amount
		if first, twice := c.given[t.EndToEnd]; twice {
			l.fail("%s has credited %v and %v", t.EndToEnd, first, t.Return.Original)
		}
		c.given[t.EndToEnd] = t.Return.Original
		return
	default:
		return
	}
	if t.Fee != fees {
		l.fail("%v: a fee of %d, the terms say %d", t.ID, t.Fee, fees)
	}
}

// payout adds one record of a payout to the chronicle and checks it against the payout's
// earlier records.
func (c *chronicle) payout(l *life, r *ledger.Record, old *ledger.Transaction) {
	made, p := l.trueTimeOf(r), c.payouts[r.Tx.ID]
	if p == nil {
		p = &chronicled{
			tx:   *r.Tx,
			held: *r.Tx, hold: made.at, account: r.Account, had: map[string]bool{},
			print: pix.Fingerprint{Account: r.Account, Amount: r.Tx.Amount, KeyType: r.Tx.Payout.Key.Type, Key: r.Tx.Payout.Key.Value},
		}
		c.payouts[r.Tx.ID] = p
		if !r.Tx.Payout.OwnEndToEnd {
			c.prints[p.print] = append(c.prints[p.print], p)
		}
		if r.Claim != nil {
			p.claimed = true
			if c.claims[r.Account] == nil {
				c.claims[r.Account] = map[[16]byte][]*chronicled{}
			}
			c.claims[r.Account][r.Claim.Scope] = append(c.claims[r.Account][r.Claim.Scope], p)
		}
	}
	if old == nil {
		c.keepsID(l, p, made)
	}
	c.unchanged(l, r, p)
	c.decided(l, r, p.tx.Payout.Decision)
	c.repeats(l, r, made)
	c.doubt(l, r, old)
	c.young(l, r, made)
	if !p.had[r.Tx.EndToEnd] {
		p.had[r.Tx.EndToEnd] = true
		c.under[r.Tx.EndToEnd] = append(c.under[r.Tx.EndToEnd], p)
	}
	if _, used := c.begun[r.Tx.EndToEnd]; !used {
		c.begun[r.Tx.EndToEnd] = moment{made.at, r.Seq}
	}
	first := c.begun[r.Tx.EndToEnd]
	p.out, p.outBy = first.at, first.by
	if before := p.tx; before.Counterparty.ISPB != "" &&
		(r.Tx.Counterparty.ISPB != before.Counterparty.ISPB || r.Tx.Counterparty.Document != before.Counterparty.Document || r.Tx.Counterparty.Name != before.Counterparty.Name) {
		l.fail("record %d of %v forgets whom %v pays", r.Seq, r.Account, r.Tx.ID)
	}
	p.tx = *r.Tx
	c.waits(l, r, old, made)
	switch r.Kind {
	case ledger.PayoutAccepted, ledger.PayoutSent:
		if p.sent == 0 {
			p.sent = made.at
		}
	case ledger.PayoutQueued, ledger.PayoutRequeued:
		if p.queued.at == 0 {
			p.queued = made
		}
	case ledger.PayoutSettled, ledger.PayoutSettledLate:
		p.settled, p.settledBy = made.at, r.Seq
	case ledger.PayoutFailed:
		p.gaveUp(l, made)
		c.rightlyFailed(l, r, old)
	case ledger.PayoutRejected:
		c.duplicate(l, p)
	case ledger.PayoutReturned:
		if r.Tx.Payout.Returned != c.returns[r.Tx.ID] {
			l.fail("%v: %d returned, %d credited", r.Tx.ID, r.Tx.Payout.Returned, c.returns[r.Tx.ID])
		}
	}
}

// judge checks, after all records, that each request led to one payment at most.
func (c *chronicle) judge(l *life) {
	c.holders(l)
	c.bodies(l)
	c.refunds.judge(l)
	for print, all := range c.prints {
		for _, first := range all {
			for _, second := range all {
				if first != second && first.keepsOut(second, c.end(print.Account, first.settled), l.slack()) {
					l.fail("%v and %v are one request of %v, and both settled", first.tx.ID, second.tx.ID, print)
				}
				if second.hold > first.settled && first.tx.Transfer.LateAt != 0 && second.tx.ID != first.tx.ID {
					l.count("meeting: an equal request after a late settlement")
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

// once checks that of all requests with one key at most one is carried out in a day. Refused
// requests do not count.
func (c *chronicle) once(l *life, id pix.AccountID, scope [16]byte, all []*chronicled) {
	var before *chronicled
	for _, p := range all {
		if p.tx.Status == pix.StatusRefused {
			continue
		}
		if before != nil && p.hold < before.hold+day-l.slack() {
			l.fail("%v: key %q was carried out by %v and %v", id, scope, before.tx.ID, p.tx.ID)
		}
		before = p
	}
}

// keepsOut reports that a second payout, equal to p, should not have been paid as well: when
// the second payout was sent, p was in flight, or had settled within the account's repeat
// window.
func (p *chronicled) keepsOut(second *chronicled, end, slack pix.Millis) bool {
	if p.tx.Status != pix.StatusSettled || second.tx.Status != pix.StatusSettled || p.tx.EndToEnd == second.tx.EndToEnd {
		return false
	}
	if second.out < p.out || second.out == p.out && second.tx.EndToEnd < p.tx.EndToEnd {
		return false
	}
	// Both payouts are of one account: where their times are equal, the records' order
	// decides.
	if p.tx.Transfer.LateAt != 0 && (second.out < p.settled || second.out == p.settled && second.outBy < p.settledBy) {
		return second.out < expiryOf(p.tx.EndToEnd)-slack
	}
	return second.out < end-slack
}
