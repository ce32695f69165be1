package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"pixd/actors/ledger"
)

func codeA(code, extra, params string) string {
	return `{"status":"failed",` + extra + `"errors":[{"code":"` + code + `","message":"why","params":{` + params + `}}]}`
}

func fieldB(field string) string { return `{"errors":{"bad_request":{"` + field + `":["why"]}}}` }

// Every refusal there is has a row.
func TestRefusePayout(t *testing.T) {
	ours := shape1("500", "internal error")
	want := map[ledger.RefusalCode]struct {
		status int
		body   string
	}{
		ledger.RefuseAmount:           {400, `{"errors":{"bad_request":"invalid or missing amount"}}`},
		ledger.RefuseKeyInvalid:       {400, `{"errors":{"bad_request":"invalid pix_key"}}`},
		ledger.RefuseKeyType:          {400, fieldB("pix_key_type")},
		ledger.RefuseKeyAmbiguous:     {422, codeA("pix_key_ambiguous", `"failure_reason":"ambiguous key",`, "")},
		ledger.RefuseDescription:      {400, fieldB("description")},
		ledger.RefuseRecipientISPB:    {400, fieldB("recipient_ispb")},
		ledger.RefuseEndToEnd:         {400, fieldB("end_to_end_id")},
		ledger.RefusePurpose:          {400, fieldB("purpose")},
		ledger.RefuseSameInstitution:  {422, codeA("same_institution_transfer", "", "")},
		ledger.RefuseDocumentRequired: {422, codeA("cnpj_out_document_required", "", "")},
		ledger.RefuseCNPJBlocked:      {422, codeA("cnpj_out_blocked", "", "")},
		ledger.RefuseCeiling:          {422, codeA("ceiling_exceeded", "", `"ceiling":5000`)},
		ledger.RefuseUnderMED:         {422, codeA("funds_under_med_hold", "", "")},
		ledger.RefuseBalance:          {422, codeA("insufficient_balance", "", "")},
		ledger.RefuseKeyNotFound:      {400, codeA("dict_key_not_found", "", "")},
		ledger.RefuseKeyBlocked:       {400, codeA("dict_key_blocked", "", "")},
		ledger.RefuseLookupFailed:     {400, codeA("dict_lookup_failed", "", "")},
		ledger.RefuseRateLimited:      {400, codeA("dict_rate_limited", "", "")},
		ledger.RefuseBucket:           {400, codeA("dict_bucket_exhausted", "", "")},
		ledger.RefuseProvider:         {400, codeA("provider_rejected", "", "")},
		ledger.RefuseProviderSchema:   {400, codeA("provider_schema_error", "", "")},
		ledger.RefuseProviderOther:    {400, codeA("provider_unknown_error", "", "")},
		ledger.RefuseSetting:          {500, ours},
		ledger.RefuseCredit:           {500, ours},
		ledger.RefuseReference:        {500, ours},
		ledger.RefuseOverflow:         {422, `{"errors":{"unprocessable_entity":"why"}}`},
		ledger.RefuseNotOpened:        {500, ours},
		ledger.RefuseAlreadyThere:     {500, ours},
		ledger.RefuseCPF:              {500, ours},
		ledger.RefuseUnknownPayout:    {500, ours},
		ledger.RefuseNotPending:       {500, ours},
		ledger.RefuseInactive:         {500, ours},
		ledger.RefuseExpired:          {500, ours},
	}
	for _, code := range ledger.Refusals() {
		r := &ledger.Refusal{Code: code, Field: code.String(), Message: "why", Ceiling: 5000}
		status, body := refusePayout(r, false)
		if status != want[code].status || string(body) != want[code].body {
			t.Errorf("%v: %d %s", code, status, body)
		}
		rendered, same := (Renderer{queueing}).write(&ledger.Answer{Refusal: r}, false)
		if rendered != status || string(same) != string(body) {
			t.Errorf("%v: rendered %d %s", code, rendered, same)
		}
	}
	status, body := refusePayout(&ledger.Refusal{Code: ledger.RefuseCNPJBlocked, Message: "why", AfterHold: true}, false)
	if want := `{"status":"failed","errors":[{"code":"cnpj_out_blocked","message":"the key belongs to a CNPJ that payouts are not authorized to","params":{}}]}`; status != 400 || string(body) != want {
		t.Errorf("after the hold: %d %s", status, body)
	}
}

