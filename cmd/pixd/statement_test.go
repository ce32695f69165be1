package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// dead is a key under which a payout is rejected.
const dead = "reject-ac03@pix.test"

// moves has money move in and out of a shop: a received payment, a payout, and a payout that
// is rejected. It waits until all of it has ended. The movements are booked at different times.
func (p *process) moves(s shop) {
	p.t.Helper()
	const apart = 3 * time.Millisecond
	time.Sleep(apart)
	p.pays(s, 250_000)
	time.Sleep(apart)
	for i, key := range []string{"settle-now@pix.test", dead} {
		body := fmt.Sprintf(`{"amount":%d,"pix_key":%q,"description":"=1+\u001b[31m1"}`, 1000*(i+1), key)
		if status, got, err := s.ask(p.merchant, "/pix/cash-out", body, fmt.Sprint("k", i)); err != nil || status/100 != 2 {
			p.t.Fatalf("%d %s %v", status, got, err)
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if got := p.reported("statement", "--account", s.ID, "--from", "2026-01-01", "--to", "9999-12-31"); strings.Count(got, "\n") == 5 {
			return
		} else if time.Now().After(end) {
			p.t.Fatalf("never ended:\n%s", got)
		}
	}
}

// TestStatementCommand prints a statement in each form, over the engine's own book.
func TestStatementCommand(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	p.moves(s)
	of := func(more ...string) []string {
		return append([]string{"statement", "--account", s.ID, "--from", "2026-01-01", "--to", "9999-12-31"}, more...)
	}
	same(t, squeezed(p.reported(of()...)), `
BOOKED TRANSACTION TYPE STATUS AMOUNT BRL FEE BRL MOVEMENT BRL COUNTERPARTY DESCRIPTION
{}Z TED{}ted completed 100,000.00 0.00 100,000.00 –
{}Z PIXIN{}pix completed 25.00 0.00 25.00 Cliente Simulado
{}Z PIXOUT{}pix settled 10.00 0.00 -10.00 Pessoa Simulada =1+\x1b[31m1
{}Z PIXOUT{}pix rejected 20.00 0.00 0.00 Pessoa Simulada =1+\x1b[31m1
`)
	raw := p.get("/admin/accounts/" + s.ID + "/statement")
	if out := p.reported(of("--json")...); out != raw+"\n" {
		t.Errorf("--json prints\n%s\nthe API answers\n%s", out, raw)
	}
	var l struct {
		Data []struct {
			Net int64 `json:"net_amount"`
			ID  string
		}
		Next *string `json:"next_cursor"`
	}
	if p.read(&l, of()...); len(l.Data) != 4 || l.Next != nil || l.Data[1].Net != 250_000 {
		t.Errorf("%+v", l)
	}
	out := p.reported(of("--csv")...)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 5 || out != p.get("/admin/accounts/"+s.ID+"/statement?format=csv") {
		t.Fatalf("%v\n%s", err, out)
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	for i, want := range []string{"100000.00", "25.00", "-10.00", "0.00"} {
		if r := rows[i+1]; r[column("movement_brl")] != want || r[column("id")] != l.Data[i].ID {
			t.Errorf("%q", r)
		}
	}
	if got := rows[3][column("description")]; got != "'=1+\ufffd[31m1" {
		t.Errorf("%q", got)
	}
	p.statementsOfSpans(t, s, rows[2][column("booked_at")], rows[3][column("booked_at")])
}

// statementsOfSpans checks spans without movements and with one, and spans that are none. The
// second and third of the shop's movements are booked at two instants.
func (p *process) statementsOfSpans(t *testing.T, s shop, second, third string) {
	t.Helper()
	if got := p.reported("statement", "--account", s.ID, "--from", second, "--to", third); strings.Count(got, "\n") != 2 || !strings.Contains(got, "25.00") {
		t.Error(got)
	}
	if got := p.reported("statement", "--account", s.ID, "--from", second[:10], "--to", second[:10]); second[:10] == third[:10] && strings.Count(got, "\n") < 4 {
		t.Error(got)
	}
	none := []string{"statement", "--account", s.ID, "--from", "2020-01-01", "--to", "2020-12-31"}
	if got := p.reported(none...); got != "no movements\n" {
		t.Error(got)
	}
	if got := p.reported(append(none, "--json")...); got != `{"data":[],"next_cursor":null}`+"\n" {
		t.Error(got)
	}
	if got := p.reported(append(none, "--csv")...); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "booked_at,") {
		t.Error(got)
	}
	for args, want := range map[string]string{
		"--account acc_x --from 2026-01-01 --to 2026-01-02":                               `pixd: no account "acc_x" (404)`,
		"--account .. --from 2026-01-01 --to 2026-01-02":                                  `pixd: ".." is no id`,
		"--account " + s.ID + " --from 2026-01-01":                                        `pixd: required flag(s) "to" not set`,
		"--account " + s.ID + " --from 2026-01-01 --to=":                                  "pixd: --from and --to need a day",
		"--account " + s.ID + " --from monday --to 2026-01-01":                            "pixd: from must be a day",
		"--account " + s.ID + " --from 2026-01-01 --to 2026-13-01":                        "pixd: to must be a day",
		"--account " + s.ID + " --from 2026-01-02 --to 2026-01-01":                        "pixd: from must not be after to (400)",
		"--account " + s.ID + " --from 2026-01-01 --to 2026-01-02 --csv --json":           "pixd: give --csv or --json, not both",
		"--account " + s.ID + " --from 2026-01-01 --to 2026-01-02 x":                      `pixd: "x" is one word too many`,
		"--account " + s.ID + " --from 2026-01-01 --to 2026-01-02 --admin http://[::1]:1": "pixd: no engine answers at http://[::1]:1",
	} {
		if code, out, errs := p.operates(append([]string{"statement"}, strings.Fields(args)...)...); code != 1 || out != "" || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
}

// broken is an operator API whose answer breaks off after some bytes.
func broken(t *testing.T, begin string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kinds := map[string]string{"json": "application/json", "csv": csvType}
		w.Header().Set("Content-Type", kinds[r.URL.Query().Get("format")])
		_, _ = io.WriteString(w, begin)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const csvType = "text/csv; charset=utf-8; header=present"

// TestStatementOfAnother checks that the answer of a server which is no operator API is not
// printed as a statement.
func TestStatementOfAnother(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>")
	}))
	defer s.Close()
	for _, flag := range []string{"--json=false", "--json", "--csv"} {
		code, out, errs := run(t, []string{"PIXD_ADMIN_TOKEN=" + token}, "statement", "--account", "acc_x", "--from", "2026-01-01", "--to", "2026-01-02", "--admin", s.URL, flag)
		if code != 1 || out != "" || !strings.HasSuffix(errs, ": it is no operator API\n") {
			t.Errorf("%s: exit %d\n%s%s", flag, code, out, errs)
		}
	}
}

