package console

import (
	"errors"
	"net/url"

	"pixd/actors/pix"
)

// payout is a payout of the operator API's lists.
type payout struct {
	Account       string     `json:"account_id"`
	State         string     `json:"state"`
	Held          bool       `json:"awaits_operator"` // since a restore
	TransactionID string     `json:"transaction_id"`
	Name          string     `json:"counterparty_name"`
	Key           string     `json:"recipient_key"`
	Document      string     `json:"recipient_document"`
	Description   string     `json:"description"`
	Amount        pix.Amount `json:"amount"`
	CreatedAt     string     `json:"created_at"`
	ApprovedBy    []string   `json:"approved_by"`
	Needed        int        `json:"approvals_needed"`
}

// approvals lists the payouts that wait for approval.
func approvals(v *visit) error {
	var l list[payout]
	err := v.get("/admin/payouts?limit=50&status=pending_approval&cursor="+url.QueryEscape(v.arg("cursor")), &l)
	v.Data = l
	return err
}

// decide approves or declines the payouts that were chosen, one after the other, until one is refused. What another
// operator has done meanwhile is such a refusal.
func decide(v *visit) outcome {
	word, chosen := v.field("word"), v.ctx.PostArgs().PeekMulti("payout")
	if len(chosen) == 0 {
		return outcome{Problem: v.Lang.say("none_chosen")}
	}
	if word != "approve" && word != "decline" { // Enter, with none of the two buttons
		return outcome{Problem: v.Lang.say("none_decided")}
	}
	done, first := 0, 0
	for _, id := range chosen {
		var p payout
		err := v.post("/admin/payouts/"+url.PathEscape(string(id))+"/"+word, map[string]string{"operator": v.Who.Name}, &p)
		var refused *problem
		switch {
		case errors.As(err, &refused):
			return outcome{Notice: v.decided(word, done, first), Problem: string(id) + ": " + refused.message}
		case err != nil:
			return outcome{Notice: v.decided(word, done, first), Problem: string(id) + ": " + v.failed(err).Problem}
		case p.State == "pending_approval":
			first++
		default:
			done++
		}
	}
	return outcome{Notice: v.decided(word, done, first)}
}

// decided says how many payouts were decided, and how many need another operator.
func (v *visit) decided(word string, done, first int) string {
	text := ""
	if done > 0 {
		text = v.Lang.say(word+"d", done)
	}
	if first > 0 {
		text += " " + v.Lang.say("first", first)
	}
	return text
}