func TestRefuseCharge(t *testing.T) {
	for code, field := range map[ledger.RefusalCode]string{ledger.RefuseAmount: "amount", ledger.RefuseDescription: "description", ledger.RefuseCPF: "cpf"} {
		status, body := refuseField(&ledger.Refusal{Code: code, Field: field, Message: "why"}, false)
		if want := `{"worked":false,"errors":{"bad_request":{"` + field + `":["why"]}}}`; status != 400 || string(body) != want {
			t.Errorf("%v: %d %s", code, status, body)
		}
	}
	if status, body := refuseField(&ledger.Refusal{Code: ledger.RefuseNotOpened}, false); status != 500 {
		t.Errorf("%d %s", status, body)
	}
}

func TestForms(t *testing.T) {
	f := newFixture(t)
	long := fmt.Sprintf("%141d", 0)
	for body, want := range map[string]string{
		`{"pix_key":"a@b.com"}`:                                  `{"errors":{"bad_request":"invalid or missing amount"}}`,
		`{"amount":1}`:                                           `{"errors":{"bad_request":"invalid pix_key"}}`,
		`{"amount":1,"pix_key":12}`:                              `{"errors":{"bad_request":"invalid pix_key"}}`,
		`{"amount":1,"pix_key":"nonsense"}`:                      `{"errors":{"bad_request":"invalid pix_key"}}`,
		`{"amount":1,"pix_key":"a@b.com","pix_key_type":"iban"}`: `{"errors":{"bad_request":{"pix_key_type":["…`,
		`{"amount":1,"pix_key":"a@b.com","pix_key_type":7}`:      `{"errors":{"bad_request":{"pix_key_type":["…`,
		`{"amount":1,"pix_key":"a@b.com","purpose":"` + strings.Repeat("ç", 501) + `"}`: `{"errors":{"bad_request":{"purpose":["…`,
		`{"amount":1,"pix_key":"a@b.com","recipient_ispb":"1"}`:                         `{"errors":{"bad_request":{"recipient_ispb":["…`,
		`{"amount":1,"pix_key":"a@b.com","recipient_ispb":12345678}`:                    `{"errors":{"bad_request":{"recipient_ispb":["…`,
		`{"amount":1,"end_to_end_id":"E1","pix_key":"a@b.com"}`:                         `{"errors":{"bad_request":{"end_to_end_id":["…`,
		`{"amount":1,"description":"` + long + `","pix_key":"a@b.com"}`:                 `{"errors":{"bad_request":{"description":["…`,
		`{"amount":1,"description":["x"],"pix_key":"a@b.com"}`:                          `{"errors":{"bad_request":{"description":["…`,
		`{"amount":1,"description":["x"],"pix_key":"x"}`:                                `{"errors":{"bad_request":"invalid pix_key"}}`,
		`{"amount":1,"description":{},"pix_key":"a@b.com","purpose":{}}`:                `{"errors":{"bad_request":{"description":["…`,
	} {
		f.expect(sent{path: cashOut, body: body}, 400, want)
	}
	f.expect(sent{path: cashOut, body: `{"amount":1,"pix_key":"12345678909"}`}, 422, `{"status":"failed","failure_reason":"ambiguous key","errors":[{"code":"pix_key_ambiguous",…`)
	f.expect(sent{path: cashIn, body: `{"amount":1,"description":5}`}, 400, `{"worked":false,"errors":{"bad_request":{"description":["…`)
	f.expect(sent{path: cashIn, body: `{"amount":"1","description":5}`}, 400, `{"worked":false,"errors":{"bad_request":{"amount":["…`)
	f.expect(sent{path: cashIn, body: `{}`}, 400, `{"worked":false,"errors":{"bad_request":{"amount":["…`)
	if f.engine.command != nil {
		t.Errorf("the engine was asked: %+v", f.engine.command)
	}
}

func TestEngineErrors(t *testing.T) {
	f := newFixture(t)
	for err, want := range map[error]struct {
		status int
		body   string
	}{
		ledger.ErrBusy:        {503, shape1("503", "too much work is waiting")},
		ledger.ErrWaited:      {503, shape1("503", "the first request under this key has not been answered")},
		ledger.ErrQuarantined: {503, shape1("503", "account is closed off after damage")},
		ledger.ErrInternal:    {500, shape1("500", "internal error")},
		fmt.Errorf("account acc_x: facts of it: %w", ledger.ErrBusy): {503, shape1("503", "too much work is waiting")},
		fmt.Errorf("anything else"):                                  {500, shape1("500", "internal error")},
		ledger.ErrUnknown:                                            {401, shape1("401", "Invalid API key credentials")},
	} {
		f.engine.err = err
		for _, s := range []sent{{path: cashOut, body: payBody}, {path: cashIn, body: someBody}, {method: "GET", path: balance}} {
			g := f.expect(s, want.status, want.body)
			if retry := g.header("Retry-After"); (retry == "1") != (want.status == 503) {
				t.Errorf("%v: Retry-After %q", err, retry)
			}
		}
	}
}
