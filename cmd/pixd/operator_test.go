package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOperatorCommands checks operators with names over a kill: their tokens and roles, two approvals of one payout, and
// what is on record.
func TestOperatorCommands(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir, "--approval-by", "2")
	s := p.shop()
	p.reported("account", "set", s.ID, "--approval-threshold", "700")
	p.made("/admin/accounts/"+s.ID+"/credits", `{"amount":1000000,"type":"ted"}`, nil)
	token := func(name, role string) []string {
		var o struct{ Token string }
		p.read(&o, "operator", "add", name, "--role", role)
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(o.Token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"--token-file", file}
	}
	vera, olga, ana := token("vera", "viewer"), token("olga", "operator"), token("ana", "operator")
	var tx struct {
		ID string `json:"transaction_id"`
	}
	status, got, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":700,"pix_key":"a@pix.test"}`, "")
	if err != nil || status != 202 {
		t.Fatal(status, string(got), err)
	}
	if err := json.Unmarshal(got, &tx); err != nil {
		t.Fatal(err)
	}
	refused := func(want string, as []string, args ...string) {
		t.Helper()
		if code, out, errs := p.operates(append(args, as...)...); code != 1 || out != "" || errs != "pixd: "+want+"\n" {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, errs)
		}
	}
	refused("vera is a viewer, who may read alone (403)", vera, "approve", tx.ID)
	refused("olga is an operator, and this needs an admin (403)", olga, "operator", "add", "x", "--role", "admin")
	if out := p.reported(append([]string{"approve", tx.ID}, olga...)...); !strings.Contains(out, "state          pending_approval\napproved by    olga; another operator must approve it too\n") {
		t.Error(out)
	}
	p.end(syscall.SIGKILL)
	p = start(t, dir, "--approval-by", "2")
	refused("olga has approved the payout: another operator must approve it too (409)", olga, "approve", tx.ID)
	if out := p.reported(append([]string{"approve", tx.ID}, ana...)...); !strings.Contains(out, "state          sending\n") {
		t.Error(out)
	}
	p.reported("operator", "revoke", "olga")
	if code, _, errs := p.operates(append([]string{"account", "list"}, olga...)...); code != 1 || !strings.Contains(errs, "(401)") {
		t.Errorf("a revoked token: exit %d %s", code, errs)
	}
	same(t, p.reported("operator", "list"), `
NAME  ROLE      STATE    CREATED               REVOKED
ana   operator  active   {}Z  -
olga  operator  revoked  {}Z  {}Z
vera  viewer    active   {}Z  -
`)
	same(t, p.reported("operator", "log", "--by", "olga"), fmt.Sprintf(`
TIME                  OPERATOR  ROLE      REQUEST                                                 STATUS
{}Z  olga      operator  POST /admin/payouts/%s/approve  409
{}Z  olga      operator  POST /admin/payouts/%s/approve  202
{}Z  olga      operator  POST /admin/operators                                   403
`, tx.ID, tx.ID))
	if out := p.reported("operator", "log", "--json", "--limit", "200"); !strings.Contains(out, `"body":"{\"approval_threshold\":700}"`) || !strings.Contains(out, `"operator":"root"`) {
		t.Error(out)
	}
	p.end(syscall.SIGTERM)
	if code, _, errs := run(t, nil, "journal", "verify", "--data-dir", dir); code != 0 {
		t.Error(errs)
	}
}
