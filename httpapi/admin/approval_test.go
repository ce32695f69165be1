package admin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/control"
)

// waiting requests a payout that waits for an operator's approval.
func (f *fixture) waiting(account string, cents int, e2e string) (transactionID, id string) {
	f.t.Helper()
	a, _ := pix.ParseAccountID(account)
	key, _ := pix.ParseKey(pix.KeyEmail, "a@b.com")
	got, err := f.options.Engine.Do(a, ledger.RequestPayout{Amount: pix.Amount(cents) * 100, Key: key, EndToEnd: e2e})
	if err != nil || got.Refusal != nil || got.Tx.Status != pix.StatusPending {
		f.t.Fatalf("%+v %v", got, err)
	}
	return got.Tx.Public(), got.Tx.ID.String()
}

// funded returns an account with money whose payouts all wait for approval.
func (f *fixture) funded() string {
	f.t.Helper()
	id := f.account()
	f.expect("PATCH", "/admin/accounts/"+id, `{"approval_threshold":0}`, 200, `{…`)
	f.expect("POST", "/admin/accounts/"+id+"/credits", `{"amount":10000000,"type":"ted"}`, 201, `{…`)
	return id
}

const ana = `{"operator":"Ana"}`

// TestDecide checks that an operator's decision is final: the same decision again changes
// nothing, the opposite decision is refused, and the look-ups show the result.
func TestDecide(t *testing.T) {
	f := newFixture(t)
	account := f.funded()
	for n, c := range []struct{ word, state, item string }{
		{"decline", "failed", `"status":"failed","payment_status":"failed",`},
		{"approve", "sending", `"status":"pending","payment_status":"processing",`},
	} {
		public, id := f.waiting(account, 7+n, "")
		path, other := "/admin/payouts/"+public+"/", map[string]string{"approve": "decline", "decline": "approve"}[c.word]
		f.expect("GET", "/admin/payouts?status=pending_approval", "", 200, `{"data":[{"account_id":"`+account+`","state":"pending_approval","id":"`+id+`","transaction_id":"`+public+`",…`)
		got := f.expect("POST", path+c.word, ana, 200, `{"account_id":"`+account+`","state":"`+c.state+`","id":"`+id+`","transaction_id":"`+public+`",…`)
		if !strings.Contains(got, c.item) || strings.Contains(got, `"reason_code":"approval_declined"`) != (c.word == "decline") {
			t.Errorf("%s: %s", c.word, got)
		}
		f.expect("GET", "/admin/payouts?status=pending_approval", "", 200, `{"data":[],"next_cursor":null}`)
		f.expect("POST", path+c.word, `{"operator":"`+strings.Repeat("ç", 100)+`"}`, 200, `{"account_id":"`+account+`",…`)
		f.expect("POST", "/admin/payouts/"+strings.ToUpper(id)+"/"+c.word, ana, 200, `{"account_id":"`+account+`",…`)
		f.expect("POST", path+other, ana, 409, problem(409, "the payout was "+map[string]string{"approve": "approved", "decline": "declined"}[c.word]+" already"))
		f.expect("GET", "/admin/transactions/"+public, "", 200, `{"account_id":"`+account+`","state":"…`)
	}
}

// TestDecideRefused checks that a refused decision does not change the payout, except if the
// payout's end-to-end id is too old: then the payout fails.
func TestDecideRefused(t *testing.T) {
	f := newFixture(t)
	account := f.funded()
	own := pix.EndToEnd("99999004", f.now, "00000000001")
	public, id := f.waiting(account, 9, own)
	path := "/admin/payouts/" + public
	for body, want := range map[string]string{
		``: "the body must be a JSON object…", `{}`: "operator is required", `{"operator":""}`: "operator must be the name of who decides, 1 to 100 characters", `{"operator":"  "}`: "operator must be…",
		`{"operator":7}`: "operator must be a string", `{"operator":null}`: "operator must not be null",
		`{"operator":"` + strings.Repeat("ç", 101) + `"}`: "operator must be…", `{"operator":"Ana","word":"yes"}`: `unknown field \"word\"`,
	} {
		prefix, open := strings.CutSuffix(want, "…")
		want = problem(400, want)
		if open {
			want = fmt.Sprintf(`{"error":{"status":400,"message":"%s…`, prefix)
		}
		f.expect("POST", path+"/approve", body, 400, want)
		f.expect("POST", path+"/decline", body, 400, want)
	}
	credit := member(t, f.expect("POST", "/admin/accounts/"+account+"/credits", `{"amount":5,"type":"ted"}`, 201, `{…`), "transaction_id")
	for _, unknown := range []string{credit, own, "PIXOUT", "x%zz", id[:35], strings.ToLower(public)} {
		for _, decision := range []string{"/approve", "/decline"} {
			f.expect("POST", "/admin/payouts/"+unknown+decision, ana, 404, `{"error":{"status":404,"message":"no payout…`)
		}
	}
	f.expect("GET", path+"/approve", "", 405, `{…`)
	f.expect("PATCH", "/admin/accounts/"+account, `{"active":false,"approval_threshold":null}`, 200, `{…`)
	f.expect("POST", path+"/approve", ana, 409, problem(409, "the account is not active"))
	f.expect("GET", "/admin/transactions/"+public, "", 200, `{"account_id":"`+account+`","state":"pending_approval",…`)
	f.expect("PATCH", "/admin/accounts/"+account, `{"active":true}`, 200, `{…`)
	f.now += 11*3_600_000 + 60_001
	f.expect("POST", path+"/approve", ana, 409, problem(409, "the payout's own end_to_end_id is too old to go out: it has failed with approval_expired"))
	if got := f.expect("GET", "/admin/transactions/"+public, "", 200, `{"account_id":"`+account+`","state":"failed",…`); !strings.Contains(got, `"reason_code":"approval_expired"`) {
		t.Error(got)
	}
	f.expect("POST", path+"/decline", ana, 409, problem(409, "the payout does not wait for approval"))
}

