package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// pays has a customer pay a shop, and waits until the payment has arrived.
func (p *process) pays(s shop, amount int) (endToEnd string) {
	p.t.Helper()
	var paid struct {
		EndToEnd string `json:"end_to_end_id"`
	}
	p.made("/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":%d}`, s.Key, amount), &paid)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if status, _, err := p.operate("GET", "/admin/transactions/"+paid.EndToEnd, ""); err == nil && status == 200 {
			return paid.EndToEnd
		}
	}
	p.t.Fatal("the payment never arrived")
	return ""
}

// squeezed returns a table with one space between its columns.
func squeezed(s string) string { return regexp.MustCompile(" +").ReplaceAllString(s, " ") }

// TestMedCommands checks the commands about special-return cases: lists and their pages, one
// case in each state, and the analyst's decision.
func TestMedCommands(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	if got := p.reported("med", "list"); got != "no cases\n" {
		t.Errorf("%q", got)
	}
	var ids []string
	var l struct {
		Data []struct {
			ID       string
			Status   string
			EndToEnd string `json:"end_to_end_id"`
			Tx       string `json:"transaction_id"`
			Report   string `json:"infraction_id"`
		}
		Next *string `json:"next_cursor"`
	}
	for n := range 3 {
		e2e := p.pays(s, 10_000*(n+1))
		p.made("/sim/infractions", fmt.Sprintf(`{"end_to_end_id":%q,"amount":%d,"situation":"SCAM"}`, e2e, 7_000*(n+1)), nil)
		for end := time.Now().Add(10 * time.Second); len(l.Data) <= n && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			p.read(&l, "med", "list")
		}
		if len(l.Data) != n+1 || l.Data[n].EndToEnd != e2e {
			t.Fatalf("%+v", l)
		}
		ids = append(ids, l.Data[n].ID)
	}
	facts := func(n int, amounts, end string) string {
		k := l.Data[n]
		return "\ncase " + k.ID + "\naccount " + s.ID + "\nstatus " + k.Status + "\nsituation SCAM\npayment " + k.Tx + "\nend-to-end id " + k.EndToEnd + "\ninfraction id " + k.Report +
			"\n" + amounts + "\nopened {}Z\ndefense until {}Z\nanalysis until {}Z\n" + end
	}
	same(t, squeezed(p.reported("med", "show", ids[0])), facts(0, "disputed 7000 (0.70 BRL)\nheld 7000 (0.70 BRL)\ncovered 7000 (0.70 BRL)\nrefunded 0 (0.00 BRL)", ""))
	defense := "the goods \\u001b[31mwere delivered"
	if status, got, err := s.ask(p.merchant, "/med/"+ids[0]+"/defense", `{"contact":"ana@loja.br","justification":"`+defense+`"}`, ""); err != nil || status != 200 {
		t.Fatalf("%d %s %v", status, got, err)
	}
	closed := p.reported("med", "close", ids[0], "--result", "DISAGREED", "--details", "the receipt\nis signed")
	l.Data[0].Status = "closed"
	same(t, squeezed(closed), facts(0, "disputed 7000 (0.70 BRL)\nheld 0 (0.00 BRL)\ncovered 0 (0.00 BRL)\nrefunded 0 (0.00 BRL)",
		`defended {}Z
merchant proposes DISAGREED
justification the goods \x1b[31mwere delivered
contact ana@loja.br
closed {}Z
result DISAGREED
details the receipt\nis signed
`))
	if again := p.reported("med", "close", ids[0], "--result", "DISAGREED", "--details", "another"); again != closed {
		t.Errorf("%s", again)
	}
	if code, out, errs := p.operates("med", "close", ids[0], "--result", "AGREED"); code != 1 || out != "" || errs != "pixd: the case was closed as DISAGREED (409)\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	var one struct {
		ID       string
		Result   string `json:"analysis_result"`
		Held     int    `json:"held_amount"`
		Refunded int    `json:"refunded_amount"`
	}
	if p.read(&one, "med", "close", ids[1], "--result", "AGREED"); one.ID != ids[1] || one.Result != "AGREED" || one.Held != 0 {
		t.Errorf("%+v", one)
	}
	for end := time.Now().Add(10 * time.Second); one.Refunded == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p.read(&one, "med", "show", ids[1])
	}
	p.lists(t, s, ids)
	p.refusesCases(t, ids[2])
}

// lists checks the list of three cases of a shop: the first closed for the merchant, the
// second refunded, the third open.
func (p *process) lists(t *testing.T, s shop, ids []string) {
	t.Helper()
	const header = "CASE {}ACCOUNT {}STATUS {}RESULT {}DISPUTED BRL {}HELD BRL {}COVERED BRL {}REFUNDED BRL {}DEFENSE UNTIL {}OPENED"
	words := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	rows := strings.Split(strings.TrimSuffix(p.reported("med", "list"), "\n"), "\n")
	want := []string{
		strings.ReplaceAll(header, "{}", ""),
		ids[0] + " " + s.ID + " closed DISAGREED 0.70 0.00 0.00 0.00",
		ids[1] + " " + s.ID + " closed AGREED 1.40 0.00 0.00 1.40",
		ids[2] + " " + s.ID + " open – 2.10 2.10 2.10 0.00",
	}
	if len(rows) != len(want) {
		t.Fatalf("%q", rows)
	}
	for n, row := range rows {
		if !strings.HasPrefix(words(row), want[n]) {
			t.Errorf("%s, want %s", words(row), want[n])
		}
	}
	if got := p.reported("med", "list", "--status", "open"); strings.Count(got, "\n") != 2 || !strings.Contains(got, ids[2]) {
		t.Error(got)
	}
	if got := p.reported("med", "list", "--status", "cancelled"); got != "no cases\n" {
		t.Error(got)
	}
	page := p.reported("med", "list", "--limit", "1", "--status", "closed")
	_, more, ok := strings.Cut(page, "\n\nmore: pixd ")
	if !ok || !strings.HasPrefix(more, "med list --status closed --limit 1 --cursor ") || !strings.Contains(page, ids[0]) {
		t.Fatal(page)
	}
	if page = p.reported(strings.Fields(more)...); !strings.Contains(page, ids[1]) {
		t.Error(page)
	}
	if out, raw := p.reported("med", "list", "--status", "open", "--limit", "9", "--json"), p.get("/admin/med?status=open&limit=9"); out != raw+"\n" {
		t.Errorf("--json prints\n%s\nthe API answers\n%s", out, raw)
	}
	if out, raw := p.reported("med", "show", ids[1], "--json"), p.get("/admin/med/"+ids[1]); out != raw+"\n" {
		t.Errorf("--json prints\n%s\nthe API answers\n%s", out, raw)
	}
}

// refusesCases checks commands that cannot be carried out.
func (p *process) refusesCases(t *testing.T, id string) {
	t.Helper()
	for args, want := range map[string]string{
		"med show med_x":                                 `pixd: no case "med_x" (404)`,
		"med close med_x --result AGREED":                `pixd: no case "med_x" (404)`,
		"med close " + id + " --result agreed":           "pixd: result must be AGREED or DISAGREED (400)",
		"med list --status x":                            "pixd: status must be open, defended, closed or cancelled (400)",
		"med close " + id:                                `pixd: required flag(s) "result" not set`,
		"med refund med_x --operator ana":                `pixd: no case "med_x" (404)`,
		"med refund " + id + " --operator ana":           "pixd: no refund for the case has failed for good (409)",
		"med refund " + id:                               `pixd: operator is required (400)`,
		"med refund " + id + " --operator \xff":          "pixd: --operator is not in UTF-8",
		"med resume " + id + " --operator ana":           "pixd: the case does not wait for an operator since a restore (409)",
		"med resume " + id + " --all --operator ana":     "pixd: name one case, or give --all",
		"med resume --operator ana":                      "pixd: name one case, or give --all",
		"med close " + id + " --result D --details \xff": "pixd: --details is not in UTF-8",
	} {
		if code, out, errs := p.operates(strings.Fields(args)...); code == 0 || out != "" || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
}

// TestMedResumeAll checks that every case that waits is let go on, and no other, and that one
// which goes on waiting does not keep the others from it.
func TestMedResumeAll(t *testing.T) {
	t.Parallel()
	var resumed []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"data":[{"id":"med_a","awaits_resume":true},{"id":"med_b","awaits_resume":false},{"id":"med_c","awaits_resume":true},{"id":"med_d","awaits_resume":true}],"next_cursor":null}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		resumed = append(resumed, r.Method+" "+r.URL.Path+" "+string(body))
		if strings.Contains(r.URL.Path, "med_c") {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":{"status":503,"message":"the scheme could not say it"}}`)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, `{"id":%q,"status":"open","awaits_resume":false}`, strings.Split(r.URL.Path, "/")[3])
	}))
	t.Cleanup(s.Close)
	code, out, errs := asks(t, s.URL, "med", "resume", "--all", "--operator", "ana")
	want := []string{"POST /admin/med/med_a/resume", "POST /admin/med/med_c/resume", "POST /admin/med/med_d/resume"}
	for i := range want {
		want[i] += ` {"operator":"ana"}`
	}
	if !slices.Equal(resumed, want) {
		t.Errorf("%q", resumed)
	}
	if code != 1 || !strings.Contains(out, "med_a") || !strings.Contains(out, "med_d") || strings.Contains(out, "med_b") || strings.Contains(out, "med_c") ||
		errs != "pixd: 1 case still waits: med_c: the scheme could not say it (503)\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
