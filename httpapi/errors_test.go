package httpapi

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pixd/actors/ledger"
)

func codeA(code, extra, params string) string {
	return `{"status":"failed",` + extra + `"errors":[{"code":"` + code + `","message":"why","params":{` + params + `}}]}`
}

func fieldB(field string) string { return `{"errors":{"bad_request":{"` + field + `":["why"]}}}` }

// documentedRows are the rows of docs/refusals.md.
type documentedRows struct {
	payouts   map[int][]string    // of payouts, by their number, which is their place in the ledger's order
	others    map[string][]string // of merchants' other requests, by the refusal's name
	operators map[string]string   // statuses to operators, by the refusal's name
}

func refusalPage(t *testing.T) documentedRows {
	t.Helper()
	page, err := os.ReadFile("../docs/refusals.md")
	if err != nil {
		t.Fatal(err)
	}
	p := documentedRows{map[int][]string{}, map[string][]string{}, map[string]string{}}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch n, err := strconv.Atoi(cells[0]); {
		case err == nil && len(cells) == 5:
			p.payouts[n] = cells[1:]
		case len(cells) == 4 && cells[0] != "refusal" && cells[3] != "---":
			// A name may be in the tables of several requests, always with the same answer.
			if first := p.others[cells[0]]; first != nil && !slices.Equal(first[2:], cells[2:]) {
				t.Errorf("docs/refusals.md: %v and %v", first, cells)
			}
			p.others[cells[0]] = cells
		case len(cells) == 3:
			for name := range strings.SplitSeq(cells[0], ", ") {
				p.operators[name] = cells[2]
			}
		}
	}
	return p
}

// documented returns the answer to a payout request that one row of docs/refusals.md
// promises. The row has name, condition, status and shape.
func documented(row []string) (status int, body string) {
	status, _ = strconv.Atoi(row[2])
	switch name := row[0]; row[3] {
	case "A":
		body = codeA(name, "", "")
	case "A, `failure_reason`":
		body = codeA(name, `"failure_reason":"ambiguous key",`, "")
	case "A, `params.ceiling`":
		body = codeA(name, "", `"ceiling":5000`)
	case "B":
		body = `{"errors":{"bad_request":"` + name + `"}}`
	case "B, `detail`":
		body = `{"errors":{"bad_request":"` + name + `"},"detail":"why"}`
	case "B, field":
		body = fieldB(name)
	case "message":
		body = `{"errors":{"unprocessable_entity":"why"}}`
	}
	return status, body
}

// TestRefusePayout checks that each refusal is answered to merchants and to operators as its
// row of docs/refusals.md says. A refusal without a row for merchants must give merchants a
// 500, because it means a bug in the engine.
func TestRefusePayout(t *testing.T) {
	page := refusalPage(t)
	for _, code := range ledger.Refusals() {
		r := &ledger.Refusal{Code: code, Field: code.String(), Message: "why", Ceiling: 5000}
		status, body := refusePayout(r, false)
		expect, text := 500, shape1("500", "internal error")
		if row := page.payouts[int(code)]; row != nil {
			expect, text = documented(row)
		}
		if status != expect || string(body) != text {
			t.Errorf("%v: %d %s", code, status, body)
		}
		admin := "500"
		if status, there := page.operators[code.String()]; there {
			admin = status
		}
		if got := fmt.Sprint(AdminStatus(r)); got != admin && admin != "–" { // – in the page means that no operator's request can get this refusal
			t.Errorf("%v: operators read %s, the page says %s", code, got, admin)
		}
		if page.payouts[int(code)] == nil && page.operators[code.String()] == "" && page.others[code.String()] == nil {
			t.Errorf("%v: docs/refusals.md has no row", code)
		}
		delete(page.payouts, int(code))
		rendered, same := (Renderer{queueing}).write(&ledger.Answer{Refusal: r}, false)
		if rendered != status || string(same) != string(body) {
			t.Errorf("%v: rendered %d %s", code, rendered, same)
		}
	}
	if len(page.payouts) > 0 {
		t.Errorf("docs/refusals.md has rows of no refusal: %v", page.payouts)
	}
	status, body := refusePayout(&ledger.Refusal{Code: ledger.RefuseCNPJBlocked, Message: "why", AfterHold: true}, false)
	if want := `{"status":"failed","errors":[{"code":"cnpj_out_blocked","message":"the key belongs to a CNPJ that payouts are not authorized to","params":{}}]}`; status != 400 || string(body) != want {
		t.Errorf("after the hold: %d %s", status, body)
	}
}

