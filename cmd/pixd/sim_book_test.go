package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// simmed runs a `pixd sim` command against the simulator.
func (p *pair) simmed(args ...string) (code int, out, errs string) {
	p.t.Helper()
	return run(p.t, []string{"PIXD_SIM=" + p.sim.operator, "PIXD_ADMIN_TOKEN=" + token}, append([]string{"sim"}, args...)...)
}

// played runs a `pixd sim` command that must succeed without warnings, and returns its
// output.
func (p *pair) played(args ...string) string {
	p.t.Helper()
	code, out, errs := p.simmed(args...)
	if code != 0 || errs != "" {
		p.t.Fatalf("pixd sim %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// refused runs a `pixd sim` command that must fail and say why in one line.
func (p *pair) refused(says string, args ...string) {
	p.t.Helper()
	code, out, errs := p.simmed(args...)
	if code != 1 || out != "" || !strings.Contains(errs, says) || strings.Count(errs, "\n") != 1 {
		p.t.Errorf("pixd sim %s: exit %d\n%s%s, want %s", strings.Join(args, " "), code, out, errs, says)
	}
}

// cashOut posts a payout and returns its end-to-end id.
func (p *pair) cashOut(s shop, key string, want int) string {
	p.t.Helper()
	status, got, err := s.ask(p.engine.merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":100,"pix_key":%q}`, key), "out "+key)
	var answer struct {
		EndToEnd string `json:"end_to_end_id"`
	}
	if err != nil || status != want || json.Unmarshal(got, &answer) != nil {
		p.t.Fatalf("%s: %d %s %v", key, status, got, err)
	}
	return answer.EndToEnd
}

// TestSimBookCommands checks the commands for the simulator's book, returns, infractions
// and capacity.
func TestSimBookCommands(t *testing.T) {
	t.Parallel()
	p := openPair(t, false)
	same(t, p.played("book"), "\nread at                         {}Z\noldest notice not acknowledged  none\n\nnothing has settled\n")
	if got := p.played("book", "movements"); got != "no movements\n" {
		t.Errorf("%q", got)
	}
	s := p.engine.shop()
	out, silent := p.cashOut(s, "settle-now@pix.test", 200), p.cashOut(s, "silent@pix.test", 202)
	in := "E99999003" + time.Now().UTC().Format("200601021504") + "00000000001"
	p.paid("--pix-key", s.Key, "--amount", "500", "--end-to-end-id", in)
	same(t, p.played("return", out, "--amount", "3000", "--reason", "MD06"), "\nreturn id  D99999005{}\n")
	p.refused("amount is more than is left of the payment (422)", "return", out, "--amount", "7001")
	p.refused("the payment has not settled, or was rejected (422)", "return", silent)
	p.refused("no such payment (404)", "return", "E1")
	p.refused("name the payout to return", "return")
	p.refused("reason must be", "return", out, "--reason", "x")
	read := p.played("book", "--json")
	if !strings.Contains(read, `{"ispb":"99999004","sent":10000,"received":500,"returned_by":0,"returned_to":3000,"messages":3}`) {
		t.Error(read)
	}
	for range 100 {
		if !strings.Contains(p.played("book", "--json"), "oldest_open") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	same(t, p.played("book"), `
read at                         {}Z
oldest notice not acknowledged  none

PARTICIPANT   SENT  RECEIVED  RETURNED BY  RETURNED TO  MESSAGES
99999003       500         0            0            0         1
99999004     10000       500            0         3000         3
99999005         0     10000         3000            0         2

ACCOUNT             SENT  RECEIVED  RETURNED BY  RETURNED TO
acc_{} 10000       500            0         3000
`)
	var known struct {
		ID            string
		TransactionID string `json:"transaction_id"`
	}
	if err := json.Unmarshal([]byte(p.engine.get("/admin/transactions/"+out)), &known); err != nil || !strings.HasPrefix(known.TransactionID, "PIXOUT") {
		t.Fatalf("%+v %v", known, err)
	}
	same(t, p.played("book", out), `
kind            payout
transaction id  `+known.TransactionID+`
id              `+known.ID+`
end-to-end id   `+out+`
account         acc_{}
pix key         settle-now@pix.test
amount          10000 (1.00 BRL)
status          settled
created         {}Z
final           {}Z
returned        3000 (0.30 BRL)
return          D{} of 3000 (0.30 BRL), MD06, {}Z
`)
	p.refused("no such payment (404)", "book", "E1")
	p.movements(out, known.TransactionID, in)
	p.infraction(in)
	p.capacity(s)
	const want = 1_000_000_000 - 10_000 + 500 + 3_000 - 10_000
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got, _ := s.balance(p.engine)
		if got == want { // the balance shows that the queued payout was sent too
			return
		}
		if time.Now().After(end) {
			t.Fatalf("balance %d, want %d", got, want)
		}
	}
}

func (p *pair) movements(out, transaction, in string) {
	p.t.Helper()
	same(p.t, p.played("book", "movements"), `
AT                    KIND     AMOUNT  ACCOUNT            TRANSACTION                 END-TO-END ID                     RETURN ID
{}Z  payout    10000  acc_{}  `+transaction+`  `+out+`
{}Z  payment     500  acc_{}                              `+in+`
{}Z  return     3000  acc_{}  `+transaction+`  `+out+`  D{}
`)
	if got := p.played("book", "movements", "--limit", "1"); strings.Count(got, "\n") != 4 || !strings.Contains(got, "\nmore: pixd sim book movements --limit 1 --cursor ") {
		p.t.Error(got)
	}
	if got := p.played("book", "movements", "--since", "2999-01-01T00:00:00Z"); got != "no movements\n" {
		p.t.Error(got)
	}
	p.refused("since must be", "book", "movements", "--since", "yesterday")
	p.refused("cursor must be", "book", "movements", "--cursor", "x")
}

func (p *pair) infraction(in string) {
	p.t.Helper()
	made := p.played("infraction", in, "--amount", "100", "--situation", "COERCION")
	same(p.t, made, "\ninfraction id  {}\n")
	id := strings.Fields(made)[2]
	for range 2 {
		same(p.t, p.played("infraction", "cancel", id), "\ninfraction id  "+id+"\nstatus         cancelled\n")
	}
	p.refused("no such infraction (404)", "infraction", "cancel", "x")
	p.refused("SCAM, ACCOUNT_TAKEOVER", "infraction", in, "--situation", "x")
	p.refused("more than is left", "infraction", in, "--amount", "501")
}

func (p *pair) capacity(s shop) {
	p.t.Helper()
	same(p.t, p.played("capacity", "bucket_exhausted"), "\nlookups  bucket_exhausted\n")
	p.sim.end(9)
	p.startSim()
	if status, got, err := s.ask(p.engine.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"ze@example.com"}`, "limited"); err != nil || status != 202 || !strings.Contains(string(got), `"status":"queued"`) {
		p.t.Errorf("%d %s %v", status, got, err)
	}
	if got := p.played("capacity", "available", "--json"); got != `{"lookups":"available"}`+"\n" {
		p.t.Error(got)
	}
	p.refused("lookups must be", "capacity", "none")
}
