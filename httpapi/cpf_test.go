package httpapi

import (
	"strings"
	"testing"

	"pixd/actors/ledger"
)

const validate = "/api/external/cpf/validate"

func TestValidateCPF(t *testing.T) {
	f := newFixture(t)
	for in, want := range map[string]string{
		`"12345678909"`:    `{"worked":true,"valid":true,"cpf":"12345678909"}`,
		`"123.456.789-09"`: `{"worked":true,"valid":true,"cpf":"12345678909"}`,
		`"529.982.247-25"`: `{"worked":true,"valid":true,"cpf":"52998224725"}`,
		`" 12345678909 "`:  `{"worked":true,"valid":true,"cpf":"12345678909"}`,
		`"12345678908"`:    `{"worked":true,"valid":false,"cpf":"12345678908"}`,
		`"12345678919"`:    `{"worked":true,"valid":false,"cpf":"12345678919"}`,
		`"11111111111"`:    `{"worked":true,"valid":false,"cpf":"11111111111"}`,
		`"1234567890"`:     `{"worked":true,"valid":false,"cpf":"1234567890"}`,
		`"112345678909"`:   `{"worked":true,"valid":false,"cpf":"112345678909"}`,
		`"12345678909x"`:   `{"worked":true,"valid":false,"cpf":"12345678909"}`,
		`"+5511987654321"`: `{"worked":true,"valid":false,"cpf":"5511987654321"}`,
		`""`:               `{"worked":true,"valid":false,"cpf":""}`,
		`"１２３４５６７８９０９"`:    `{"worked":true,"valid":false,"cpf":""}`,
	} {
		f.expect(sent{path: validate, body: `{"cpf":` + in + `}`, client: "cli_balance"}, 200, want)
	}
	for _, body := range []string{`{}`, `{"cpf":null}`, `{"cpf":12345678909}`, `{"cpf":["12345678909"]}`, `{"CPF":"12345678909"}`, `{"cpf":"` + strings.Repeat("1", 65) + `"}`} {
		f.expect(sent{path: validate, body: body}, 400, `{"worked":false,"errors":{"bad_request":{"cpf":["cpf must be a string, and of at most 64 bytes"]}}}`)
	}
	if f.engine.all != nil {
		t.Errorf("the engine was asked: %v", f.engine.all)
	}
	f.expect(sent{path: validate, body: `{"cpf":"1"}`, client: "cli_nothing"}, 403, `{"error":"forbidden","message":"API key lacks permission: account:read"}`)
}

// TestValidateCPFUnderAKey checks that the answer to a request with an idempotency key is
// kept, byte for byte.
func TestValidateCPFUnderAKey(t *testing.T) {
	f := newFixture(t)
	body := `{"worked":true,"valid":true,"cpf":"12345678909"}`
	f.engine.answer = ledger.Answer{Stored: &ledger.Stored{Code: 200, Body: []byte(body)}}
	f.expect(sent{path: validate, body: `{"cpf":"12345678909"}`, headers: []string{"Idempotency-Key", "k"}}, 200, body)
	k, ok := f.engine.command.(ledger.KeepAnswer)
	if !ok || k.Claim == nil || k.Stored.Code != 200 || string(k.Stored.Body) != body {
		t.Errorf("%+v", f.engine.command)
	}
}
