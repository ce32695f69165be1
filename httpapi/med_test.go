package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

const medPath = base + "/med"

// specialReturn is a case in its first state: open, and nothing known but what was reported.
func specialReturn(id byte) *ledger.Case {
	return &ledger.Case{
		ID: pix.CaseID{id}, Ordinal: uint64(id), Infraction: "not shown", Original: itemID, EndToEnd: e2e, Amount: 900, Held: 700, Covered: 600,
		Situation: "SCAM", Status: pix.CaseOpen, OpenedAt: testNow, DeadlineAt: testNow + 1, AnalysisAt: testNow + 2, ReleaseAt: testNow + 3, DueAt: testNow + 4,
	}
}

const caseTail = `"reason":"REFUND_REQUEST","situation":"SCAM",`

// caseBegin is the beginning of the JSON of specialReturn(id).
func caseBegin(id byte) string {
	return `"id":"` + pix.CaseID{id}.String() + `","transaction_id":"` + itemID.Public(pix.TxReceipt) + `","end_to_end_id":"` + e2e + `","amount":900,`
}

const caseTimes = `"opened_at":"2026-09-21T14:13:20.000Z","deadline_at":"2026-09-21T14:13:20.001Z","analysis_due_at":"2026-09-21T14:13:20.002Z",`

// TestCase checks every byte of a case: all keys, in their order, and null where nothing is
// known.
func TestCase(t *testing.T) {
	open, defended, closed := specialReturn(1), specialReturn(1), specialReturn(1)
	defended.Status, defended.Defense = pix.CaseDefended, &ledger.Defense{Justification: "a \"b\"\n", Result: pix.Disagreed, SubmittedAt: testNow + 9}
	closed.Status, closed.Result, closed.ClosedAt, closed.Held, closed.Covered, closed.Refunded = pix.CaseClosed, pix.Agreed, testNow+10, 100, 0, 600
	closed.Details, closed.Stopped = "not shown", true
	closed.Defense = &ledger.Defense{Justification: "ç", Result: pix.Agreed, Contact: "ana@x.br", SubmittedAt: testNow + 9}
	cancelled := specialReturn(1)
	cancelled.Status, cancelled.ClosedAt, cancelled.Held, cancelled.Covered = pix.CaseCancelled, testNow+10, 0, 0
	const sums = `"held_amount":700,"covered_amount":600,"refunded_amount":0,`
	for name, v := range map[string]struct {
		of   *ledger.Case
		want string
	}{
		"open":      {open, caseBegin(1) + sums + caseTail + `"status":"open","analysis_result":null,"defense":null,` + caseTimes + `"defended_at":null,"closed_at":null}`},
		"defended":  {defended, caseBegin(1) + sums + caseTail + `"status":"defended","analysis_result":null,"defense":{"justification":"a \"b\"\n","result":"DISAGREED","contact":null,"submitted_at":"2026-09-21T14:13:20.009Z"},` + caseTimes + `"defended_at":"2026-09-21T14:13:20.009Z","closed_at":null}`},
		"closed":    {closed, caseBegin(1) + `"held_amount":100,"covered_amount":0,"refunded_amount":600,` + caseTail + `"status":"closed","analysis_result":"AGREED","defense":{"justification":"ç","result":"AGREED","contact":"ana@x.br","submitted_at":"2026-09-21T14:13:20.009Z"},` + caseTimes + `"defended_at":"2026-09-21T14:13:20.009Z","closed_at":"2026-09-21T14:13:20.010Z"}`},
		"cancelled": {cancelled, caseBegin(1) + `"held_amount":0,"covered_amount":0,"refunded_amount":0,` + caseTail + `"status":"cancelled","analysis_result":null,"defense":null,` + caseTimes + `"defended_at":null,"closed_at":"2026-09-21T14:13:20.010Z"}`},
	} {
		if got := string(Case(v.of)); got != "{"+v.want {
			t.Errorf("%s:\n got %s\nwant {%s", name, got, v.want)
		}
		f := newFixture(t)
		f.cases = fakeCases{v.of}
		f.expect(sent{method: "GET", path: medPath + "/" + v.of.ID.String()}, 200, `{"worked":true,`+v.want)
		g := f.expect(camelCased(sent{method: "GET", path: medPath + "/" + v.of.ID.String()}), 200, `{"worked":true,…`)
		if bad := underscored(t, g.body); bad != nil || turnedBack(t, g.body) != turnedBack(t, `{"worked":true,`+v.want) {
			t.Errorf("%s in camelCase: %s", name, g.body)
		}
		f.engine.answer = ledger.Answer{Case: v.of}
		f.expect(sent{path: medPath + "/" + v.of.ID.String() + "/defense", body: `{"justification":"x"}`}, 200, `{"worked":true,`+v.want)
	}
}

