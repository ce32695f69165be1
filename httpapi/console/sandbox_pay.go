package console

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"time"

	"pixd/actors/pix"
)

// chargeAndPay shows the forms that make a charge and pay it, and what they led to.
func chargeAndPay(v *visit) error {
	t := v.one.sandbox.newest(v.Page, v.arg("done"))
	made := t
	if t == nil || t.Charge.Code == "" { // what was done last is a payment: the charge before stays in sight
		made = v.one.sandbox.lastCharge()
	}
	v.Data = map[string]any{"Tried": t, "Made": made, "At": v.Now.String()}
	return nil
}

// lastCharge returns the charge that was made last; nil: none was.
func (s *sandbox) lastCharge() *tried {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.tried) - 1; i >= 0; i-- {
		if t := s.tried[i]; t.Charge.Code != "" {
			return &t
		}
	}
	return nil
}

// centavos is what the merchant API takes for an amount; false: it has parts of a centavo.
func centavos(n pix.Amount) (int64, bool) {
	return int64(n / pix.UnitsPerCentavo), n%pix.UnitsPerCentavo == 0
}

// makeCharge makes a charge as the merchant does.
func makeCharge(v *visit) outcome {
	n, wrong := v.sandboxAmount(false)
	if wrong != nil {
		return *wrong
	}
	whole, ok := centavos(n)
	if !ok {
		return outcome{Problem: v.Lang.say("field_wrong", v.Lang.say("amount"))}
	}
	return v.tryAsMerchant("sandbox", "/pix/cash-in", map[string]any{"amount": whole, "description": v.field("description"), "external_id": v.key})
}

// payCharge has a customer pay a charge by its code, and payKey a PIX key.
func payCharge(v *visit) outcome { return v.pay(map[string]any{"qr_code": v.field("qr_code")}, true) }

func payKey(v *visit) outcome { return v.pay(map[string]any{"pix_key": v.field("pix_key")}, false) }

// customersISPB is the institution of a customer of whom the form does not say it.
const customersISPB = "99999003"

// pay has a customer pay, and as the form says the same payment be sent again, or the customer pay once more. The form's key and
// the time at which its page was drawn make the end-to-end ids: the form again pays nothing.
func (v *visit) pay(body map[string]any, charge bool) outcome {
	made, err := time.Parse(time.RFC3339Nano, v.field("made"))
	if err != nil {
		return outcome{Problem: v.Lang.say("field_wrong", v.Lang.say("time"))}
	}
	if wrong := v.paidWith(body, charge); wrong != nil {
		return *wrong
	}
	ispb := v.field("payer_ispb")
	if !pix.ISPB(ispb) {
		ispb = customersISPB // what was filled in is refused by the simulator
	}
	id := func(n int) string { return pix.EndToEnd(ispb, pix.Millis(made.UnixMilli()), suffixOf(v.key, n)) }
	plan := []step{{Word: "paid_first", EndToEnd: id(1)}}
	if v.field("same") != "" {
		plan = append(plan, step{Word: "paid_same", EndToEnd: id(1)})
	}
	if v.field("other") != "" {
		plan = append(plan, step{Word: "paid_other", EndToEnd: id(2)})
	}
	o := v.payAll(body, plan)
	v.one.sandbox.remember(tried{Key: v.key, Page: "sandbox", Steps: plan})
	return o
}

// payAll carries out payments, one after the other until one is refused, and fills in what became of them.
func (v *visit) payAll(body map[string]any, plan []step) outcome {
	for i := range plan {
		s := &plan[i]
		body["end_to_end_id"] = s.EndToEnd
		var paid struct {
			Amount pix.Amount `json:"amount"`
		}
		if err := v.post("/sim/payments", body, &paid); err != nil {
			o := v.failed(err)
			s.Problem = o.Problem
			return o
		}
		s.Amount = paid.Amount
	}
	return outcome{Notice: v.Lang.say("sandbox_paid")}
}

// paidWith reads what a form says of a payment into the simulator's request. The outcome says which field is wrong; nil: none is.
func (v *visit) paidWith(body map[string]any, charge bool) *outcome {
	n, wrong := v.sandboxAmount(charge)
	if wrong != nil {
		return wrong
	}
	if n > 0 {
		body["amount"] = n
	}
	payer := map[string]string{}
	for _, name := range []string{"name", "document", "ispb"} {
		if text := v.field("payer_" + name); text != "" {
			payer[name] = text
		}
	}
	if len(payer) > 0 {
		body["payer"] = payer
	}
	if text := v.field("paid_at"); text != "" {
		at, err := time.ParseInLocation("2006-01-02T15:04", text, brasilia)
		if err != nil {
			return &outcome{Problem: v.Lang.say("field_wrong", v.Lang.say("paid_at"))}
		}
		body["paid_at"] = pix.Millis(at.UnixMilli()).String()
	}
	return nil
}

// suffixOf makes the end of an end-to-end id of a form's key: the same each time, and another for each n.
func suffixOf(key string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", key, n))
	return base32.StdEncoding.EncodeToString(sum[:])[:pix.SuffixChars]
}
