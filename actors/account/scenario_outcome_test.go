package account

import (
	"pixd/actors/due"
	"pixd/actors/ledger"
)

func (b *bench) outcome(a args) ledger.ResolvePayout {
	id := b.ids[a["of"]]
	c := ledger.ResolvePayout{ID: id, EndToEnd: a["e2e"], Reason: a["code"]}
	if t := b.machine.work[id]; t != nil {
		c.EndToEnd = t.EndToEnd
	}
	if c.EndToEnd == "held" {
		c.EndToEnd = b.held(id).Tx.EndToEnd
	}
	if a["notice"] != "" {
		c.Notice, c.EndToEnd = true, b.noticeID(a)
	}
	switch a["is"] {
	case "accepted":
		c.Result, c.Owner = ledger.PayoutIsAccepted, ledger.Owner{Name: "Ana", Document: "98765432100", ISPB: "99999005"}
		c.Doubt = a["doubt"] != ""
	case "sending":
		c.Result, c.Owner = ledger.PayoutIsSending, ledger.Owner{Name: "Ana", Document: "98765432100", ISPB: "99999005"}
	case "voided":
		c.Result = ledger.PayoutIsVoided
	case "not-heard":
		c.Result = ledger.PayoutIsNotHeard
	case "open":
		c.Result = ledger.PayoutIsOpen
	case "settled":
		c.Result = ledger.PayoutIsSettled
	case "rejected":
		c.Result = ledger.PayoutIsRejected
	case "refused", "limited":
		code, ok := ledger.ParseRefusal(a["code"])
		if !ok {
			b.t.Fatalf("no refusal %q", a["code"])
		}
		c.Result, c.Refusal, c.Reason = ledger.PayoutIsRefused, code, ""
		if a["is"] == "limited" {
			c.Result = ledger.PayoutIsLimited
		}
	}
	return c
}

// noticeID is the end-to-end id that a notice names: the payout's own, or, with
// notice=other, another.
func (b *bench) noticeID(a args) string {
	if a["notice"] == "other" {
		return endToEnd("another")
	}
	held := b.held(b.ids[a["of"]])
	t, err := ledger.State(&reader{b.machine, b.store}, &b.machine.head, held.Tx.ID, held.Seq)
	if err != nil {
		b.t.Fatal(err)
	}
	return t.EndToEnd
}

func (b *bench) due(a args, retry bool) string {
	task := due.Task{ID: b.ids[a["of"]], Retry: retry}
	if !retry {
		task.Seq = b.held(task.ID).Seq
	}
	e, err := b.machine.Due(b.store, task, Call{Now: b.reading(), Durable: b.store.ticket, Inactive: a["inactive"] != ""})
	if err != nil {
		b.t.Fatal(err)
	}
	b.submit(&e)
	out, r := b.tell(e), e.result()
	if r.Again != 0 {
		out = "again at " + r.Again.String() + "\n" + out
	}
	if r.Queued {
		out = "queued\n" + out
	}
	return out
}

func (b *bench) decide(word string, a args) string {
	c := ledger.DecideApproval{ID: b.ids[a["of"]], Word: ledger.Approved, Operator: a["by"]}
	if word == "decline" {
		c.Word = ledger.Declined
	}
	return b.tell(b.stepAs(c, a["inactive"] != ""))
}