// TestStatementIncomplete checks that a statement which breaks off is printed as far as it
// came, with an error that says so.
func TestStatementIncomplete(t *testing.T) {
	t.Parallel()
	item := `{"transaction_id":"TED1","amount":10000,"net_amount":10000,"booked_at":"2026-01-01T00:00:00.000Z","completed_at":"2026-01-01T00:00:00.000Z"}`
	for flag, begin := range map[string]string{"": "{\"data\":[\n" + item + ",\n", "--json": "{\"data\":[\n" + item + ",\n", "--csv": "booked_at\r\n2026\r\n"} {
		args := []string{"statement", "--account", "acc_x", "--from", "2026-01-01", "--to", "2026-01-02", "--admin", broken(t, begin)}
		if flag != "" {
			args = append(args, flag)
		}
		code, out, errs := run(t, []string{"PIXD_ADMIN_TOKEN=" + token}, args...)
		if code != 1 || !strings.HasPrefix(errs, "pixd: the output is incomplete: the answer of http://127.0.0.1:") || !strings.HasSuffix(errs, ": unexpected EOF\n") || strings.Count(errs, "broke off") != 1 {
			t.Errorf("%s: exit %d\n%s", flag, code, errs)
		}
		if flag == "" && strings.Count(out, "\n") != 2 || flag != "" && out != begin {
			t.Errorf("%s prints\n%s", flag, out)
		}
	}
}

// TestMovementsOfOthers checks that the table shows no answer that is not a whole statement.
func TestMovementsOfOthers(t *testing.T) {
	for answer, want := range map[string]error{
		"": errNoStatement, "{}": errNoStatement, "<html>": errNoStatement, `{"data":[`: io.ErrUnexpectedEOF, "{\"data\":[\n{}\n": io.ErrUnexpectedEOF,
		"{\"data\":[\n{}\n],\"next_cursor\":null}\n{}": errNoStatement, "{\"data\":[],\"next_cursor\":null}\n{}": errNoStatement,
		"{\"data\":[\n{},\n{}\n],\"next_cursor\":null}": nil, "{\"data\":[],\"next_cursor\":null}": nil,
	} {
		if err := movements(io.Discard, strings.NewReader(answer)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", answer, err, want)
		}
	}
	if err := movements(io.Discard, strings.NewReader("{\"data\":[\nx,\n")); err == nil {
		t.Error("no JSON is no error")
	}
}