// TestRefusalStatuses checks the status that operators get for each refusal of an account.
func TestRefusalStatuses(t *testing.T) {
	for code, want := range map[ledger.RefusalCode]int{
		ledger.RefuseSetting: 400, ledger.RefuseCredit: 400, ledger.RefuseReference: 409, ledger.RefuseOverflow: 422,
		ledger.RefuseUnknownPayout: 404, ledger.RefuseNotPending: 409, ledger.RefuseInactive: 409, ledger.RefuseExpired: 409,
	} {
		err := refused(&ledger.Refusal{Code: code, Field: "f", Message: "why"})
		if got := asProblem(t, err); got != want {
			t.Errorf("%v: %d", code, got)
		}
	}
}

func asProblem(t *testing.T, err error) int {
	t.Helper()
	var p *control.Problem
	if !errors.As(err, &p) {
		t.Fatalf("%v is no problem of the operator's", err)
	}
	return p.Status
}

// TestDecideHeld decides about payouts that wait since a restore: the scheme is asked first. Where it has the payout, the
// operator's word is not carried out; where it cannot be asked, a payout may be declined and not approved.
func TestDecideHeld(t *testing.T) {
	f := newFixture(t)
	account := f.funded()
	mute := errors.New("no answer")
	for n, c := range []struct {
		word  string
		known bool
		err   error
		want  int
	}{
		{"approve", true, nil, 409},
		{"decline", true, nil, 409},
		{"approve", true, mute, 503},
		{"decline", true, mute, 503},
		{"approve", false, mute, 503},
		{"decline", false, mute, 200},
		{"approve", false, nil, 200},
		{"decline", false, nil, 200},
	} {
		public, id := f.waiting(account, 70+n, "")
		asked := 0
		f.options.Holds = func(p *ledger.Transaction) bool { return p.ID.String() == id && p.Status == pix.StatusPending }
		f.options.AskHeld = func(o ledger.Owned) (bool, error) {
			if asked++; o.Tx.ID.String() != id || o.Account.String() != account {
				t.Errorf("asked about %+v", o)
			}
			return c.known, c.err
		}
		f.handler = New(f.options)
		f.expect("GET", "/admin/transactions/"+public, "", 200, `{"account_id":"`+account+`","state":"pending_approval","awaits_operator":true,"id":"`+id+`",…`)
		if status, got := f.send("POST", "/admin/payouts/"+public+"/"+c.word, ana); status != c.want || asked != 1 || status == 200 && strings.Contains(got, "awaits_operator") {
			t.Errorf("%s, known %v, error %v: %d %s, asked %d times, want %d", c.word, c.known, c.err, status, got, asked, c.want)
		}
		if c.want != 200 {
			f.expect("GET", "/admin/transactions/"+public, "", 200, `{"account_id":"`+account+`","state":"pending_approval","awaits_operator":true,"id":"`+id+`",…`)
		}
	}
}

// TestDecideHeldTwice has a colleague approve a payout while the scheme is asked about it: the scheme has it by now, and both
// operators get the same answer.
func TestDecideHeldTwice(t *testing.T) {
	f := newFixture(t)
	public, id := f.waiting(f.funded(), 70, "")
	f.options.Holds = func(p *ledger.Transaction) bool { return p.Status == pix.StatusPending }
	f.options.AskHeld = func(o ledger.Owned) (bool, error) {
		_, err := f.options.Engine.Do(o.Account, ledger.DecideApproval{ID: o.Tx.ID, Word: ledger.Approved, Operator: "eve"})
		return true, err
	}
	f.handler = New(f.options)
	if status, got := f.send("POST", "/admin/payouts/"+public+"/approve", ana); status != 200 || !strings.Contains(got, `"id":"`+id+`"`) {
		t.Errorf("%d %s", status, got)
	}
}
