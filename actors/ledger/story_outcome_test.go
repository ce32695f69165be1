package ledger

import (
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

func (b *bench) outcome(a args) ResolveTransfer {
	id := b.ids[a["of"]]
	c := ResolveTransfer{ID: id, EndToEnd: a["e2e"], Reason: a["code"]}
	if t := b.carried[id]; t != nil {
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
		c.Result, c.Owner = TransferIsAccepted, pix.Party{Name: "Ana", Document: "98765432100", ISPB: "99999005"}
		c.Doubt = a["doubt"] != ""
	case "sending":
		c.Result, c.Owner = TransferIsSending, pix.Party{Name: "Ana", Document: "98765432100", ISPB: "99999005"}
	case "voided":
		c.Result = TransferIsVoided
	case "not-heard":
		c.Result = TransferIsNotHeard
	case "open":
		c.Result, c.Doubt, c.Reason = TransferIsOpen, a["doubt"] != "", ""
		c.Refusal, _ = ParseRefusal(a["code"])
	case "settled":
		c.Result = TransferIsSettled
	case "rejected":
		c.Result, c.Doubt = TransferIsRejected, a["doubt"] != ""
	case "refused", "limited":
		code, ok := ParseRefusal(a["code"])
		if !ok {
			b.t.Fatalf("no refusal %q", a["code"])
		}
		c.Result, c.Refusal, c.Reason, c.Doubt = TransferIsRefused, code, "", a["doubt"] != ""
		if a["is"] == "limited" {
			c.Result = TransferIsLimited
		}
	}
	return c
}

// noticeID returns the end-to-end id for a notice in a story: the payout's own id or, with
// notice=other, a different one.
func (b *bench) noticeID(a args) string {
	if a["notice"] == "other" {
		return endToEnd("another")
	}
	held := b.held(b.ids[a["of"]])
	t, err := State(b, b.account, held.Tx.ID, held.Seq)
	if err != nil {
		b.t.Fatal(err)
	}
	return t.EndToEnd
}

func (b *bench) due(a args, retry bool) string {
	c := Attend{ID: layout.EntityID(b.ids[a["of"]]), Retry: retry}
	if !retry {
		c.Seq = b.held(pix.TxID(c.ID)).Seq
	}
	d := b.stepAs(c, a["inactive"] != "")
	out, r := b.tell(d), d.Attended
	if r == nil {
		return out
	}
	if r.Again != 0 {
		out = "again at " + r.Again.String() + "\n" + out
	}
	if r.Queued {
		out = "queued\n" + out
	}
	return out
}

func (b *bench) decide(word string, a args) string {
	c := DecideApproval{ID: b.ids[a["of"]], Word: Approved, Operator: a["by"]}
	if word == "decline" {
		c.Word = Declined
	}
	if a["busy"] != "" {
		_, err := b.try(c, false)
		return fmt.Sprintln(err)
	}
	return b.tell(b.stepAs(c, a["inactive"] != ""))
}
