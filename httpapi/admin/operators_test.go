package admin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/goccy/go-json"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
)

// named returns the header with the token of a new operator.
func (f *fixture) named(name, role string) []string {
	f.t.Helper()
	var o Operator
	got := f.expect("POST", "/admin/operators", fmt.Sprintf(`{"name":%q,"role":%q}`, name, role), 201, `{"name":"`+name+`","role":"`+role+`","token":"…`)
	if err := json.Unmarshal([]byte(got), &o); err != nil || o.Token == "" || !o.Active {
		f.t.Fatal(got, err)
	}
	return []string{"Authorization", "Bearer " + o.Token}
}

// did returns the actions that an operator is on record with, the newest first; empty: of all.
func (f *fixture) did(operator string) []Action {
	f.t.Helper()
	_, got := f.send("GET", "/admin/actions?limit=200&operator="+operator, "")
	var l struct{ Data []Action }
	if err := json.Unmarshal([]byte(got), &l); err != nil {
		f.t.Fatal(got, err)
	}
	return l.Data
}

// TestOperators checks what each role may do, that a revoked token is refused, and that its name can get another.
func TestOperators(t *testing.T) {
	f := newFixture(t)
	account := f.account()
	viewer, writer, chief := f.named("vera", "viewer"), f.named("olga@x.com", "operator"), f.named("ana", "admin")
	for _, c := range []struct {
		method, path, body string
		viewer, writer     int
		admin              int
	}{
		{"GET", "/admin/accounts/" + account, "", 200, 200, 200},
		{"GET", "/admin/operators", "", 200, 200, 200},
		{"GET", "/admin/actions", "", 200, 200, 200},
		{"GET", "/sim/book?transaction_id=PIXOUT1", "", 404, 404, 404},
		{"PATCH", "/admin/accounts/" + account, `{"approval_threshold":5}`, 403, 200, 200},
		{"POST", "/sim/capacity", `{}`, 403, 400, 400},
		{"POST", "/admin/operators", `{}`, 403, 403, 400},
		{"DELETE", "/admin/operators/nobody", "", 403, 403, 404},
	} {
		for i, header := range [][]string{viewer, writer, chief} {
			want := []int{c.viewer, c.writer, c.admin}[i]
			if strings.HasPrefix(c.path, "/sim") && want != 403 {
				continue // what the simulator answers is no matter of this test
			}
			if got, body := f.send(c.method, c.path, c.body, header...); got != want {
				t.Errorf("%s %s: %d %s, want %d", c.method, c.path, got, body, want)
			}
		}
	}
	f.expect("DELETE", "/admin/operators/olga%40x.com", "", 200, `{"name":"olga@x.com","role":"operator","active":false,…`)
	f.expect("DELETE", "/admin/operators/olga%40x.com", "", 200, `{"name":"olga@x.com","role":"operator","active":false,…`)
	if got, _ := f.send("GET", "/admin/accounts", "", writer...); got != 401 {
		t.Errorf("a revoked token: %d", got)
	}
	again := f.named("olga@x.com", "viewer")
	if got, _ := f.send("GET", "/admin/accounts", "", writer...); got != 401 {
		t.Errorf("the former token: %d", got)
	}
	if got, _ := f.send("GET", "/admin/accounts", "", again...); got != 200 {
		t.Errorf("the new token: %d", got)
	}
	f.expect("POST", "/admin/operators", `{"name":"ana","role":"viewer"}`, 409, problem(409, `there is an operator \"ana\": revoke that token first`))
	for _, name := range []string{"", "root", "a b", "a/b", "a\nb", strings.Repeat("x", 40), "Root", "..", "sk_x"} {
		f.expect("POST", "/admin/operators", fmt.Sprintf(`{"name":%q,"role":"viewer"}`, name), 400, problem(400, "name must be 1 to 39 letters, digits, and . _ - @ +, and not root"))
	}
	f.expect("POST", "/admin/operators", `{"name":"x","role":"king"}`, 400, problem(400, "role must be viewer, operator or admin"))
	f.expect("POST", "/admin/operators", `{"name":"x"}`, 400, problem(400, "role is required"))
	f.expect("GET", "/admin/operators?limit=0", "", 400, problem(400, "limit must be an integer from 1 to 200"))
	page := f.expect("GET", "/admin/operators?limit=2", "", 200, `{"data":[{"name":"ana","role":"admin","active":true,…`)
	if strings.Contains(page, "token") || !strings.Contains(page, `"next_cursor":"2"`) {
		t.Error(page)
	}
}

