package provider

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

var repayment = scheme.Refund{
	Tx: payout.Tx, Account: 7, EndToEnd: returnID, Original: "E9999900320261029120000000000002", Amount: 40,
	Reason: "MD06", Description: "troco",
}

// TestReturnsTravel checks that a refund is read as it was sent, whatever its texts are.
func TestReturnsTravel(t *testing.T) {
	whole := repayment
	whole.Amount, whole.Account = pix.MaxAmount, pix.LastAccountID
	for _, texts := range [][2]string{
		{"MD06", "troco"},
		{"", ""},
		{"md06 \"<&>\\ \u2028\x00\x1f\x7f 💸", "line\nline\ttab"},
		{strings.Repeat("ç", 64), strings.Repeat("💸", 140)},
	} {
		whole.Reason, whole.Description = texts[0], texts[1]
		got, err := ReadReturn(encode(returnOf(whole)))
		if err != nil || got != whole {
			t.Errorf("%+v, was %+v (%v)", got, whole, err)
		}
	}
}

// TestReturnsRefused checks that a malformed refund is refused, with the field's name.
func TestReturnsRefused(t *testing.T) {
	fields := map[string]string{
		"transaction_id": `"01a1fe44-4219-700c-8000-000000000000"`, "end_to_end_id": `"` + returnID + `"`,
		"account_id": `"acc_7wlwlb76tauiu"`, "original_end_to_end_id": `"E9999900320261029120000000000002"`, "amount": `40`,
		"reason": `"MD06"`, "description": `"troco"`,
	}
	with := func(name, value string) []byte {
		body := ""
		for f, v := range fields {
			if f == name {
				v = value
			}
			if v != "" {
				body += `,"` + f + `":` + v
			}
		}
		if _, there := fields[name]; !there {
			body += `,"` + name + `":` + value
		}
		return []byte("{" + body[1:] + "}")
	}
	for name, values := range map[string][]string{
		"transaction_id":         {"", `""`, `7`, `"01A1FE44-4219-700C-8000-000000000000"`, `"PIXRETAGQ7RZY2GJF6ZO4L3XB3"`},
		"end_to_end_id":          {"", `""`, `7`, `"` + strings.Repeat("D", 36) + `"`},
		"account_id":             {"", `""`, `7`, `"acc_aaaaaaaaaaaaa"`},
		"original_end_to_end_id": {"", `""`, `7`, `"` + strings.Repeat("E", 36) + `"`},
		"amount":                 {"", `0`, `-1`, `1.5`, `"40"`, `99999999999901`, `9223372036854775808`},
		"reason":                 {`7`, `["MD06"]`, `"` + strings.Repeat("ç", 65) + `"`},
		"description":            {`7`, `{}`, `"` + strings.Repeat("x", 141) + `"`},
		"key":                    {`{"type":"cpf","value":"12345678909"}`},
		"Reason":                 {`"MD06"`},
		"return_id":              {`"` + returnID + `"`},
	} {
		for _, value := range values {
			body := with(name, value)
			if r, err := ReadReturn(body); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %+v, %v", body, r, err)
			}
		}
	}
	for name, value := range map[string]string{"reason": "", "description": "", "end_to_end_id": `"nonsense"`, "original_end_to_end_id": `"nonsense"`} {
		if _, err := ReadReturn(with(name, value)); err != nil {
			t.Errorf("%s %s: %v", name, value, err)
		}
	}
	if _, err := ReadReturn([]byte(strings.Replace(string(with("", `1`)), `"":1`, `"amount":40`, 1))); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("amount twice: %v", err)
	}
}

// TestReturnAnswers checks that a refund's answer is read as a payout's is: a state, an
// explicit refusal, or an infrastructure error that names the call.
func TestReturnAnswers(t *testing.T) {
	for body, c := range map[string]struct {
		status int
		want   scheme.State
		says   string
	}{
		wellSettled: {200, scheme.State{Progress: scheme.Settled}, ""},
		`{"state":{"progress":"rejected","reason":"DT05"}}`: {200, scheme.State{Progress: scheme.Rejected, Reason: "DT05"}, ""},
		`{"refusal":"provider_rejected"}`:                   {422, scheme.State{}, "refused: provider_rejected"},
		`{"refusal":"nope"}`:                                {422, scheme.State{}, "answer 422"},
		`{"state":{"progress":"lost"}}`:                     {200, scheme.State{}, "state.progress"},
		`{}`:                                                {503, scheme.State{}, "answer 503"},
	} {
		server := httptest.NewServer(signing(t, c.status, body, nil))
		got, err := asking(t, server.URL).Return(t.Context(), repayment)
		server.Close()
		var refused *scheme.Refused
		switch {
		case got != c.want, (err == nil) != (c.says == ""), errors.As(err, &refused) != strings.HasPrefix(c.says, "refused"):
			t.Errorf("%s: %+v %v", body, got, err)
		case err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "return "+repayment.Tx.String())):
			t.Errorf("%s: %v", body, err)
		}
	}
}
