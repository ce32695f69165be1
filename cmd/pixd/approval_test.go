package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestApprovalCommands checks that an operator's command sends a waiting payout or makes it
// fail, and that the merchant sees the decision.
func TestApprovalCommands(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	p.reported("account", "set", s.ID, "--approval-threshold", "700")
	p.made("/admin/accounts/"+s.ID+"/credits", `{"amount":1000000,"type":"ted"}`, nil)
	request := func(body string) (tx struct {
		ID     string `json:"transaction_id"`
		Status string
	},
	) {
		status, got, err := s.ask(p.merchant, "/pix/cash-out", body, "")
		if err != nil || status != 202 || json.Unmarshal(got, &tx) != nil {
			t.Fatalf("%d %s %v", status, got, err)
		}
		return tx
	}
	if below := request(`{"amount":6,"pix_key":"a@pix.test"}`); below.Status != "accepted" {
		t.Errorf("below the threshold: %+v", below)
	}
	first, second := request(`{"amount":7,"pix_key":"a@pix.test"}`), request(`{"amount":8,"pix_key":"a@pix.test"}`)
	if first.Status != "pending_approval" || second.Status != "pending_approval" {
		t.Fatalf("%+v %+v", first, second)
	}
	same(t, p.reported("decline", second.ID, "--operator", "Ana"), `
transaction    `+second.ID+`
account        `+s.ID+`
state          failed
reason         approval_declined
amount         800 (0.08 BRL)
fee            0 (0.00 BRL)
to             a@pix.test
end-to-end id  E99999004{}
created        {}Z
`)
	approved := p.reported("approve", first.ID, "--operator", "Ana")
	same(t, approved, `
transaction    `+first.ID+`
account        `+s.ID+`
state          sending
amount         700 (0.07 BRL)
fee            0 (0.00 BRL)
to             a@pix.test
end-to-end id  E99999004{}
created        {}Z
`)
	var again struct {
		ID    string `json:"transaction_id"`
		State string
	}
	if p.read(&again, "approve", first.ID, "--operator", "Rui"); again.ID != first.ID {
		t.Errorf("%+v", again)
	}
	for args, want := range map[string]string{
		"approve " + second.ID: "pixd: the payout was declined already (409)\n", "decline " + first.ID: "pixd: the payout was approved already (409)\n",
	} {
		if code, out, errs := p.operates(append(strings.Fields(args), "--operator", "Ana")...); code != 1 || out != "" || errs != want {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
}
