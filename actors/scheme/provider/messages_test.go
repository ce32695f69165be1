package provider

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

var notices = []scheme.Notice{
	{Kind: scheme.PaymentSettled, Tx: payout.Tx, EndToEnd: payout.EndToEnd},
	{Kind: scheme.PaymentSettled, Tx: payout.Tx, EndToEnd: payout.EndToEnd, Account: 7},
	{Kind: scheme.PaymentRejected, Tx: payout.Tx, EndToEnd: payout.EndToEnd, Reason: "AC03"},
	{Kind: scheme.PaymentArrived, EndToEnd: payout.EndToEnd, Arrived: ledger.ReceivePayment{
		EndToEnd: payout.EndToEnd, Amount: pix.MaxAmount, Key: "k", TxID: "PIXIN5", PayerName: "Zé <&>", PayerDocument: "any thing",
		PayerISPB: "99999003", Description: "pão", PaidAt: 1_790_000_000_007,
	}},
	{Kind: scheme.PaymentArrived, EndToEnd: payout.EndToEnd, Arrived: ledger.ReceivePayment{EndToEnd: payout.EndToEnd, Amount: 1, Key: "k"}},
	{
		Kind: scheme.ReturnReceived, Tx: payout.Tx, EndToEnd: payout.EndToEnd, ReturnID: returnID, Amount: pix.MaxAmount, Reason: "MD06",
	},
	{Kind: scheme.PaymentArrived, EndToEnd: payout.EndToEnd, Arrived: ledger.ReceivePayment{EndToEnd: payout.EndToEnd, Amount: 1}},
	{Kind: scheme.PaymentArrived, EndToEnd: payout.EndToEnd, Account: 7, Arrived: ledger.ReceivePayment{EndToEnd: payout.EndToEnd, Amount: 1, Key: "k"}},
	{Kind: scheme.InfractionOpened, EndToEnd: payout.EndToEnd, Account: 7, Infraction: "i.1_-A", Amount: 1, Situation: "OTHER"},
	{Kind: scheme.InfractionCancelled, EndToEnd: payout.EndToEnd, Infraction: "i"},
	{Kind: scheme.RefundSettled, Tx: payout.Tx, EndToEnd: returnID, Account: 7},
	{Kind: scheme.RefundSettled, Tx: payout.Tx, EndToEnd: returnID},
	{Kind: scheme.RefundRejected, Tx: payout.Tx, EndToEnd: "nonsense", Account: 7, Reason: "FF08"},
}

const returnID = "D9999900520261029120100000000003"

// TestNoticesTravel checks that a notice of every kind is read as it was sent.
func TestNoticesTravel(t *testing.T) {
	for _, n := range notices {
		got, err := ReadNotice(encode(TellNotice(n)))
		if err != nil || !reflect.DeepEqual(got, n) {
			t.Errorf("%+v, was %+v (%v)", got, n, err)
		}
	}
}