// TestRefuseOther checks that each refusal of any merchant's request but a payout is answered
// as its row of docs/refusals.md says. A refusal without such a row must give a 500, because
// no such request can get it.
func TestRefuseOther(t *testing.T) {
	page := refusalPage(t)
	for _, code := range ledger.Refusals() {
		row := page.others[code.String()]
		delete(page.others, code.String())
		r := &ledger.Refusal{Code: code, Message: "why"}
		expect, text, camel := 500, shape1("500", "internal error"), ""
		if row != nil {
			expect, _ = strconv.Atoi(row[2])
			text = `{"worked":false,"errors":{"` + row[3] + `":"why"}}`
			camel = strings.NewReplacer("bad_request", "badRequest", "not_found", "notFound", "unprocessable_entity", "unprocessableEntity").Replace(text)
		}
		if row != nil && row[3] == "field" {
			r.Field = "some_field"
			text = `{"worked":false,"errors":{"bad_request":{"some_field":["why"]}}}`
			camel = `{"worked":false,"errors":{"badRequest":{"someField":["why"]}}}`
		}
		if status, body := refuseOther(r, false); status != expect || string(body) != text {
			t.Errorf("%v: %d %s, the page says %d %s", code, status, body, expect, text)
		}
		if _, body := refuseOther(r, true); camel != "" && string(body) != camel {
			t.Errorf("%v in camelCase: %s, not %s", code, body, camel)
		}
	}
	if len(page.others) > 0 {
		t.Errorf("docs/refusals.md has rows of no refusal: %v", page.others)
	}
}

func TestRefuseCharge(t *testing.T) {
	for code, field := range map[ledger.RefusalCode]string{ledger.RefuseAmount: "amount", ledger.RefuseDescription: "description", ledger.RefuseCPF: "cpf"} {
		status, body := refuseOther(&ledger.Refusal{Code: code, Field: field, Message: "why"}, false)
		if want := `{"worked":false,"errors":{"bad_request":{"` + field + `":["why"]}}}`; status != 400 || string(body) != want {
			t.Errorf("%v: %d %s", code, status, body)
		}
	}
	if status, body := refuseOther(&ledger.Refusal{Code: ledger.RefuseNotOpened}, false); status != 500 {
		t.Errorf("%d %s", status, body)
	}
}

func TestForms(t *testing.T) {
	f := newFixture(t)
	long := fmt.Sprintf("%141d", 0)
	for body, want := range map[string]string{
		`{"pix_key":"a@b.com"}`:                                  `{"errors":{"bad_request":"invalid or missing amount"}}`,
		`{"amount":1}`:                                           `{"errors":{"bad_request":"invalid pix_key"},"detail":"pix_key …`,
		`{"amount":1,"pix_key":12}`:                              `{"errors":{"bad_request":"invalid pix_key"},"detail":"pix_key …`,
		`{"amount":1,"pix_key":"nonsense"}`:                      `{"errors":{"bad_request":"invalid pix_key"},"detail":"pix_key …`,
		`{"amount":1,"pix_key":"a@b.com","pix_key_type":"iban"}`: `{"errors":{"bad_request":{"pix_key_type":["…`,
		`{"amount":1,"pix_key":"a@b.com","pix_key_type":7}`:      `{"errors":{"bad_request":{"pix_key_type":["…`,
		`{"amount":1,"pix_key":"a@b.com","purpose":"` + strings.Repeat("ç", 501) + `"}`: `{"errors":{"bad_request":{"purpose":["…`,
		`{"amount":1,"pix_key":"a@b.com","recipient_ispb":"1"}`:                         `{"errors":{"bad_request":{"recipient_ispb":["…`,
		`{"amount":1,"pix_key":"a@b.com","recipient_ispb":12345678}`:                    `{"errors":{"bad_request":{"recipient_ispb":["…`,
		`{"amount":1,"end_to_end_id":"E1","pix_key":"a@b.com"}`:                         `{"errors":{"bad_request":{"end_to_end_id":["…`,
		`{"amount":1,"description":"` + long + `","pix_key":"a@b.com"}`:                 `{"errors":{"bad_request":{"description":["…`,
		`{"amount":1,"description":["x"],"pix_key":"a@b.com"}`:                          `{"errors":{"bad_request":{"description":["…`,
		`{"amount":1,"description":["x"],"pix_key":"x"}`:                                `{"errors":{"bad_request":"invalid pix_key"},"detail":"pix_key …`,
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
