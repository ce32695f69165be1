package ledger

import (
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// ResumeCase is an operator's word that the engine may go on with a case which awaits that since
// a restore. Returned is what the scheme says of the returns of the case's payment.
type ResumeCase struct {
	ID       pix.CaseID
	Operator string // 1 to 100 characters
	Returned []Returned
	Unseen   bool // no operator has looked at it: the journal has caught up since; its merchant has a day to defend it, or Terms.MEDDeadline where that is less
}

// Returned is a return of a received payment as the scheme knows it.
type Returned struct {
	ID       pix.TxID   // our transaction id of the refund
	ReturnID string     // its id at the scheme, which begins with D
	Amount   pix.Amount // base units, positive
	Reason   string     // the return code
	Open     bool       // the scheme has it, and it is not settled yet
}

// FoundReturn is a settled return, with what the account knows of it.
type FoundReturn struct {
	Returned
	Tx      *Transaction // nil: the account has no such refund
	Counted []*Case      // as caseFacts.Counted, of Tx
	Foreign bool         // its ids are those of something else, or of another return in the list
}

// resumeFacts are what the decision about a resume needs beside the case.
type resumeFacts struct {
	ResumeCase
	found   []FoundReturn // what Returned has, in the same order
	unnamed *Transaction  // a refund of the payment from before the restore that is in flight and that the scheme does not know; nil: there is none
}

// gather reads the case, the cases that hold money of its payment, and what the account knows of
// each return that the scheme names.
func (c ResumeCase) gather(g *gathering) (decider, error) {
	g.stakes.frees, g.stakes.finds = true, true
	f := &resumeFacts{ResumeCase: c}
	err := g.caseByID(c.ID)
	if err != nil || g.cases.Case == nil {
		return f, err
	}
	if g.cases.Rivals, err = g.holdersOf(&g.cases.Sums); err != nil {
		return f, err
	}
	if err = g.findReturns(f); err == nil {
		f.unnamed, err = g.unnamed(f)
	}
	return f, err
}

// findReturns reads what the account knows of each return that the scheme names.
func (g *gathering) findReturns(f *resumeFacts) (err error) {
	seen := map[string]bool{}
	for _, r := range f.Returned {
		found := FoundReturn{Returned: r, Foreign: seen[r.ID.String()] || seen[r.ReturnID]}
		seen[r.ID.String()], seen[r.ReturnID] = true, true
		if found.Tx, err = g.transfer(r.ID, r.ReturnID); err != nil {
			return fmt.Errorf("return %s: %w", r.ReturnID, err)
		}
		if t := found.Tx; t == nil {
			var taken bool
			_, taken, err = g.Get(layout.EndToEndKey(r.ReturnID))
			found.Foreign = found.Foreign || taken
		} else if t.Kind != pix.TxRefund || t.Refund.Original != g.cases.Case.Original || t.EndToEnd != r.ReturnID || t.Amount != r.Amount {
			found.Foreign, found.Tx = true, nil
		}
		if err != nil {
			return fmt.Errorf("return %s: %w", r.ReturnID, err)
		}
		if found.Tx != nil {
			if found.Counted, err = g.readCounted(found.Tx); err != nil {
				return err
			}
		}
		f.found = append(f.found, found)
	}
	return nil
}

// unnamed finds a refund of the case's payment that was made before the acceptance of the gap, is
// in flight, and is not among the returns that the scheme has; nil: there is none.
func (g *gathering) unnamed(f *resumeFacts) (found *Transaction, err error) {
	named := map[pix.TxID]bool{}
	for _, r := range f.found {
		if r.Tx != nil {
			named[r.Tx.ID] = true
		}
	}
	err = g.onTheirWay(&g.cases.Sums, func(t *Transaction) {
		old := t.ID.Time() <= g.stamp.Terms.GapEnd && !named[t.ID]
		if old && (found == nil || slices.Compare(t.ID[:], found.ID[:]) < 0) {
			found = t
		}
	})
	return found, err
}

// decide lets the engine go on with a case that awaits it since a restore. Returns of the
// payment that the scheme has settled and the journal lacks are debited and counted first, so
// that nothing is refunded twice. The refusals are, in order: unknown case, a case that awaits
// nothing, a return that is under way at the scheme and not known here, a refund of the payment from
// before the restore that is on its way here and not known at the scheme; what becomes of them decides
// how much is left to refund, and a return of the gap may stand for such a refund.
func (c *resumeFacts) decide(d *draft) Decision {
	if d.facts.Case == nil {
		return refuseWith(refuse(RefuseUnknownCase, "case not found"))
	}
	if !d.facts.Case.AwaitsOperator(&d.stamp.Terms) {
		return refuseWith(refuse(RefuseNotAwaiting, "the case does not wait for an operator since a restore"))
	}
	for _, r := range c.found {
		if refused := r.refuses(); refused != nil {
			return refuseWith(refused)
		}
	}
	if t := c.unnamed; t != nil {
		return refuseWith(refuse(RefuseReturnOpen, "the refund "+t.Public()+" of the payment is on its way since before the restore, and the scheme does not know it: try again when it has ended"))
	}
	for _, r := range c.found {
		if refused := d.countFound(r); refused != nil {
			return refuseWith(refused)
		}
	}
	k := d.newest(d.facts.Case)
	k.Epoch, k.Operator = d.stamp.Terms.Epoch, c.Operator
	d.schedule(k)
	if c.Unseen && k.Status == pix.CaseOpen {
		least := d.stamp.Clock + min(d.stamp.Terms.MEDDeadline, day)
		k.DeadlineAt, k.DueAt = max(k.DeadlineAt, least), max(k.DueAt, least)
	}
	d.mustAddCase(CaseResumed, k, Body{})
	return d.doneCase(k)
}

// refuses returns the refusal of a resume for a return whose end, or whose part in the books, is
// not known yet; nil: there is none.
func (r *FoundReturn) refuses() *Refusal {
	switch {
	case r.Foreign:
		return refuse(RefuseReturnOpen, "the scheme's return "+printable(r.ReturnID)+" has the ids of something else here")
	case r.Open && (r.Tx == nil || !r.Tx.Status.InFlight()):
		return refuse(RefuseReturnOpen, "the return "+r.ReturnID+" is under way at the scheme: try again when it has ended")
	case !r.Open && r.Tx != nil && r.Tx.Status == pix.StatusFailed && !r.Tx.Voided():
		return refuse(RefuseReturnOpen, "the return "+r.ReturnID+" has settled at the scheme, and failed here")
	}
	return nil
}

// schedule sets the due time of a case to that of its status, or to now where that has passed:
// the scanner of due times finds rows of the past only in its look back once a minute. The time
// limits of a case that was opened under doubt are set to when they end first, or while the doubt
// lasts left as they are: redate would move a due time of now.
func (d *draft) schedule(k *Case) {
	if k.Doubted && !d.stamp.Doubted {
		k.redate(d.stamp.Reading)
	}
	switch k.Status {
	case pix.CaseOpen:
		k.DueAt = k.DeadlineAt
	case pix.CaseDefended:
		k.DueAt = k.AnalysisAt
	case pix.CaseClosed:
		sums := d.sumsOf(k.Original)
		k.settle(&sums)
	}
	if k.DueAt != 0 && !k.Doubted {
		k.DueAt = max(k.DueAt, d.stamp.Clock)
	}
}

// countFound counts a return that the scheme has settled. One that is in flight here gets its
// outcome from the scheme, and one that has settled here is counted.
func (d *draft) countFound(r FoundReturn) *Refusal {
	t := r.Tx
	switch {
	case r.Open:
		return nil
	case t == nil:
		found, refused := d.findRefund(r, "")
		if refused == nil {
			d.alert(AlertLate, found, "the scheme has settled a refund that the journal lacks since the restore: its amount is debited")
		}
		return refused
	case t.Voided():
		d.facts.Counted = r.Counted
		_, refused := d.settleRefundLate(*t)
		return refused
	}
	return nil
}

// findRefund adds the record of a refund that an engine made after the snapshot and that the
// restored journal lacks: it is debited under the ids that the scheme has.
func (d *draft) findRefund(r FoundReturn, description string) (*Transaction, *Refusal) {
	t := d.refundOf(r.ID, "", originalOf(d.facts.Original), r.Amount)
	t.EndToEnd, t.Refund.Code, t.Transfer = r.ReturnID, r.Reason, TransferPart{}
	if description != "" {
		t.Description = description
	}
	d.countTowardsCase(&t)
	sums := d.countBack(&t, CaseCounted)
	d.show(&t)
	d.bookAs(&t, pix.StatusSettled)
	if refused := d.add(RefundFound, Body{Tx: &t, Sums: sums, Suffixes: suffixOf(&t), Events: []pix.EventKind{pix.EventRefundCompleted}}); refused != nil {
		return nil, refused
	}
	return &t, nil
}

// countTowardsCase finds the case that a refund which was found counts towards.
func (d *draft) countTowardsCase(t *Transaction) {
	d.facts.Counted = nil
	k, part := d.caseOfReturn(t)
	if k == nil {
		return
	}
	k.Parts = max(k.Parts, part) // the next refund of the case gets another id
	d.cases = with(d.cases, k.Ordinal, k)
	d.facts.Counted = []*Case{k}
	owes := k.Amount - k.Refunded
	if part == 0 { // it is not instead of one that is on its way
		owes = k.Held + k.Lacks()
	}
	if t.Amount <= owes {
		t.Refund.Case = &k.ID
	} else if t.Refund.Counts = []CaseShare{{k.ID, owes}}; owes <= 0 { // the rest was for a case that the journal lacks
		t.Refund.Counts, d.facts.Counted = nil, nil
	}
}

// partsSought is how many refunds of one case are looked for beyond those that the journal has.
const partsSought = 256

// caseOfReturn finds the case for which a return was made, and which of the case's refunds it
// is; nil: none, the merchant requested it. The end of the id says it; a return for a fraud that
// no id explains counts towards the case in question.
func (d *draft) caseOfReturn(t *Transaction) (*Case, uint64) {
	if t.Refund.Code != fraudCode {
		return nil, 0
	}
	all := slices.DeleteFunc(slices.Concat([]*Case{d.facts.Case}, d.facts.Rivals, d.facts.Lacking, d.facts.Refunding), func(k *Case) bool { return k == nil })
	for _, k := range all {
		for part := uint64(1); part <= k.Parts+partsSought; part++ { // a later one may be found first
			if t.EndToEnd[len(t.EndToEnd)-pix.SuffixChars:] == d.partSuffix(k, part) {
				return d.newest(k), part
			}
		}
	}
	if len(all) == 0 {
		return nil, 0
	}
	return d.newest(all[0]), 0
}
