package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pixd/actors/scheme/provider"
	"pixd/wal/waltest"
)

// launchSim starts a simulator and does not wait until it is ready.
func launchSim(t *testing.T, dir, listen, engine string, flags ...string) *process {
	t.Helper()
	return preparedSim(t, dir, listen, engine, flags...).begin()
}

// preparedSim returns a process of `pixd sim` that is not started yet.
func preparedSim(t *testing.T, dir, listen, engine string, flags ...string) *process {
	t.Helper()
	args := append([]string{"sim", "--data-dir", dir, "--listen", listen, "--engine", engine, "--settle-delay", settleDelay}, flags...)
	c := exec.Command(theBinary(), args...)
	c.Env = append(os.Environ(), "PIXD_ADMIN_TOKEN="+token, "PIXD_SCHEME_SECRET="+schemeWord)
	return &process{t: t, cmd: c, dir: dir, ready: make(chan struct{}), exited: make(chan error, 1)}
}

// pair is an engine and a simulator that are connected to each other.
type pair struct {
	t           *testing.T
	dir         string
	ports       []string // addresses of the merchant API, the operator API, the simulator and the listener for notices
	own         bool     // notices have a listener of their own
	engine, sim *process
}

func openPair(t *testing.T, own bool) *pair {
	t.Helper()
	p := &pair{t: t, dir: t.TempDir(), ports: waltest.FreePorts(t, 4, 1), own: own}
	p.startSim()
	p.startEngine()
	return p
}

func (p *pair) startEngine() {
	p.t.Helper()
	flags := []string{"--listen", p.ports[0], "--admin-listen", p.ports[1], "--scheme", "http://" + p.ports[2]}
	if p.own {
		flags = append(flags, "--scheme-listen", p.ports[3])
	}
	p.engine = start(p.t, filepath.Join(p.dir, "data"), flags...)
}

func (p *pair) startSim() {
	p.t.Helper()
	to := "http://" + p.ports[1]
	if p.own {
		to = "http://" + p.ports[3]
	}
	p.sim = launchSim(p.t, filepath.Join(p.dir, "sim"), p.ports[2], to).awaitReady()
}

// paid runs `pixd sim pay`, which must succeed, and returns its output.
func (p *pair) paid(args ...string) string {
	p.t.Helper()
	code, out, errs := run(p.t, []string{"PIXD_SIM=" + p.sim.operator, "PIXD_ADMIN_TOKEN=" + token}, append([]string{"sim", "pay"}, args...)...)
	if code != 0 || errs != "" {
		p.t.Fatalf("pixd sim pay %v: exit %d\n%s%s", args, code, out, errs)
	}
	return out
}

// TestTwoProcesses checks payments between an engine and a simulator in a process of its
// own.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"notices beside operators": false, "notices on their own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tourOfTwo(t, openPair(t, own))
		})
	}
}

