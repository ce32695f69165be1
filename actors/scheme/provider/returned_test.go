package provider

import (
	"strings"
	"testing"
)

// TestReturnedRefused checks that a list of returns with anything out of place is refused: an
// engine that read too little of it would return a payment twice.
func TestReturnedRefused(t *testing.T) {
	whole := `{"returns":[{"transaction_id":"019a2f8e-4d5a-7c00-8a00-000000000002","end_to_end_id":"` + returnID + `","amount":40,"reason":"FR01","progress":"settled"}]}`
	var m ReturnedList
	if err := decode([]byte(whole), &m, true); err != nil {
		t.Fatal(err)
	}
	if all, err := m.parse(); err != nil || len(all) != 1 || all[0].Open || all[0].Amount != 40 || all[0].Reason != "FR01" || all[0].ReturnID != returnID {
		t.Fatalf("%+v, %v", all, err)
	}
	for what, alter := range map[string][3]string{
		"another's id":         {`"` + returnID, `"E` + returnID[1:], "begin with D"},
		"a short id":           {returnID, returnID[:31], "begin with D"},
		"no transaction":       {`019a2f8e-`, ``, "transaction_id"},
		"no amount":            {`:40`, `:0`, "amount"},
		"below zero":           {`:40`, `:-40`, "amount"},
		"rejected":             {`"settled"`, `"rejected"`, "progress"},
		"no progress":          {`,"progress":"settled"`, ``, "progress"},
		"no list":              {`"returns"`, `"refunds"`, "returns is required"},
		"twice":                {`[`, `[` + strings.Trim(whole[strings.Index(whole, "["):], "[]}") + `},`, "must stand once"},
		"nothing for the list": {whole, `{"returns":null}`, "returns is required"},
	} {
		var m ReturnedList
		err := decode([]byte(strings.Replace(whole, alter[0], alter[1], 1)), &m, true)
		if err == nil {
			_, err = m.parse()
		}
		if err == nil || !strings.Contains(err.Error(), alter[2]) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestReturnedQuestionRefused checks that a malformed question is refused with the field's name.
func TestReturnedQuestionRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"account_id":"acc_x","end_to_end_id":"E1"}`:                                                "account_id",
		`{"account_id":"acc_7wlwlb76tauiu","end_to_end_id":""}`:                                      "end_to_end_id",
		`{"account_id":"acc_7wlwlb76tauiu","end_to_end_id":"` + strings.Repeat("E", 36) + `"}`:       "end_to_end_id",
		`{"account_id":"acc_7wlwlb76tauiu","end_to_end_id":"E1","since":"2026-01-31T12:00:00.000Z"}`: "since",
	} {
		if _, _, err := ReadReturnedQuestion([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
