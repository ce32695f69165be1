package provider

import (
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"pixd/actors/scheme"
)

const (
	listedNotice       = `"notice":{"kind":"payment_settled","transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E9999900420261029120000000000001","account_id":"acc_7wlwlb76tauiu"}`
	listedPayment      = `"payment":{"transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E9999900420261029120000000000001","account_id":"acc_7wlwlb76tauiu","amount":100000,"key":{"type":"email","value":"ana@example.com"}}`
	listedReturn       = `"return":{"transaction_id":"01a1fe44-6b70-7abc-8000-000000000000","end_to_end_id":"D9999900420261029120500000000004","account_id":"acc_7wlwlb76tauiu","original_end_to_end_id":"E9999900320261029120000000000002","amount":40000,"reason":"MD06"}`
	listedReturnNotice = `"notice":{"kind":"return_settled","transaction_id":"01a1fe44-6b70-7abc-8000-000000000000","end_to_end_id":"D9999900420261029120500000000004","account_id":"acc_7wlwlb76tauiu"}`
	listedReport       = `"notice":{"kind":"infraction_cancelled","end_to_end_id":"E9999900320261029120000000000002","account_id":"acc_7wlwlb76tauiu","infraction_id":"01a1fe44-5000-700c-8000-000000000000"}`
	listedOwner        = `"owner":{"name":"Ana Souza","document":"12345678909","ispb":"99999005"}`
)

// TestMovementsRefused checks that a list of movements is refused whole where one of them does not say what
// it must, or contradicts itself.
func TestMovementsRefused(t *testing.T) {
	const at = `"at":"2026-10-29T12:00:00.000Z",`
	entry := func(parts ...string) string { return `{"movements":[{` + at + strings.Join(parts, ",") + `}]}` }
	for _, good := range []string{
		entry(listedNotice, listedPayment), entry(listedNotice, listedPayment, listedOwner), entry(listedPayment), entry(listedReturn), entry(listedReturnNotice, listedReturn), entry(listedReport), `{"movements":[],"next":"x","left":3}`,
		`{"movements":[],"later":1}`,
	} {
		var m MovementList
		if err := decode([]byte(good), &m, true); err != nil {
			t.Fatal(good, err)
		}
		if _, err := m.parse(); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	other := func(s, old, text string) string {
		if !strings.Contains(s, old) {
			t.Fatal(s, old)
		}
		return strings.Replace(s, old, text, 1)
	}
	for bad, want := range map[string]string{
		`{}`: "movements is required",
		`{"movements":[],"next":"` + strings.Repeat("x", 257) + `"}`:                             "next must have",
		`{"movements":[],"left":-1}`:                                                             "left be 0 or more",
		other(entry(listedPayment), at, ""):                                                      "at must be",
		entry(listedNotice):                                                                      "payment goes with a payout",
		entry(listedPayment, listedReturn):                                                       "payment goes with a payout",
		entry(listedReport, listedPayment):                                                       "payment goes with a payout",
		entry(listedReturn, listedOwner):                                                         "owner goes with a payout",
		other(entry(listedReport), `"account_id":"acc_7wlwlb76tauiu",`, ""):                      "account_id is required",
		entry(other(listedNotice, "4219", "4210"), listedPayment):                                "must name the ids and the account",
		entry(other(listedNotice, "00001\"", "00002\""), listedPayment):                          "must name the ids and the account",
		entry(listedNotice, other(listedPayment, "acc_7wlwlb76tauiu", "acc_aaaaaaaaaaaao")):      "must name the ids and the account",
		entry(other(listedNotice, "payment_settled", "payment_lost"), listedPayment):             "unknown kind",
		entry(listedReturnNotice, other(listedReturn, "7abc", "7abd")):                           "must name the ids and the account",
		entry(listedReturnNotice, other(listedReturn, "00004\"", "00005\"")):                     "must name the ids and the account",
		entry(listedReturnNotice, other(listedReturn, "acc_7wlwlb76tauiu", "acc_aaaaaaaaaaaao")): "must name the ids and the account",
		entry(listedReturnNotice):                                                                "payment goes with a payout",
		entry(listedReturnNotice, listedPayment):                                                 "payment goes with a payout",
		entry(listedNotice, other(listedPayment, "100000", "0")):                                 "amount must be",
		entry(listedNotice, listedPayment, other(listedOwner, "12345678909", "1")):               "owner.document must be",
	} {
		var m MovementList
		err := decode([]byte(bad), &m, true)
		if err == nil {
			_, err = m.parse()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
	for bad, want := range map[string]string{
		`{"limit":3}`: "since must be", `{"since":"2026-10-29T12:00:00Z"}`: "limit must be", `{"since":"2026-10-29T12:00:00Z","limit":1001}`: "limit must be",
		`{"since":"2026-10-29T12:00:00Z","limit":1,"after":"` + strings.Repeat("x", 257) + `"}`: "after a next", `{"since":"2026-10-29T12:00:00Z","limit":1,"x":1}`: "x",
	} {
		if _, err := ReadMovementsQuestion([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
}

// TestMovements checks that a page of movements is read as the provider told it, and that an answer which
// is refused, or is not a page, is an error.
func TestMovements(t *testing.T) {
	told := scheme.MovementPage{Next: "n", Left: 3, Movements: []scheme.Movement{
		{At: noon, Notice: scheme.Notice{Kind: scheme.PaymentSettled, Tx: payout.Tx, EndToEnd: payout.EndToEnd, Account: 7}, Payment: payout},
		{At: noon + 1, Notice: scheme.Notice{Tx: repayment.Tx, EndToEnd: repayment.EndToEnd, Account: 7}, Refund: repayment},
	}}
	server := httptest.NewServer(signing(t, 200, string(encode(TellMovements(told))), nil))
	got, err := asking(t, server.URL).Movements(t.Context(), noon, "a", 10)
	server.Close()
	if err != nil || !reflect.DeepEqual(got, told) {
		t.Errorf("%+v, told %+v (%v)", got, told, err)
	}
	for status, body := range map[int]string{200: `{}`, 422: `{"refusal":"provider_rejected"}`, 503: `{}`} {
		server := httptest.NewServer(signing(t, status, body, nil))
		got, err := asking(t, server.URL).Movements(t.Context(), noon, "a", 10)
		server.Close()
		var refused *scheme.Refused
		if err == nil || errors.As(err, &refused) != (status == 422) || !reflect.DeepEqual(got, scheme.MovementPage{}) {
			t.Errorf("%d %s: %+v, %v", status, body, got, err)
		}
	}
}
