package httpapi

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
)

const accountPath = "/api/external/account"

// TestAccount checks the answer of GET /account with terms and without, in both cases of keys.
func TestAccount(t *testing.T) {
	f := newFixture(t)
	a := head()
	threshold := pix.Amount(0)
	a.Settings = ledger.Settings{
		Name: `Loja "Aurora"`, Document: "12345678000195", CashInFee: ledger.Fee{Fixed: 100, BPS: 99}, CashOutFee: ledger.Fee{BPS: 50},
		CashOutCeiling: 5_000_000, ApprovalThreshold: &threshold, RepeatWindow: 12 * 3_600_000,
	}
	f.engine.answer = ledger.Answer{Head: a}
	makeKey(t, f.keys, "cli_two", registry.APIKey{Permissions: registry.AccountRead | registry.PixRead})
	get := sent{method: "GET", path: accountPath, client: "cli_two"}
	const first = `{"worked":true,"account_id":"acc_aaaaaaaaaaaao","name":"Loja \"Aurora\"","document":"12345678000195","active":true,"state":"active","ispb":"99999004",`
	const instant = `"2026-09-21T14:13:20.000Z"}`
	f.expect(get, 200, first+`"fees":{"cash_in":{"fixed":100,"bps":99},"cash_out":{"fixed":0,"bps":50}},`+
		`"cash_out_ceiling":5000000,"approval_threshold":0,"repeat_window":"12h","permissions":["pix:read","account:read"],"time":`+instant)
	if _, ok := f.engine.command.(ledger.ReadAccount); !ok || f.engine.account != merchant {
		t.Errorf("the command is %T of %v", f.engine.command, f.engine.account)
	}
	a.Settings.CashOutCeiling, a.Settings.ApprovalThreshold, a.Settings.RepeatWindow = 0, nil, 90_000
	get.headers = []string{"X-Key-Case", "camelCase"}
	f.expect(get, 200, `{"worked":true,"accountId":"acc_aaaaaaaaaaaao","name":"Loja \"Aurora\"","document":"12345678000195","active":true,"state":"active","ispb":"99999004",`+
		`"fees":{"cashIn":{"fixed":100,"bps":99},"cashOut":{"fixed":0,"bps":50}},"cashOutCeiling":null,"approvalThreshold":null,"repeatWindow":"1m30s",`+
		`"permissions":["pix:read","account:read"],"time":`+instant)
	f.expect(sent{method: "GET", path: accountPath, client: "cli_nothing"}, 403, `{"error":"forbidden","message":"API key lacks permission: account:read"}`)
	f.expect(sent{method: "GET", path: accountPath, client: "cli_dormant"}, 403, shape1("403", "Account is not active"))
	f.engine.answer, f.engine.err = ledger.Answer{}, ledger.ErrBusy
	f.expect(get, 503, `{"error":{"status":503,…`)
}