func payAndBePaid(t *testing.T, p *pair) {
	e := p.engine
	s := e.shop()
	status, got, err := s.ask(e.merchant, "/pix/cash-in", `{"amount":2500}`, "charge")
	var charge struct {
		Code string `json:"qr_code"`
	}
	if err != nil || status != 200 || json.Unmarshal(got, &charge) != nil {
		t.Fatalf("%d %s %v", status, got, err)
	}
	same(t, p.paid("--qr-code", charge.Code), "\nend-to-end id  {}\namount         250000 (25.00 BRL)\n")
	e2e := "E99999003" + time.Now().UTC().Format("200601021504") + "00000000001"
	for range 2 {
		if got := p.paid("--pix-key", s.Key, "--amount", "500", "--end-to-end-id", e2e, "--payer-name", "Ana", "--json"); got != `{"end_to_end_id":"`+e2e+`","amount":500}`+"\n" {
			t.Error(got)
		}
	}
	want := int64(1_000_000_000 + 250_000 + 500)
	if got, _ := s.balance(e); got != want {
		t.Errorf("balance %d, want %d", got, want)
	}
	for n, c := range []struct {
		key    string
		status int
		says   string
		costs  int64
	}{
		{"ana@example.com", 202, `"status":"accepted"`, 10_000},
		{"settle-now@pix.test", 200, `"status":"settled"`, 10_000},
		{"reject-ac03@pix.test", 202, `"status":"accepted"`, 0},
		{"not-found@pix.test", 400, "dict_key_not_found", 0},
		{"provider-rejected@pix.test", 400, "provider_rejected", 0},
	} {
		status, got, err := s.ask(e.merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":100,"pix_key":%q}`, c.key), fmt.Sprint("out", n))
		if err != nil || status != c.status || !strings.Contains(string(got), c.says) {
			t.Errorf("%s: %d %s %v", c.key, status, got, err)
		}
		want -= c.costs
	}
	if got := rest(e, s); got != want {
		t.Errorf("balance %d, want %d", got, want)
	}
	for what, status := range map[string]int{"engine": status1(e.operate("POST", "/sim/payments", "{}")), "simulator": status1(send("GET", p.sim.operator+"/admin/accounts", nil, "Authorization", "Bearer "+token))} {
		if status != 404 {
			t.Errorf("the %s has the other's paths: %d", what, status)
		}
	}
	beside := map[bool]int{true: 404, false: 401}[p.own]
	if got := status1(e.operate("POST", provider.PathNotices, `{"kind":"payment_settled"}`)); got != beside {
		t.Errorf("a notice with the operators' token: %d, want %d", got, beside)
	}
	for _, path := range []string{"/healthz", "/readyz", "/version", "/metrics"} {
		if status, got, err := send("GET", p.sim.operator+path, nil); err != nil || status != 200 {
			t.Errorf("%s: %d %s %v", path, status, got, err)
		}
	}
	if status, _, err := send("POST", p.sim.operator+"/sim/payments", []byte("{}")); err != nil || status != 401 {
		t.Errorf("without a token: %d %v", status, err)
	}
}

func status1(status int, _ []byte, _ error) int { return status }

// tourOfTwo makes payments both ways and then stops the simulator. It checks that no money
// leaves while the simulator is stopped, and that after its restart an earlier payout settles
// and a new PIX key can be paid to.
func tourOfTwo(t *testing.T, p *pair) {
	payAndBePaid(t, p)
	e := p.engine
	s := e.shop()
	if status, got, err := s.ask(e.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"ze@example.com"}`, "before"); err != nil || status != 202 {
		t.Errorf("%d %s %v", status, got, err)
	}
	p.sim.end(syscall.SIGKILL)
	status, got, err := s.ask(e.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"ze+1@example.com"}`, "while")
	if err != nil || status != 400 || !strings.Contains(string(got), "dict_lookup_failed") {
		t.Errorf("without a scheme: %d %s %v", status, got, err)
	}
	late := e.shop() // the shop's key cannot be registered while the simulator is stopped
	if status, got, err := e.operate("POST", "/admin/accounts/"+late.ID+"/pix-keys", `{"key":"late@example.com","key_type":"email"}`); err != nil || status != 201 {
		t.Errorf("%d %s %v", status, got, err)
	}
	p.startSim()
	if got := rest(e, s); got != 1_000_000_000-10_000 {
		t.Errorf("balance %d", got)
	}
	for _, one := range []*process{p.engine, p.sim} {
		if code := one.end(syscall.SIGTERM); code != 0 {
			t.Errorf("SIGTERM: exit %d\n%s", code, one.words())
		}
	}
	p.startSim()
	p.startEngine() // the engine registers the keys that the scheme does not have yet
	for range 100 {
		code, _, errs := run(t, []string{"PIXD_SIM=" + p.sim.operator, "PIXD_ADMIN_TOKEN=" + token}, "sim", "pay", "--pix-key", "late@example.com", "--amount", "5")
		if code == 0 {
			break
		}
		if !strings.Contains(errs, "no account has this PIX key (404)") {
			t.Fatal(errs)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got, _ := late.balance(p.engine); got != 1_000_000_005 {
		t.Errorf("the late key's account has %d", got)
	}
}
