package admin

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
)

// reported opens a case about a payment of an account, and returns the case.
func (f *fixture) reported(account string, n int) *ledger.Case {
	f.t.Helper()
	a, _ := pix.ParseAccountID(account)
	e2e := pix.EndToEnd("60701190", f.now, fmt.Sprintf("%011d", n))
	f.now++
	for _, c := range []ledger.Command{
		ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"},
		ledger.OpenCase{Infraction: fmt.Sprint("inf-", n), EndToEnd: e2e, Amount: 700, Situation: "SCAM"},
	} {
		got, err := f.options.Engine.Do(a, c)
		if err != nil || got.Refusal != nil {
			f.t.Fatalf("%T: %+v %v", c, got, err)
		}
		if got.Case != nil {
			return got.Case
		}
	}
	f.t.Fatal("no case")
	return nil
}

// shownCase is the JSON of a case as operators see it.
func shownCase(account string, k *ledger.Case, details string) string {
	return `{"account_id":"` + account + `","infraction_id":"` + k.Infraction + `","analysis_details":` + details + `,"refund_failed":false,"awaits_resume":false,` + string(httpapi.Case(k))[1:]
}

// slowCases is a History in which an account's cases take too long to read.
type slowCases struct{ History }

func (slowCases) Cases(pix.AccountID, pix.CaseStatus, int, int) ([]*ledger.Case, error) {
	return nil, layout.ErrTooLong
}

// TestListCasesOfAccount checks the list of one account's cases: the newest first, in pages and by status.
func TestListCasesOfAccount(t *testing.T) {
	f := newFixture(t)
	mine, other := f.account(), f.account()
	var want []string
	for n := range 3 {
		k := f.reported(mine, n)
		f.reported(other, 10+n)
		want = append([]string{shownCase(mine, k, "null")}, want...)
	}
	path := "/admin/med?account_id=" + mine
	f.expect("GET", path, "", 200, `{"data":[`+strings.Join(want, ",")+`],"next_cursor":null}`)
	f.expect("GET", path+"&limit=2", "", 200, `{"data":[`+want[0]+","+want[1]+`],"next_cursor":"2"}`)
	f.expect("GET", path+"&limit=2&cursor=2&status=open", "", 200, `{"data":[`+want[2]+`],"next_cursor":null}`)
	f.expect("GET", path+"&status=closed", "", 200, `{"data":[],"next_cursor":null}`)
	f.expect("GET", path+"&cursor=1", "", 400, `{"error":{"status":400,"message":"cursor must…`)
	f.expect("GET", "/admin/med?account_id=acc_x", "", 404, `{"error":{"status":404,…`)
	f.options.History = slowCases{f.options.History}
	f.handler = New(f.options)
	f.expect("GET", path, "", 503, `{"error":{"status":503,"message":"the list takes too long to read: ask for fewer"}}`)
}