// TestNeedAdmin checks what an operator may not write who is no admin.
func TestNeedAdmin(t *testing.T) {
	f := whole(t)
	writer := f.named("olga", "operator")
	for _, write := range []string{
		"POST /admin/clock", "POST /admin/operators", "DELETE /admin/operators/olga", "POST /admin/cluster/handover",
		"POST /admin/cluster/nodes", "DELETE /admin/cluster/nodes/b",
	} {
		method, path, _ := strings.Cut(write, " ")
		body := map[string]string{"/admin/operators": `{"name":"x","role":"admin"}`, "/admin/cluster/nodes": `{"node":"x","url":"http://x:1"}`}[path]
		if got, answer := f.send(method, path, body, writer...); got != 403 || answer != problem(403, "olga is an operator, and this needs an admin") {
			t.Errorf("%s: %d %s", write, got, answer)
		}
	}
}

// TestActions checks that each write is on record with who did it, what was asked and the answer's status, and that reads, what a
// viewer was refused, and the simulator's requests are not.
func TestActions(t *testing.T) {
	f := newFixture(t)
	account := f.account()
	writer, viewer := f.named("olga", "operator"), f.named("vera", "viewer")
	path := "/admin/accounts/" + account
	f.send("GET", path, "", writer...)
	f.send("PATCH", path, `{"approval_threshold":5}`, viewer...)
	f.send("PATCH", path, `{"approval_threshold":5}`, append(writer, "X-Request-Id", "ignored")...)
	f.send("PATCH", path+"?x=1", `{"approval_threshold":"five"}`, writer...)
	f.send("POST", "/sim/payments", `{}`, writer...)
	all := f.did("olga")
	if len(all) != 2 || len(f.did("vera")) != 0 {
		t.Fatalf("%+v", all)
	}
	if a := all[0]; *a.Status != 400 || a.Path != path+"?x=1" || a.Body != `{"approval_threshold":"five"}` || a.Method != "PATCH" {
		t.Errorf("%+v", a)
	}
	if a := all[1]; *a.Status != 200 || a.Path != path || a.Role != "operator" || a.Operator != "olga" || a.At == "" || a.Body != `{"approval_threshold":5}` {
		t.Errorf("%+v", a)
	}
	root := f.did("root")
	if len(root) != 3 || root[0].Path != "/admin/operators" || root[2].Path != "/admin/accounts" || *root[2].Status != 201 {
		t.Errorf("%+v", root)
	}
	for body, want := range map[string]string{
		`{"b":1, "a":"` + strings.Repeat("ç", 4096) + `"}`: `{"a":"` + strings.Repeat("ç", 2045) + "…",
		`{"secret":"sk_abc","name":"\u0073k_d"}`:           `{"name":"***","secret":"***"}`,
		`{"a":"` + strings.Repeat("x", 40) + `"}`:          `{"a":"***"}`,
		`{"a":"11111111-2222-4333-8444-555555555555"}`:     `{"a":"11111111-2222-4333-8444-555555555555"}`,
		`{"a":`: "5 bytes that are no JSON", `{} {}`: "5 bytes that are no JSON", ``: "",
	} {
		f.send("POST", "/admin/nothing/sk_of-a-merchant", body)
		if a := f.did("root")[0]; *a.Status != 404 || a.Body != want || a.Path != "/admin/nothing/***" {
			t.Errorf("%.60s: %+v", body, a)
		}
	}
	f.expect("GET", "/admin/actions?limit=1", "", 200, `{"data":[{"id":"25",…`)
	next := f.expect("GET", "/admin/actions?limit=1&cursor=25", "", 200, `{"data":[{"id":"23",…`)
	if !strings.HasSuffix(next, `"next_cursor":"23"}`) {
		t.Error(next)
	}
	f.expect("GET", "/admin/actions?cursor=0", "", 400, problem(400, "cursor must be a next_cursor of this list"))
}

