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

	damaged int

	listed []*ledger.Transaction
}

func (p *pages) InFlight(a pix.AccountID, s []pix.TxStatus, after []byte, limit int) (layout.Listed[ledger.Owned], error) {
	p.asked = fmt.Sprintf("%v %v %x %d", a, s, after, limit)
	return layout.Listed[ledger.Owned]{Entries: p.all, Next: p.next, Damaged: p.damaged}, nil
}

func (p *pages) Transactions(a pix.AccountID, external string, f layout.Filter, l layout.Page) ([]*ledger.Transaction, error) {
	p.asked = fmt.Sprintf("%v %q %+v %+v", a, external, f, l)
	if external == "slow" {
		return nil, layout.ErrTooLong
	}
	return p.listed, nil
}

func (p *pages) Anyone(string) (*ledger.Owned, error) { return &p.all[0], nil }

func (p *pages) FinalPayouts(a pix.AccountID, s pix.TxStatus, after []byte, limit int) (layout.Listed[ledger.Owned], error) {
	p.asked = fmt.Sprintf("%v ended %v %x %d", a, s, after, limit)
	return layout.Listed[ledger.Owned]{Entries: p.all, Next: p.next, Damaged: p.damaged}, nil
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
	p.damaged = 3
	f.expect("GET", "/admin/payouts", "", 200, `{"data":[],"next_cursor":null,"damaged":3}`)
	f.expect("GET", "/admin/payouts?account_id=acc_x", "", 404, `{"error":{"status":404,"message":"no account \"acc_x\""}}`)
	for query, field := range map[string]string{
		fmt.Sprintf("?status=settled&cursor=%x", place): "cursor", fmt.Sprintf("?cursor=%x", layout.ItemKey(7, 2)): "cursor",
		"?status=held": "status", "?status=x": "status", "?limit=x": "limit", "?cursor=zz": "cursor", "?cursor=00": "cursor",
	} {
		f.expect("GET", "/admin/payouts"+query, "", 400, `{"error":{"status":400,"message":"`+field+` must be…`)
	}
}

// TestAccountTransactions checks what the list of an account's transactions asks the history for, and its pages.
func TestAccountTransactions(t *testing.T) {
	f := newFixture(t)
	id := f.account()
	account, _ := pix.ParseAccountID(id)
	p := &pages{History: f.options.History, listed: []*ledger.Transaction{{ID: pix.TxID{1}, Kind: pix.TxPayout, Status: pix.StatusPending, Amount: 700}}}
	f.options.History = p
	f.handler = New(f.options)
	path := "/admin/accounts/" + id + "/transactions"
	for query, want := range map[string]struct{ asked, next string }{
		"":         {fmt.Sprintf("%v %q %+v {Number:1 Size:50}", account, "", layout.Filter{}), `null`},
		"?limit=1": {fmt.Sprintf("%v %q %+v {Number:1 Size:1}", account, "", layout.Filter{}), `"2"`},
		"?limit=1&cursor=7&status=active&type=ted&direction=outbound&date_from=2026-03-01&date_to=2026-03-01&external_id=order-1&original_transaction_id=x": {
			fmt.Sprintf("%v %q %+v {Number:7 Size:1}", account, "order-1", layout.Filter{
				Status: layout.FilterActive, Type: layout.FilterTED, Direction: layout.FilterOutbound, From: 1772323200000, Until: 1772409600000, Original: "x",
			}), `"8"`,
		},
	} {
		body := f.expect("GET", path+query, "", 200, `{"data":[{"account_id":"`+id+`","state":"pending_approval","id":"…`)
		if p.asked != want.asked || !strings.HasSuffix(body, `"next_cursor":`+want.next+`}`) {
			t.Errorf("%s asks for %s, want %s\n%s", query, p.asked, want.asked, body)
		}
	}
	for query, field := range map[string]string{
		"?limit=0": "limit", "?cursor=1": "cursor", "?cursor=x": "cursor", "?status=x": "status", "?type=x": "type", "?direction=x": "direction",
		"?date_from=x": "date_from", "?date_from=2026-03-02&date_to=2026-03-01": "date_from", "?external_id=": "external_id", "?original_transaction_id=": "original_transaction_id",
	} {
		f.expect("GET", path+query, "", 400, `{"error":{"status":400,"message":"`+field+` must…`)
	}
	f.expect("GET", path+"?external_id=slow", "", 503, `{"error":{"status":503,"message":"the list takes too long to read: ask for fewer"}}`)
	f.expect("GET", "/admin/accounts/acc_x/transactions", "", 404, `{"error":{"status":404,…`)
}

// TestReceipt checks that a receipt is drawn of a transaction that has moved money alone.
func TestReceipt(t *testing.T) {
	f := newFixture(t)
	id := f.account()
	made := f.expect("POST", "/admin/accounts/"+id+"/credits", `{"amount":7,"type":"ted"}`, 201, `{"id":"…`)
	tx := member(t, made, "id")
	busy := false
	f.options.Receipt = func(a pix.AccountID, t *ledger.Transaction, own *ledger.Settings) ([]byte, error) {
		if busy {
			return nil, ledger.ErrBusy
		}
		return fmt.Appendf(nil, "%%PDF %v %v %s", a, t.ID, own.Name), nil
	}
	f.handler = New(f.options)
	f.expect("GET", "/admin/transactions/"+tx+"/receipt", "", 200, "%PDF "+id+" "+tx+" Ana")
	busy = true
	f.expect("GET", "/admin/transactions/"+tx+"/receipt", "", 503, `{"error":{"status":503,"message":"receipts of account …`)
	f.expect("GET", "/admin/transactions/nobody/receipt", "", 404, `{"error":{"status":404,…`)
	p := &pages{History: f.options.History, all: []ledger.Owned{{Account: 7, Tx: &ledger.Transaction{ID: pix.TxID{1}, Kind: pix.TxPayout, Status: pix.StatusAccepted}}}}
	f.options.History = p
	f.handler = New(f.options)
	f.expect("GET", "/admin/transactions/any/receipt", "", 422, problem(422, "only a transaction that has settled has a receipt"))
}

// TestDisclosures checks that asking for documents is on record, and changes nothing else.
func TestDisclosures(t *testing.T) {
	f := newFixture(t)
	id := f.account()
	made := f.expect("POST", "/admin/accounts/"+id+"/credits", `{"amount":7,"type":"ted"}`, 201, `{"id":"…`)
	var tx struct{ ID string }
	if err := json.Unmarshal([]byte(made), &tx); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{id, tx.ID} {
		f.expect("POST", "/admin/disclosures", `{"subject":"`+subject+`"}`, 201, `{"subject":"`+subject+`"}`)
		if all := f.expect("GET", "/admin/actions?limit=1", "", 200, `{"data":[…`); !strings.Contains(all, `"method":"POST","path":"/admin/disclosures","body":"{\"subject\":\"`+subject+`\"}","status":201`) {
			t.Errorf("%s", all)
		}
	}
	f.expect("POST", "/admin/disclosures", `{"subject":"acc_x"}`, 404, `{"error":{"status":404,"message":"no account and no transaction \"acc_x\""}}`)
	for _, body := range []string{`{}`, `{"subject":1}`, `{"subject":"x","why":"y"}`} {
		f.expect("POST", "/admin/disclosures", body, 400, `{"error":{"status":400,…`)
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