// TestListCases checks the list of all accounts' cases, the oldest first, in pages and by
// status.
func TestListCases(t *testing.T) {
	f := newFixture(t)
	f.expect("GET", "/admin/med", "", 200, `{"data":[],"next_cursor":null}`)
	first, second := f.account(), f.account()
	var want []string
	for n := range 7 {
		of := []string{first, second}[n%2]
		k := f.reported(of, n)
		if want = append(want, k.ID.String()); n == 4 {
			f.expect("POST", "/admin/med/"+k.ID.String()+"/analysis", `{"result":"DISAGREED"}`, 200, `{…`)
		} else if n == 0 {
			f.expect("GET", "/admin/med", "", 200, `{"data":[`+shownCase(of, k, "null")+`],"next_cursor":null}`)
		}
	}
	read := func(query string) (ids []string) {
		t.Helper()
		for cursor, calls := "", 0; ; calls++ {
			var l struct {
				Data []struct{ ID string }
				Next *string `json:"next_cursor"`
			}
			path := "/admin/med?" + query + cursor
			if got := f.expect("GET", path, "", 200, `{"data":[…`); json.Unmarshal([]byte(got), &l) != nil || calls > 9 {
				t.Fatalf("%s: %s", path, got)
			}
			for _, k := range l.Data {
				ids = append(ids, k.ID)
			}
			if l.Next == nil {
				return ids
			}
			cursor = "&cursor=" + *l.Next
		}
	}
	open := append(append([]string{}, want[:4]...), want[5:]...)
	for query, want := range map[string][]string{
		"": want, "limit=1": want, "limit=3": want, "limit=7": want, "limit=8": want, "status=": want, "status=open&limit=2": open, "status=closed": want[4:5], "status=cancelled": nil, "status=defended": nil,
	} {
		if got := read(query); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	other := hex.EncodeToString(layout.ItemKey(7, 2))
	for query, says := range map[string]string{
		"status=OPEN": "status must be open, defended, closed or cancelled", "status=x": "status must be open, defended, closed or cancelled",
		"cursor=x": "cursor must be a next_cursor of this list", "cursor=00": "cursor must be a next_cursor of this list", "cursor=" + other: "cursor must be a next_cursor of this list",
		"limit=0": "limit must be…", "limit=x": "limit must be…",
	} {
		prefix, open := strings.CutSuffix(says, "…")
		if open {
			f.expect("GET", "/admin/med?"+query, "", 400, `{"error":{"status":400,"message":"`+prefix+`…`)
			continue
		}
		f.expect("GET", "/admin/med?"+query, "", 400, problem(400, says))
	}
}

// TestAnalysis checks the analyst's decision: the same again changes nothing, another is
// refused, and a body at fault changes nothing.
func TestAnalysis(t *testing.T) {
	f := newFixture(t)
	account := f.account()
	k := f.reported(account, 1)
	path := "/admin/med/" + k.ID.String()
	f.expect("GET", path, "", 200, shownCase(account, k, "null"))
	f.expect("GET", "/admin/med/%6D"+k.ID.String()[1:], "", 200, shownCase(account, k, "null"))
	long := strings.Repeat("ç", 2000)
	for body, says := range map[string]string{
		`{}`: "result is required", `{"result":null}`: "result must not be null", `{"result":7}`: "result must be a string", `{"result":"agreed"}`: "result must be AGREED or DISAGREED", `{"result":""}`: "result must be AGREED or DISAGREED",
		`{"result":"AGREED","details":"` + long + `x"}`: "details takes at most 2000 characters", `{"result":"AGREED","details":7}`: "details must be a string", `{"result":"AGREED","details":null}`: "details must not be null",
		`{"result":"AGREED","operator":"ana"}`: `unknown field \"operator\"`,
	} {
		f.expect("POST", path+"/analysis", body, 400, problem(400, says))
	}
	f.expect("POST", path+"/analysis", ``, 400, `{"error":{"status":400,"message":"the body must be a JSON object…`)
	f.expect("GET", path, "", 200, shownCase(account, k, "null"))
	for _, unknown := range []string{"x", "%00", "x%zz", "med_", pix.CaseID{9}.String(), strings.ToUpper(k.ID.String())} {
		for _, suffix := range []string{"", "/analysis"} {
			method := map[string]string{"": "GET", "/analysis": "POST"}[suffix]
			f.expect(method, "/admin/med/"+unknown+suffix, `{"result":"AGREED"}`, 404, `{"error":{"status":404,"message":"no case…`)
		}
	}
	closed := f.expect("POST", path+"/analysis", `{"result":"DISAGREED","details":"`+long+`"}`, 200, `{"account_id":"`+account+`","infraction_id":"inf-1","analysis_details":"`+long+`","refund_failed":false,"awaits_resume":false,"id":"`+k.ID.String()+`",…`)
	for _, want := range []string{`"held_amount":0,"covered_amount":0,`, `"status":"closed","analysis_result":"DISAGREED","defense":null,`} {
		if !strings.Contains(closed, want) {
			t.Errorf("no %s in %s", want, closed)
		}
	}
	f.expect("POST", path+"/analysis", `{"result":"DISAGREED","details":"another"}`, 200, closed)
	f.expect("POST", path+"/analysis", `{"result":"AGREED"}`, 409, problem(409, "the case was closed as DISAGREED"))
	f.expect("GET", path, "", 200, closed)
	f.expect("POST", path, `{"result":"AGREED"}`, 405, `{…`)

	a, _ := pix.ParseAccountID(account)
	second := f.reported(account, 2)
	if _, err := f.options.Engine.Do(a, ledger.CancelCase{Infraction: "inf-2", EndToEnd: second.EndToEnd}); err != nil {
		t.Fatal(err)
	}
	f.expect("POST", "/admin/med/"+second.ID.String()+"/analysis", `{"result":"AGREED"}`, 409, problem(409, "the case is cancelled"))
	third := f.reported(account, 3)
	if got := f.expect("POST", "/admin/med/"+third.ID.String()+"/analysis", `{"result":"AGREED"}`, 200, `{"account_id":"`+account+`",…`); !strings.Contains(got, `"amount":700,"held_amount":0,"covered_amount":0,"refunded_amount":0,`) {
		t.Errorf("%s", got)
	}
	if got := f.expect("GET", "/admin/accounts/"+account, "", 200, `{…`); !strings.Contains(got, `"med_held":0`) {
		t.Errorf("%s", got)
	}
}

// TestLetGoOn checks the two ways in which an operator lets the engine go on with a case: what
// is refused changes nothing, and the scheme is asked about a case that waits, and about no other.
func TestLetGoOn(t *testing.T) {
	f := newFixture(t)
	account := f.account()
	k := f.reported(account, 1)
	path := "/admin/med/" + k.ID.String()
	waits, asked, answer := false, 0, error(nil)
	f.options.Awaits = func(c *ledger.Case) bool { return waits && c.ID == k.ID }
	f.options.Returns = func(a pix.AccountID, endToEnd string) ([]ledger.Returned, error) {
		if asked++; a.String() != account || endToEnd != k.EndToEnd {
			t.Errorf("asked about %s of %v", endToEnd, a)
		}
		return nil, answer
	}
	f.handler = New(f.options)
	for _, what := range []string{"/refund", "/resume"} {
		for body, says := range map[string]string{
			`{}`: "operator is required", `{"operator":""}`: "operator must be the name of who decides, 1 to 100 characters", `{"operator":7}`: "operator must be a string",
			`{"operator":"` + strings.Repeat("ç", 101) + `"}`: "operator must be the name of who decides, 1 to 100 characters", `{"operator":"ana","result":"AGREED"}`: `unknown field \"result\"`,
		} {
			f.expect("POST", path+what, body, 400, problem(400, says))
		}
		for _, unknown := range []string{"x", "%00", pix.CaseID{9}.String()} {
			f.expect("POST", "/admin/med/"+unknown+what, `{"operator":"ana"}`, 404, `{"error":{"status":404,"message":"no case…`)
		}
		f.expect("GET", path+what, "", 405, `{…`)
	}
	f.expect("POST", path+"/refund", `{"operator":"ana"}`, 409, problem(409, "no refund for the case has failed for good"))
	f.expect("POST", path+"/resume", `{"operator":"ana"}`, 409, problem(409, "the case does not wait for an operator since a restore"))
	if asked != 0 {
		t.Errorf("the scheme was asked %d times about a case that does not wait", asked)
	}
	waits, answer = true, errors.New("no route to 10.0.0.7")
	f.expect("POST", path+"/resume", `{"operator":"ana"}`, 503, problem(503, "the scheme could not say what was returned of the payment: try again"))
	if got := f.expect("GET", path, "", 200, `{…`); asked != 1 || !strings.Contains(got, `"refund_failed":false,"awaits_resume":true,"id":`) {
		t.Errorf("asked %d times, %s", asked, got)
	}
	answer = nil
	f.options.Engine = obeying{f.options.Engine, k}
	f.handler = New(f.options)
	for _, what := range []string{"/refund", "/resume"} { // what follows comes later
		f.expect("POST", path+what, `{"operator":"ana"}`, 202, `{"account_id":"`+account+`",…`)
	}
}

// obeying is an engine that accepts every command about a case.
type obeying struct {
	httpapi.Engine
	k *ledger.Case
}

func (o obeying) Do(pix.AccountID, ledger.Command) (ledger.Answer, error) {
	return ledger.Answer{Case: o.k}, nil
}