// TestFourEyes checks that a payout which two operators must approve goes out with the second name, that root counts once
// whatever name it gives, and that one word declines.
func TestFourEyes(t *testing.T) {
	f := newFixture(t)
	f.options.ApprovalBy = 2
	f.handler = New(f.options)
	account := f.funded()
	olga, ana := f.named("olga", "operator"), f.named("ana", "operator")
	public, _ := f.waiting(account, 7, "")
	path := "/admin/payouts/" + public
	f.expect("GET", "/admin/transactions/"+public, "", 200, `{"account_id":"`+account+`","state":"pending_approval","approved_by":[],"approvals_needed":2,…`)
	first := `{"account_id":"` + account + `","state":"pending_approval","approved_by":["olga"],"approvals_needed":2,…`
	for _, body := range []string{`{"operator":"olga"}`, ""} {
		if got, text := f.send("POST", path+"/approve", body, olga...); body != "" && (got != 202 || !strings.HasPrefix(text, first[:len(first)-3])) || body == "" && got != 409 {
			t.Fatal(got, text)
		}
	}
	f.expect("GET", "/admin/transactions/"+public, "", 200, first)
	if got, text := f.send("POST", path+"/approve", `{"operator":"olga"}`, ana...); got != 400 || !strings.Contains(text, "operator must be the token's: ana") {
		t.Error(got, text)
	}
	if got, text := f.send("POST", path+"/approve", `{}`, ana...); got != 200 || !strings.Contains(text, `"state":"sending"`) || strings.Contains(text, "approvals_needed") {
		t.Error(got, text)
	}
	if o, err := f.options.History.Anyone(public); err != nil || o.Tx.Payout.Operator != "olga, ana" {
		t.Error(o, err)
	}
	public, _ = f.waiting(account, 9, "")
	f.send("POST", "/admin/payouts/"+public+"/approve", "", olga...)
	f.expect("POST", "/admin/payouts/"+public+"/approve", `{"operator":"olga"}`, 200, `{…`)
	if o, err := f.options.History.Anyone(public); err != nil || o.Tx.Payout.Operator != "olga, root" || f.options.Operators.FirstApproval(o.Tx.ID) != nil {
		t.Error(o, err)
	}
	public, _ = f.waiting(account, 8, "")
	f.expect("POST", "/admin/payouts/"+public+"/approve", `{"operator":"Rita"}`, 202, `{…`)
	f.expect("POST", "/admin/payouts/"+public+"/approve", `{"operator":"Sara"}`, 409, problem(409, "root has approved the payout: another operator must approve it too"))
	if got, text := f.send("POST", "/admin/payouts/"+public+"/decline", "", olga...); got != 200 || !strings.Contains(text, `"state":"failed"`) {
		t.Error(got, text)
	}
	if o, err := f.options.History.Anyone(public); err != nil || f.options.Operators.FirstApproval(o.Tx.ID) != nil {
		t.Error("a decided payout's first approval is kept", err)
	}
}

// TestViewersReadAlone checks that each write of the operator API is refused to a viewer, and not on record.
func TestViewersReadAlone(t *testing.T) {
	f := whole(t)
	viewer := f.named("vera", "viewer")
	f.eachWrite(403, problem(403, "vera is a viewer, who may read alone"), viewer...)
	if did := f.did(""); len(did) != 1 {
		t.Errorf("%+v", did)
	}
}

// TestUnrecorded checks that nothing is done where the action cannot be recorded.
func TestUnrecorded(t *testing.T) {
	f := whole(t)
	f.options.Operators = operatorsOn(t, refusing{openStore(t)})
	f.handler = New(f.options)
	f.eachWrite(503, problem(503, "the action cannot be recorded, so nothing was done"))
	f.expect("GET", "/admin/accounts", "", 200, `{"data":[],"next_cursor":null}`)
}

// eachWrite sends each write that the document has, and compares the answer.
func (f *fixture) eachWrite(status int, want string, headers ...string) {
	f.t.Helper()
	tried := 0
	for _, operation := range contract.Operations() {
		method, path, _ := strings.Cut(operation, " ")
		if method == "GET" || !strings.HasPrefix(path, "/admin") {
			continue
		}
		tried++
		body := ""
		if method != "DELETE" {
			body = `{"name":"Loja","document":"12345678909"}`
		}
		if got, answer := f.send(method, strings.NewReplacer("{", "", "}", "").Replace(path), body, headers...); got != status || answer != want {
			f.t.Errorf("%s: %d %s", operation, got, answer)
		}
	}
	if tried < 20 {
		f.t.Errorf("only %d writes", tried)
	}
}

// refusing is a journal that cannot be written.
type refusing struct{ *wal.Store }

func (refusing) Append(e *wal.Entry) wal.Ticket {
	for _, o := range e.Out {
		o.Release(errors.New("the disk is full"))
	}
	return 0
}

func openStore(t testing.TB) *wal.Store {
	t.Helper()
	s, err := wal.Open(wal.Options{Dir: "data", FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func operatorsOn(t testing.TB, j registry.DeskJournal) *registry.Operators {
	t.Helper()
	all, err := registry.OpenOperators(j, func() pix.Millis { return testNow }, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
