package ledger

import (
	"cmp"
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// refund is a merchant's request of a refund. of names a payment: with by=e2e by its
// end-to-end id, with by=public by its transaction_id, else by its id.
func (b *bench) refund(a args) string {
	c := RequestRefund{
		Original: a["of"], Amount: a.centavos(), Reason: cmp.Or(a["reason"], DefaultReturnCode),
		Description: cmp.Or(a["description"], DefaultRefundDescription), ExternalID: a["external"], Claim: claimFor(a),
	}
	if id, ok := b.ids[a["of"]]; ok {
		c.Original = id.String()
		switch a["by"] {
		case "public":
			c.Original = id.Public(b.transactionOf(id).Kind)
		case "e2e":
			c.Original = b.transactionOf(id).EndToEnd
		}
	}
	if n, ok := a["durable"]; ok { // the balance that is durable; the balance in memory may be another
		b.durable = &Totals{Balance: args{"n": n}.amount("n")}
	}
	e := b.step(c)
	b.durable = nil
	if len(e.Launch) > 0 {
		b.ids[a["as"]] = e.Launch[0].Tx.ID
	}
	return b.tell(e)
}

// transactionOf returns the newest state of a transaction.
func (h *harness) transactionOf(id pix.TxID) *Transaction {
	for i := len(h.records) - 1; i >= 0; i-- {
		if t := h.records[i].Tx; t != nil && t.ID == id {
			return t
		}
	}
	h.t.Fatalf("no record about %v", id)
	return nil
}

func (b *bench) report(a args) string {
	d, err := b.try(OpenCase{Infraction: a["id"], EndToEnd: endToEnd(a["e2e"]), Amount: a.amount("amount"), Situation: "SCAM"}, false)
	if err != nil {
		return fmt.Sprintln(err)
	}
	if d.Case != nil {
		b.cases[a["id"]] = d.Case.ID
	}
	return b.tell(d)
}

func (b *bench) withdraw(a args) string {
	return b.told(CancelCase{Infraction: a["id"], EndToEnd: endToEnd(a["e2e"])})
}

func (b *bench) defend(a args) string {
	result, given := pix.ParseCaseResult(a["result"])
	if !given {
		result = pix.Disagreed
	}
	return b.tell(b.step(DefendCase{ID: b.cases[a["id"]], Justification: a["why"], Result: result, Contact: a["contact"], Claim: claimFor(a)}))
}

func (b *bench) analyse(a args) string {
	result, ok := pix.ParseCaseResult(a["result"])
	if !ok {
		b.t.Fatalf("%s is no result", a["result"])
	}
	return b.tell(b.step(CloseCase{ID: b.cases[a["id"]], Result: result, Details: a["details"]}))
}

// resume has an operator let the engine go on with a case. found is the amount of a return that
// the scheme has and the journal lacks: with part=n that of the case's n-th refund, with known=r
// that of a refund which the journal has; open=1 says that it has not settled yet.
func (b *bench) resume(a args) string {
	c := ResumeCase{ID: b.cases[a["id"]], Operator: a["operator"], Unseen: a["unseen"] != ""}
	if _, ok := a["found"]; ok {
		suffix := "0123456789a"
		if _, ok := a["part"]; ok {
			d := draft{account: b.account, stamp: Stamp{Terms: b.terms}}
			suffix = d.partSuffix(&Case{ID: cmp.Or(b.cases[a["of"]], c.ID)}, uint64(a.amount("part")))
		}
		r := Returned{ID: pix.NewTxID(b.now, [10]byte{9, byte(b.now)}), ReturnID: pix.ReturnID(b.terms.OwnISPB, b.now, suffix), Amount: a.amount("found"), Reason: cmp.Or(a["code"], "FR01"), Open: a["open"] != ""}
		if t, ok := b.ids[a["known"]]; ok {
			r.ID, r.ReturnID = t, b.transactionOf(t).EndToEnd
		}
		c.Returned = append(c.Returned, r)
	}
	if id, ok := b.ids[a["named"]]; ok { // the scheme has this refund, too
		t := b.transactionOf(id)
		c.Returned = append(c.Returned, Returned{ID: id, ReturnID: t.EndToEnd, Amount: t.Amount, Reason: t.Refund.Code, Open: true})
	}
	return b.told(c)
}

func (b *bench) dueCase(a args) string {
	d := b.stepAs(Attend{Kind: layout.DueCase, ID: layout.EntityID(b.cases[a["id"]])}, false)
	out := b.tell(d)
	switch r := d.Attended; {
	case r == nil:
		return "no result\n" + out
	case r.Skipped:
		return "skipped\n" + out
	case r.Again != 0:
		return "again at " + r.Again.String() + "\n" + out
	}
	return out
}

// caseLine describes a case.
func (b *bench) caseLine(c *Case) string {
	out := fmt.Sprintf("%v %d held %d covered %d refunded %d", c.Status, c.Amount, c.Held, c.Covered, c.Refunded)
	if c.Result != 0 {
		out += " " + c.Result.String()
	}
	if c.DueAt != 0 {
		out += " due " + c.DueAt.String()
	}
	if c.Short != 0 {
		out += fmt.Sprintf(" lacks %d", c.Short)
	}
	if c.Stopped {
		out += " stopped"
	}
	if c.Awaits {
		out += " awaits an operator"
	}
	return out
}

// sumsLine describes refund sums.
func sumsLine(s *layout.RefundSums) string {
	out := fmt.Sprintf(" of %d: settled %d in flight %d held %d", s.Amount, s.Settled, s.InFlight, s.Held)
	if s.Excess != 0 {
		out += fmt.Sprintf(" excess %d", s.Excess)
	}
	return out
}