// TestListCases checks the pages of GET /med, and the parameters that it refuses.
func TestListCases(t *testing.T) {
	f := newFixture(t)
	f.expect(sent{method: "GET", path: medPath}, 200, `{"worked":true,"data":[],"page":1,"per_page":20}`)
	for n := range 203 { // the newest first
		k := specialReturn(byte(203 - n))
		if k.Ordinal == 5 {
			k.Status = pix.CaseCancelled
		}
		f.cases = append(f.cases, k)
	}
	shown := func(query string) (first, n int, end string) {
		t.Helper()
		g := f.send(sent{method: "GET", path: medPath + query})
		if g.status != 200 {
			t.Errorf("%s: %d %s", query, g.status, g.body)
			return
		}
		_, end, _ = strings.Cut(g.body, `],`)
		for o := range 204 {
			if strings.HasPrefix(g.body, `{"worked":true,"data":[{"id":"`+pix.CaseID{byte(o)}.String()+`"`) {
				first = o
			}
		}
		return first, strings.Count(g.body, `"situation"`), end
	}
	for query, want := range map[string]string{
		"":                        `203 20 "page":1,"per_page":20}`,
		"?page=2":                 `183 20 "page":2,"per_page":20}`,
		"?page=11":                `3 3 "page":11,"per_page":20}`,
		"?page=12":                `0 0 "page":12,"per_page":20}`,
		"?per_page=1":             `203 1 "page":1,"per_page":1}`,
		"?per_page=100&page=3":    `3 3 "page":3,"per_page":100}`,
		"?per_page=101&page=3":    `3 3 "page":3,"per_page":100}`,
		"?per_page=999999&page=3": `3 3 "page":3,"per_page":100}`,
		"?status=cancelled":       `5 1 "page":1,"per_page":20}`,
		"?status=closed":          `0 0 "page":1,"per_page":20}`,
		"?status=open&page=11":    `2 2 "page":11,"per_page":20}`,
		"?unknown=1&perPage=0":    `203 20 "page":1,"per_page":20}`,
	} {
		first, n, end := shown(query)
		if got := fmt.Sprintf("%d %d %s", first, n, end); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	const number = " must be a positive integer"
	const status = "status must be open, defended, closed or cancelled"
	for query, want := range map[string][2]string{
		"?page=0": {"page", "page" + number}, "?page=-1": {"page", "page" + number}, "?page=": {"page", "page" + number}, "?page=x": {"page", "page" + number},
		"?page=1.0": {"page", "page" + number}, "?page=%2B1": {"page", "page" + number}, "?page=1e2": {"page", "page" + number}, "?page=9223372036854775808": {"page", "page" + number},
		"?page=%201": {"page", "page" + number}, "?page=1_0": {"page", "page" + number}, "?page=0x1": {"page", "page" + number}, "?page": {"page", "page" + number},
		"?per_page=0": {"per_page", "per_page" + number}, "?per_page=ten": {"per_page", "per_page" + number}, "?per_page=": {"per_page", "per_page" + number},
		"?status=": {"status", status}, "?status=OPEN": {"status", status}, "?status=agreed": {"status", status}, "?status=open,closed": {"status", status},
		"?page=1&page=1": {"page", "page is given twice"}, "?status=open&status=closed": {"status", "status is given twice"}, "?page=0&per_page=0": {"page", "page" + number},
	} {
		f.expect(sent{method: "GET", path: medPath + query}, 400, `{"worked":false,"errors":{"bad_request":{"`+want[0]+`":["`+want[1]+`"]}}}`)
	}
	// With camelCase either spelling is taken, but not both.
	for query, want := range map[string]string{
		"?perPage=2":                         `],"page":1,"perPage":2}`,
		"?per_page=2":                        `],"page":1,"perPage":2}`,
		"?perPage=2&page=3&Page=9&unknown=1": `],"page":3,"perPage":2}`,
	} {
		if g := f.expect(camelCased(sent{method: "GET", path: medPath + query}), 200, `{"worked":true,"data":[{"id":"med_…`); !strings.HasSuffix(g.body, want) {
			t.Errorf("%s: %s", query, g.body[len(g.body)-60:])
		}
	}
	f.expect(camelCased(sent{method: "GET", path: medPath + "?perPage=2&per_page=2"}), 400, `{"worked":false,"errors":{"badRequest":{"perPage":["perPage is given twice"]}}}`)
	f.expect(camelCased(sent{method: "GET", path: medPath + "?per_page=0"}), 400, `{"worked":false,"errors":{"badRequest":{"perPage":["perPage must be a positive integer"]}}}`)
}

// TestUnknownCase checks that any id which is no case of the account gives one 404, whatever
// its bytes are.
func TestUnknownCase(t *testing.T) {
	f := newFixture(t)
	k := specialReturn(1)
	f.cases = fakeCases{k}
	makeKey(t, f.keys, "cli_stranger", keyOf(newAccount(t, f)))
	const unknown = `{"errors":{"not_found":"case not found"}}`
	for _, id := range []string{
		"x", "med_", pix.CaseID{2}.String(), strings.ToUpper(k.ID.String()), k.ID.String() + "a", "%00", "a%00b", "%2F", "a%2Fb", "..%2F..", "%zz", "%", "%FF%FE", "%E2%82", "%22", "%7B%7D", "%20", "é",
		strings.Repeat("m", 3000), "med_" + strings.Repeat("%00", 26),
	} {
		f.expect(sent{method: "GET", path: medPath + "/" + id}, 404, unknown)
	}
	f.expect(sent{method: "GET", path: medPath + "/" + k.ID.String(), client: "cli_stranger"}, 404, unknown)
	f.expect(sent{method: "GET", path: medPath, client: "cli_stranger"}, 200, `{"worked":true,"data":[],…`)
	f.expect(camelCased(sent{method: "GET", path: medPath + "/x"}), 404, `{"errors":{"notFound":"case not found"}}`)
	f.expect(sent{method: "GET", path: medPath + "/%6D" + k.ID.String()[1:]}, 200, `{"worked":true,"id":"`+k.ID.String()+`",…`)
	f.expect(sent{method: "GET", path: medPath + "/broken"}, 500, shape1("500", "internal error"))
	for _, path := range []string{"/", "/a/b", "/a/defense/", "//", "/" + k.ID.String() + "/"} {
		f.expect(sent{method: "GET", path: medPath + path}, 404, `{"errors":{"not_found":"no such path"}}`)
	}
	for _, path := range []string{"", "/x"} {
		if g := f.expect(sent{path: medPath + path, body: `{}`}, 405, `{"errors":{"method_not_allowed":…`); g.header("Allow") != "GET" {
			t.Errorf("%q: Allow %s", path, g.header("Allow"))
		}
	}
}

// TestDefenseBody checks the fields of a defence at their limits, and their order.
func TestDefenseBody(t *testing.T) {
	f := newFixture(t)
	id := pix.CaseID{3}
	path := medPath + "/" + id.String() + "/defense"
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseUnknownCase, Message: "case not found"}}
	refused := func(field, text string) string {
		return `{"worked":false,"errors":{"bad_request":{"` + field + `":["` + text + `"]}}}`
	}
	justification := refused("justification", "justification takes a string of 1 to 2000 characters")
	result := refused("result", "result must be AGREED or DISAGREED")
	contact := refused("contact", "contact takes a string of at most 140 characters")
	long := func(s string, n int) string { return `"` + strings.Repeat(s, n) + `"` }
	for body, want := range map[string]string{
		`{}`: justification, `{"justification":null}`: justification, `{"justification":""}`: justification, `{"justification":7}`: justification, `{"justification":["x"]}`: justification,
		`{"justification":` + long("ç", 2001) + `}`: justification, `{"contact":7,"justification":"","result":"x"}`: justification, `{"Justification":"x"}`: justification,
		`{"justification":"x","result":"agreed"}`: result, `{"justification":"x","result":""}`: result, `{"justification":"x","result":7}`: result, `{"contact":7,"justification":"x","result":"x"}`: result,
		`{"contact":7,"justification":"x"}`: contact, `{"contact":` + long("ç", 141) + `,"justification":"x"}`: contact,
	} {
		f.engine.command = nil
		if f.expect(sent{path: path, body: body}, 400, want); f.engine.command != nil {
			t.Errorf("%s: the engine was asked", body)
		}
	}
	for body, want := range map[string]ledger.DefendCase{
		`{"justification":"x"}`:                                                      {Justification: "x", Result: pix.Disagreed},
		`{"justification":"x","result":null,"contact":null}`:                         {Justification: "x", Result: pix.Disagreed},
		`{"contact":"","justification":" ","result":"DISAGREED"}`:                    {Justification: " ", Result: pix.Disagreed},
		`{"contact":"c","justification":"x","result":"AGREED"}`:                      {Justification: "x", Result: pix.Agreed, Contact: "c"},
		`{"contact":` + long("ç", 140) + `,"justification":` + long("ç", 2000) + `}`: {Justification: strings.Repeat("ç", 2000), Result: pix.Disagreed, Contact: strings.Repeat("ç", 140)},
	} {
		want.ID = id
		f.engine.command = nil
		f.expect(sent{path: path, body: body}, 404, `{"worked":false,"errors":{"not_found":"case not found"}}`)
		if f.engine.command != want {
			t.Errorf("%s: %+v, want %+v", body, f.engine.command, want)
		}
	}
	f.send(sent{path: medPath + "/%6D" + id.String()[1:] + "/defense", body: `{"justification":"x"}`})
	if c, ok := f.engine.command.(ledger.DefendCase); !ok || c.ID != id {
		t.Errorf("an id in percent-encoding: %+v", f.engine.command)
	}
	// A name that is no case's reaches the engine as the id zero, which no case has.
	for _, name := range []string{"x", "%00", "%zz", "%2F", "med_x"} {
		f.expect(sent{path: medPath + "/" + name + "/defense", body: `{"justification":"x"}`}, 404, `{"worked":false,"errors":{"not_found":"case not found"}}`)
		if c, ok := f.engine.command.(ledger.DefendCase); !ok || c.ID != (pix.CaseID{}) {
			t.Errorf("%s: %+v", name, f.engine.command)
		}
	}
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseCaseOver, Message: "the case is closed"}}
	f.expect(sent{path: path, body: `{"justification":"x"}`}, 422, `{"worked":false,"errors":{"unprocessable_entity":"the case is closed"}}`)
	f.send(sent{path: path, body: `{"justification":"x"}`, headers: []string{"Idempotency-Key", "k"}})
	if c := f.engine.command.(ledger.DefendCase); c.Claim == nil {
		t.Error("the defence has no claim")
	}
	for _, v := range []sent{
		{method: "GET", path: medPath}, {method: "GET", path: medPath + "/x"},
	} {
		v.client = "cli_balance"
		f.expect(v, 403, `{"error":"forbidden","message":"API key lacks permission: payment:read"}`)
	}
	f.expect(sent{path: path, body: `{}`, client: "cli_balance"}, 403, `{"error":"forbidden","message":"API key lacks permission: payment:write"}`)
}
