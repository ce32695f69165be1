package httpapi

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestSnake(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"amount":                "amount",
		"external_id":           "external_id",
		"originalTransactionId": "original_transaction_id",
		"originalE2eId":         "original_e2e_id",
		"endToEndId":            "end_to_end_id",
		"pixKeyType":            "pix_key_type",
		"recipientIspb":         "recipient_ispb",
		"recipientISPB":         "recipient_i_s_p_b",
		"AMOUNT":                "_a_m_o_u_n_t",
		"AmountDue":             "_amount_due",
		"amount_Due":            "amount__due",
		"line2Text":             "line2_text",
		"açãoFinal":             "ação_final",
		"Ção":                   "Ção",
	} {
		if got := snake(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestSnakeTwiceIsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once := snake(rapid.String().Draw(t, "key"))
		if snake(once) != once {
			t.Fatalf("%q became %q", once, snake(once))
		}
	})
}

func TestKeysThatBecomeOne(t *testing.T) {
	aliases := []string{"original_transaction_id", "originalTransactionId"}
	for body, want := range map[string]string{
		`{"fooBar":1,"foo_baz":2}`:                                        "",
		`{"fooBar":1,"foo_bar":2}`:                                        reasonOneKey,
		`{"z":{"a":[{"foo_bar":1,"x":2,"fooBar":2}]}}`:                    reasonOneKey,
		`{"fooBar":1,"FooBar":2,"z":1,"Z":2}`:                             "",
		`{"a":{"fooBar":1},"b":{"foo_bar":1},"fooBar":1}`:                 "",
		`{"originalTransactionId":"a","original_transaction_id":"b"}`:     "",
		`{"original_TransactionId":"a","original__transaction_id":"b"}`:   reasonOneKey,
		`{"x":{"originalTransactionId":"a","original_transaction_id":1}}`: reasonOneKey,
		`{"originalE2eId":"a","original_e2e_id":"b"}`:                     reasonOneKey,
		`{"a":1,"a":2}`: reasonTwice,
		`{"originalTransactionId":1,"x":{"b":1,"a":2},"originalTransactionId":2}`: reasonTwice,
	} {
		got, err := new(canonicaliser).verify([]byte("s"), []byte(body), "x", true, aliases)
		var bad *Unusable
		if errors.As(err, &bad) != (want != "") || bad != nil && bad.Reason != want || (got == sigUnusableBody) != (want != "") {
			t.Errorf("%s: %d, %v; want %q", body, got, err, want)
		}
		// Without camelCase only equal keys are refused.
		if got, err := new(canonicaliser).verify([]byte("s"), []byte(body), "x", false, nil); (got == sigUnusableBody) != (want == reasonTwice) {
			t.Errorf("%s without camelCase: %d, %v", body, got, err)
		}
	}
}

// snake returns a key's snake_case form.
func snake(key string) string { return string(appendSnake(nil, key)) }
