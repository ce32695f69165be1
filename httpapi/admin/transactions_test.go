package admin

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// pages is a History that records the arguments with which it was called.
type pages struct {
	History
	asked string
	all   []ledger.Owned
	next  []byte
}

func (p *pages) InFlight(a pix.AccountID, s []pix.TxStatus, after []byte, limit int) ([]ledger.Owned, []byte, error) {
	p.asked = fmt.Sprintf("%v %v %x %d", a, s, after, limit)
	return p.all, p.next, nil
}

func (p *pages) FinalPayouts(a pix.AccountID, s pix.TxStatus, after []byte, limit int) ([]ledger.Owned, []byte, error) {
	p.asked = fmt.Sprintf("%v ended %v %x %d", a, s, after, limit)
	return p.all, p.next, nil
}

func TestPayoutsInFlight(t *testing.T) {
	f := newFixture(t)
	id := f.account()
	account, _ := pix.ParseAccountID(id)
	tx := &ledger.Transaction{ID: pix.TxID{1}, Kind: pix.TxPayout, Status: pix.StatusAccepted, Amount: 700}
	place := layout.OpenKey(account, tx.ID)
	p := &pages{History: f.options.History, all: []ledger.Owned{{Account: account, Tx: tx}}, next: place}
	f.options.History = p
	f.handler = New(f.options)
	for query, want := range map[string]string{
		"":                         fmt.Sprintf("%v []  50", pix.AccountID(0)),
		"?account_id=" + id:        fmt.Sprintf("%v []  50", account),
		"?status=accepted&limit=3": fmt.Sprintf("%v [%v %v]  3", pix.AccountID(0), pix.StatusAccepted, pix.StatusSending),
		"?status=queued":           fmt.Sprintf("%v [%v]  50", pix.AccountID(0), pix.StatusQueued),
		"?status=pending_approval": fmt.Sprintf("%v [%v]  50", pix.AccountID(0), pix.StatusPending),
		"?status=sending":          fmt.Sprintf("%v [%v]  50", pix.AccountID(0), pix.StatusSending),
		"?status=settled":          fmt.Sprintf("%v ended %v  50", pix.AccountID(0), pix.StatusSettled),
		"?status=rejected":         fmt.Sprintf("%v ended %v  50", pix.AccountID(0), pix.StatusRejected),
		fmt.Sprintf("?status=failed&cursor=%x", layout.ItemKey(7, 2)): fmt.Sprintf("%v ended %v %x 50", pix.AccountID(0), pix.StatusFailed, layout.ItemKey(7, 2)),
		fmt.Sprintf("?cursor=%x", place):                              fmt.Sprintf("%v [] %x 50", pix.AccountID(0), place),
	} {
		body := f.expect("GET", "/admin/payouts"+query, "", 200, `{"data":[{"account_id":"`+id+`","state":"accepted","id":"…`)
		if p.asked != want || !strings.HasSuffix(body, `"next_cursor":"`+hex.EncodeToString(place)+`"}`) || !json.Valid([]byte(body)) {
			t.Errorf("%s asks for %q, want %q\n%s", query, p.asked, want, body)
		}
	}
	p.all, p.next = nil, nil
	f.expect("GET", "/admin/payouts", "", 200, `{"data":[],"next_cursor":null}`)
	f.expect("GET", "/admin/payouts?account_id=acc_x", "", 404, `{"error":{"status":404,"message":"no account \"acc_x\""}}`)
	for query, field := range map[string]string{
		fmt.Sprintf("?status=settled&cursor=%x", place): "cursor", fmt.Sprintf("?cursor=%x", layout.ItemKey(7, 2)): "cursor",
		"?status=held": "status", "?status=x": "status", "?limit=x": "limit", "?cursor=zz": "cursor", "?cursor=00": "cursor",
	} {
		f.expect("GET", "/admin/payouts"+query, "", 400, `{"error":{"status":400,"message":"`+field+` must be…`)
	}
}

func TestAnyTransaction(t *testing.T) {
	f := newFixture(t)
	id := f.account()
	made := f.expect("POST", "/admin/accounts/"+id+"/credits", `{"amount":7,"type":"ted"}`, 201, `{"id":"…`)
	var tx struct {
		ID     string `json:"id"`
		Public string `json:"transaction_id"`
	}
	if err := json.Unmarshal([]byte(made), &tx); err != nil {
		t.Fatal(err)
	}
	want := `{"account_id":"` + id + `","state":"completed",` + made[1:]
	f.expect("GET", "/admin/transactions/"+tx.ID, "", 200, want)
	f.expect("GET", "/admin/transactions/"+tx.Public, "", 200, want)
	f.expect("GET", "/admin/transactions/E99999004202603011200aaaaaaaaaaa", "", 404, `{"error":{"status":404,"message":"no transaction…`)
	f.expect("GET", "/admin/transactions/x%zz", "", 404, `{"error":{"status":404,…`)
}

// account makes an account and returns its id.
func (f *fixture) account() string {
	f.t.Helper()
	var a struct {
		ID string `json:"account_id"`
	}
	if status, got := f.send("POST", "/admin/accounts", `{"name":"Ana","document":"12345678909"}`); status != 201 || json.Unmarshal([]byte(got), &a) != nil {
		f.t.Fatalf("%d %s", status, got)
	}
	return a.ID
}