func TestNoticesRefused(t *testing.T) {
	const ids = `"transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E1"`
	arrived := func(a string) string {
		return `{"kind":"payment_arrived","end_to_end_id":"` + payout.EndToEnd + `","arrived":` + a + `}`
	}
	back := func(more string) string { return `{"kind":"return_received",` + ids + more + `}` }
	const backID, report = `,"return_id":"` + returnID + `"`, `"end_to_end_id":"E9999900420261029120000000000001","infraction_id":"i"`
	for body, want := range map[string]string{
		back(``):                                                                                                   "reason",
		back(`,"amount":1,"reason":"MD06"`):                                                                        "return_id",
		back(backID + `,"amount":1`):                                                                               "reason",
		back(backID + `,"reason":"MD06"`):                                                                          "amount",
		back(backID + `,"reason":"MD06","amount":-1`):                                                              "amount",
		back(backID + `,"reason":"MD06","amount":99999999999901`):                                                  "amount",
		back(backID + `,"reason":"MD06","amount":1,"arrived":{}`):                                                  "arrived",
		back(backID + `,"reason":"MD06","amount":1,"infraction_id":"i"`):                                           "infraction_id",
		back(`,"return_id":"E9999900520261029120100000000003","reason":"MD06","amount":1`):                         "return_id",
		back(`,"return_id":"D1","reason":"MD06","amount":1`):                                                       "return_id",
		back(backID + `,"amount":1,"reason":"` + strings.Repeat("x", 36) + `"`):                                    "reason",
		`{"kind":"return_received","end_to_end_id":"E1"` + backID + `,"reason":"MD06","amount":1}`:                 "transaction_id",
		`{"kind":"payment_settled",` + ids + backID + `}`:                                                          "return_id",
		`{"kind":"return_settled",` + ids + `,"reason":"CH16"}`:                                                    "reason",
		`{"kind":"return_settled",` + ids + `,"amount":1}`:                                                         "amount",
		`{"kind":"return_settled",` + ids + backID + `}`:                                                           "return_id",
		`{"kind":"return_settled",` + ids + `,"arrived":{}}`:                                                       "arrived",
		`{"kind":"return_settled",` + ids + `,"infraction_id":"i"}`:                                                "infraction_id",
		`{"kind":"return_settled",` + ids + `,"situation":"SCAM"}`:                                                 "situation",
		`{"kind":"return_settled",` + ids + `,"original_end_to_end_id":"E1"}`:                                      "original_end_to_end_id",
		`{"kind":"return_settled",` + ids + `,"account_id":"7"}`:                                                   "account_id must be",
		`{"kind":"return_settled","end_to_end_id":"D1"}`:                                                           "transaction_id",
		`{"kind":"return_settled","transaction_id":"01a1fe44-4219-700c-8000-000000000000"}`:                        "end_to_end_id",
		`{"kind":"return_rejected",` + ids + `}`:                                                                   "reason",
		`{"kind":"return_rejected",` + ids + `,"reason":"` + strings.Repeat("x", 36) + `"}`:                        "reason",
		`{"kind":"return_rejected",` + ids + `,"reason":"CH16","amount":1}`:                                        "amount",
		`{"kind":"return_rejected","end_to_end_id":"D1","reason":"CH16"}`:                                          "transaction_id",
		`{"kind":"infraction_opened",` + report + `,"situation":"SCAM"}`:                                           "amount",
		`{"kind":"infraction_opened",` + report + `,"amount":1}`:                                                   "situation",
		`{"kind":"infraction_opened",` + report + `,"amount":1,"situation":"scam"}`:                                "situation",
		`{"kind":"infraction_opened",` + ids + `,"amount":1,"situation":"SCAM","infraction_id":"i"}`:               "transaction_id",
		`{"kind":"infraction_opened","end_to_end_id":"E1","infraction_id":"i","amount":1}`:                         "end_to_end_id",
		`{"kind":"infraction_opened","end_to_end_id":"E9999900420261029120000000000001","amount":1}`:               "infraction_id",
		`{"kind":"infraction_cancelled",` + report + `,"amount":1}`:                                                "amount",
		`{"kind":"infraction_cancelled",` + report + `,"situation":"SCAM"}`:                                        "situation",
		`{"kind":"infraction_cancelled",` + report + `,"reason":"x"}`:                                              "reason",
		`{"kind":"infraction_cancelled","end_to_end_id":"E9999900420261029120000000000001","infraction_id":"a b"}`: "infraction_id",
		``: "JSON object", `[]`: "JSON object", `{}`: "kind is required", `{"kind":7}`: "kind",
		`{"kind":"payment_settled",` + ids + `,"amount":1}`:                                    "amount",
		`{"kind":"payment_settled",` + ids + `,"reason":"AC03"}`:                               "reason",
		`{"kind":"payment_rejected",` + ids + `}`:                                              "reason",
		`{"kind":"payment_settled",` + ids + `,"account_id":"7"}`:                              "account_id must be",
		`{"kind":"payment_settled",` + ids + `,"arrived":{}}`:                                  "arrived",
		`{"kind":"payment_settled","kind":"payment_rejected",` + ids + `}`:                     "twice",
		`{"kind":"payment_settled","end_to_end_id":"E1"}`:                                      "transaction_id",
		`{"kind":"payment_settled","transaction_id":"01a1fe44-4219-700c-8000-000000000000"}`:   "end_to_end_id",
		`{"Kind":"payment_settled",` + ids + `}`:                                               `unknown field "Kind"`,
		arrived(`null`):                                                                        "arrived is required",
		arrived(`{"amount":0,"pix_key":"k"}`):                                                  "amount",
		arrived(`{"amount":-5,"pix_key":"k"}`):                                                 "amount",
		arrived(`{"amount":1.5,"pix_key":"k"}`):                                                "amount",
		arrived(`{"amount":"1","pix_key":"k"}`):                                                "amount",
		arrived(`{"amount":99999999999901}`):                                                   "amount",
		arrived(`{"amount":9223372036854775808}`):                                              "amount",
		arrived(`{"amount":1,"pix_key":"k","paid_at":"soon"}`):                                 "arrived.paid_at must be",
		arrived(`{"amount":1,"pix_key":"k","paid_at":7}`):                                      "paid_at",
		arrived(`{"amount":1,"pix_key":"k","x":{}}`):                                           "x",
		`{"kind":"payment_arrived","end_to_end_id":"E1","arrived":{"amount":1,"pix_key":"k"}}`: "end_to_end_id",
		"{\"kind\":\"\xff\"}":                                                                  "UTF-8",
		`{"kind":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`:                   "deep",
	} {
		if n, err := ReadNotice([]byte(body)); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrKind) {
			t.Errorf("%s: %+v, %v", body, n, err)
		}
	}
	if _, err := ReadNotice([]byte(`{"kind":"moon_risen","moon":{"id":"D1"}}`)); !errors.Is(err, ErrKind) {
		t.Errorf("a kind to come: %v", err)
	}
}

