package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// caseOf is a special-return case as an operator's list shows it, in one line.
func (p *process) caseOf() (id, line string) {
	p.t.Helper()
	var l struct {
		Data []struct {
			ID       string
			Status   string
			Result   *string `json:"analysis_result"`
			Held     int     `json:"held_amount"`
			Refunded int     `json:"refunded_amount"`
		}
	}
	p.read(&l, "med", "list")
	if len(l.Data) != 1 {
		return "", fmt.Sprint(len(l.Data), " cases")
	}
	k := l.Data[0]
	result := "-"
	if k.Result != nil {
		result = *k.Result
	}
	return k.ID, fmt.Sprintf("%s %s held %d refunded %d", k.Status, result, k.Held, k.Refunded)
}

// TestPairRefunds checks refunds and a special-return case between an engine and a simulator
// that are killed in between: the refund is made once, the case is opened once, and the
// engine's journal and the scheme's book agree in the end.
func TestPairRefunds(t *testing.T) {
	t.Parallel()
	p := openPair(t, false)
	s := p.engine.shop()
	var paid struct {
		EndToEnd string `json:"end_to_end_id"`
	}
	if err := json.Unmarshal([]byte(p.paid("--pix-key", s.Key, "--amount", "70000", "--json")), &paid); err != nil {
		t.Fatal(err)
	}
	const start = 1_000_000_000
	balanceIs := func(want int64) {
		t.Helper()
		eventually(t, fmt.Sprint("a balance of ", want), func() bool { got, pending := s.balance(p.engine); return got == want && pending == 0 })
	}
	balanceIs(start + 70_000)
	refund := func(amount int, key string) (int, string) {
		status, got, err := s.ask(p.engine.merchant, "/pix/refund", fmt.Sprintf(`{"amount":%d,"original_e2e_id":%q}`, amount, paid.EndToEnd), key)
		return status, fmt.Sprintf("%s %v", got, err)
	}
	p.sim.end(syscall.SIGKILL) // nobody knows whether the scheme has the refund
	status, first := refund(100, "first")
	if status != 202 || !strings.Contains(first, `"status":"accepted"`) {
		t.Fatalf("%d %s", status, first)
	}
	p.engine.end(syscall.SIGKILL)
	p.startSim()
	p.startEngine()
	if status, again := refund(100, "first"); status != 202 || again != first {
		t.Errorf("%d %s, was %s", status, again, first)
	}
	balanceIs(start + 60_000)

	p.engine.end(syscall.SIGKILL)
	if status, got, err := p.sim.operate("POST", "/sim/infractions", fmt.Sprintf(`{"end_to_end_id":%q,"amount":50000,"situation":"ACCOUNT_TAKEOVER"}`, paid.EndToEnd)); err != nil || status != 201 {
		t.Fatalf("%d %s %v", status, got, err)
	}
	p.sim.end(syscall.SIGKILL)
	p.startSim()
	p.startEngine()
	is := func(want string) (id string) {
		t.Helper()
		eventually(t, want, func() (holds bool) {
			got := ""
			id, got = p.engine.caseOf()
			return got == want
		})
		return id
	}
	id := is("open - held 50000 refunded 0")
	if status, got := refund(101, "second"); status != 422 || !strings.Contains(got, "exceed the original amount") {
		t.Errorf("%d %s", status, got)
	}
	p.engine.reported("med", "close", id, "--result", "AGREED")
	p.engine.end(syscall.SIGKILL)
	p.startEngine()
	is("closed AGREED held 0 refunded 50000")
	balanceIs(start + 10_000)
	status, rest := refund(100, "rest")
	if status != 202 {
		t.Errorf("%d %s", status, rest)
	}
	balanceIs(start)
	var book struct {
		Accounts []struct {
			ID         string `json:"account_id"`
			ReturnedBy int    `json:"returned_by"`
		}
	}
	if status, got, err := p.sim.operate("GET", "/sim/book", ""); err != nil || status != 200 || json.Unmarshal(got, &book) != nil || len(book.Accounts) != 1 || book.Accounts[0].ReturnedBy != 70_000 {
		t.Errorf("%d %s %v", status, got, err)
	}
	if reported := p.engine.reported("audit"); !strings.Contains(reported, "scheme's book  compared\ndifferences    0\n") {
		t.Error(reported)
	}
	if code := p.engine.end(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit %d\n%s", code, p.engine.words())
	}
	code, out, errs := run(t, nil, "journal", "verify", "--data-dir", filepath.Join(p.dir, "data"))
	if code != 0 || !strings.Contains(out, fmt.Sprintf("balance   %d\npending   0\n", start)) {
		t.Errorf("verify: %d %s %s", code, out, errs)
	}
}