// TestRecipientISPB checks that a recipient's ISPB in a submission must be empty or 8 digits,
// as in a merchant's request.
func TestRecipientISPB(t *testing.T) {
	const before = `{"transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E1A2B3C4D20261029120000000000001","account_id":"acc_7wlwlb76tauiu","amount":1,"key":{"type":"cpf","value":"12345678909"},"recipient_ispb":"`
	for ispb, good := range map[string]bool{"60701190": true, "": true, "1A2B3C4D": false, "6070119": false} {
		p, err := ReadPayment([]byte(before + ispb + `"}`))
		if (err == nil) != good || err == nil && p.RecipientISPB != ispb || err != nil && err.Error() != "recipient_ispb must be 8 digits" {
			t.Errorf("%q: %+v, %v", ispb, p, err)
		}
	}
}

func FuzzReadNotice(f *testing.F) {
	for _, n := range notices {
		f.Add(encode(TellNotice(n)))
	}
	f.Add([]byte(`{"kind":"moon_risen"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := ReadNotice(body)
		if err != nil {
			return
		}
		again, err := ReadNotice(encode(TellNotice(n)))
		if err != nil || !reflect.DeepEqual(n, again) {
			t.Errorf("%s: %+v, then %+v (%v)", body, n, again, err)
		}
		if n.Kind == scheme.PaymentArrived && (n.Arrived.Amount < 1 || n.Arrived.Amount > pix.MaxAmount) {
			t.Errorf("%s: %+v", body, n)
		}
	})
}

// FuzzReadRequests checks that every payment which ReadPayment accepts, and every refund which
// ReadReturn accepts, can be encoded and read again without a change.
func FuzzReadRequests(f *testing.F) {
	f.Add([]byte(`{"transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E1","account_id":"acc_7wlwlb76tauiu","amount":1,"key":{"type":"cpf","value":"12345678909"}}`))
	f.Add([]byte(`{"account_id":"acc_7wlwlb76tauiu","key":{"type":"evp","value":"0b6e4c1e-8f7a-4d3b-9c2a-1f2e3d4c5b6a"}}`))
	f.Add([]byte(`{"transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E1"}`))
	f.Add(encode(returnOf(repayment)))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := ReadReturn(body); err == nil {
			again, err := ReadReturn(encode(returnOf(r)))
			if err != nil || again != r || r.Amount < 1 || r.Amount > pix.MaxAmount {
				t.Errorf("%s: %+v, then %+v (%v)", body, r, again, err)
			}
		}
		if p, err := ReadPayment(body); err == nil {
			again, err := ReadPayment(encode(paymentOf(p)))
			if err != nil || again != p {
				t.Errorf("%s: %+v, then %+v (%v)", body, p, again, err)
			}
		}
		_, _ = ReadLookup(body)
		_, _, _ = ReadQuestion(body)
		_, _, _ = ReadRegistration(body)
		var free map[string]any
		if err := decode(body, &free, true); err == nil && (!utf8.Valid(body) || json.Unmarshal(body, &free) != nil) {
			t.Errorf("%q was read", body)
		}
	})
}

// TestKeysAsTheDirectorySpellsThem checks that a key in a message is taken in the directory's spelling alone, under the name of
// its own type.
func TestKeysAsTheDirectorySpellsThem(t *testing.T) {
	for _, k := range []Key{
		{"cpf", "52998224725"},
		{"cnpj", "11222333000181"},
		{"email", "a@b.example"},
		{"phone", "+5511999999999"},
		{"evp", "123e4567-e89b-12d3-a456-426655440000"},
	} {
		if got, err := k.parse(); err != nil || keyOf(got) != k {
			t.Errorf("%+v: %+v (%v)", k, got, err)
		}
	}
	for _, k := range []Key{
		{},
		{"CPF", "52998224725"},
		{"random", "123e4567-e89b-12d3-a456-426655440000"},
		{"cpf", "529.982.247-25"},
		{"cpf", "11222333000181"},
		{"email", "A@b.example"},
		{"phone", "11999999999"},
		{"evp", "123E4567-E89B-12D3-A456-426655440000"},
		{"evp", ""},
	} {
		if got, err := k.parse(); err == nil {
			t.Errorf("%+v is taken as %+v", k, got)
		}
	}
}
