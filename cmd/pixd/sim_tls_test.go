package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"pixd/actors/pix"
	"pixd/actors/scheme/provider"
	"pixd/wal/waltest"
)

// tlsPair is an engine and a simulator that call each other over TLS.
type tlsPair struct {
	t                   *testing.T
	engine, sim         *process
	simFiles            string // the folder of the simulator's certificate
	engineCert, simCert string
	simTrust            *x509.CertPool
}

// openTLSPair starts an engine and a simulator with certificates of their own. With trusting
// each trusts the other's certificate; without, each trusts only its own.
func openTLSPair(t *testing.T, trusting bool) *tlsPair {
	t.Helper()
	p := &tlsPair{t: t, simFiles: t.TempDir()}
	dir, ports := t.TempDir(), waltest.FreePorts(t, 3, 1)
	var engineKey, simKey string
	p.engineCert, engineKey, _ = certify(t, t.TempDir(), 1)
	p.simCert, simKey, p.simTrust = certify(t, p.simFiles, 1)
	ofEngine, ofSim := p.engineCert, p.simCert
	if !trusting {
		ofEngine, ofSim = ofSim, ofEngine
	}
	p.sim = launchSim(t, filepath.Join(dir, "sim"), ports[2], "https://"+ports[1],
		"--tls-cert", p.simCert, "--tls-key", simKey, "--engine-ca", ofEngine, "--ispb", "1A2B3C4D").awaitReady()
	p.engine = start(t, filepath.Join(dir, "data"), "--listen", ports[0], "--admin-listen", ports[1],
		"--admin-tls-cert", p.engineCert, "--admin-tls-key", engineKey, "--scheme", "https://"+ports[2], "--scheme-ca", ofSim, "--ispb", "1A2B3C4D")
	p.engine.operator, p.sim.operator = "https://"+ports[1], "https://"+ports[2]
	return p
}

// TestTwoProcessesOverTLS checks a charge, a payout and an audit over TLS, with self-signed
// certificates.
func TestTwoProcessesOverTLS(t *testing.T) {
	t.Parallel()
	p := openTLSPair(t, true)
	s := p.engine.shop()
	status, got, err := s.ask(p.engine.merchant, "/pix/cash-in", `{"amount":2500}`, "charge")
	var charge struct {
		Code string `json:"qr_code"`
	}
	if err != nil || status != 200 || json.Unmarshal(got, &charge) != nil {
		t.Fatalf("%d %s %v", status, got, err)
	}
	env := []string{"PIXD_ADMIN_TOKEN=" + token, "PIXD_SIM=" + p.sim.operator, "PIXD_ADMIN=" + p.engine.operator}
	if code, out, errs := run(t, append(env, "PIXD_SIM_CA="+p.simCert), "sim", "pay", "--qr-code", charge.Code); code != 0 {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := run(t, env, "sim", "book"); code != 1 || !strings.Contains(errs, "is not trusted (--sim-ca names a certificate that is)") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if status, got, err := s.ask(p.engine.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"ze@example.com"}`, "out"); err != nil || status != 202 {
		t.Errorf("%d %s %v", status, got, err)
	}
	if got := rest(p.engine, s); got != 1_000_000_000+250_000-10_000 {
		t.Errorf("balance %d", got)
	}
	if code, out, errs := run(t, append(env, "PIXD_ADMIN_CA="+p.engineCert), "audit"); code != 0 || !strings.Contains(out, "scheme's book  compared") {
		t.Errorf("audit: exit %d\n%s%s", code, out, errs)
	}
	p.doors()
	p.hangUp()
	for _, one := range []*process{p.engine, p.sim} {
		if code := one.end(syscall.SIGTERM); code != 0 {
			t.Errorf("SIGTERM: exit %d\n%s", code, one.words())
		}
	}
}

// doors checks which requests the simulator's listener accepts over TLS, with a token and
// without one.
func (p *tlsPair) doors() {
	t := p.t
	t.Helper()
	for path, want := range map[string][2]int{
		"/healthz": {200, 200}, "/readyz": {200, 200}, "/version": {200, 200}, "/metrics": {401, 200}, "/sim/book": {401, 200},
	} {
		if got := status1(send("GET", p.sim.operator+path, nil)); got != want[0] {
			t.Errorf("%s without a token: %d", path, got)
		}
		if got := status1(p.sim.operate("GET", path, "")); got != want[1] {
			t.Errorf("%s: %d", path, got)
		}
	}
	text := p.sim.get("/metrics")
	for _, want := range []string{`pixd_http_requests_total{listener="simulator",status="200"} `, `pixd_http_requests_total{listener="simulator",status="401"} `, `pixd_http_open_connections{listener="simulator"} `, "go_goroutines ", "process_open_fds "} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	base := "http://" + strings.TrimPrefix(p.sim.operator, "https://")
	if got := raw(t, base, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, "this port speaks TLS") {
		t.Errorf("plain HTTP: %q", got)
	}
	if _, _, err := handshake(t, base, &tls.Config{RootCAs: p.simTrust, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is taken")
	}
}

// hangUp replaces the simulator's certificate while it serves, then makes the certificate
// file unusable; each time it sends SIGHUP.
func (p *tlsPair) hangUp() {
	t := p.t
	t.Helper()
	cert, _, pool := certify(t, p.simFiles, 2)
	shown := func(said string) {
		t.Helper()
		if err := p.sim.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		p.sim.says(said, 1)
		if serial, _, err := handshake(t, "http://"+strings.TrimPrefix(p.sim.operator, "https://"), &tls.Config{RootCAs: pool}); err != nil || serial != 2 {
			t.Errorf("serial %d, %v", serial, err)
		}
	}
	shown(`msg="certificate reloaded"`)
	if err := os.WriteFile(cert, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	shown(`msg="certificate not reloaded: the one before it stays in use"`)
}

// TestUntrusted checks that neither the engine nor the simulator sends anything to a peer
// whose certificate it does not trust, and that each logs the reason.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	p := openTLSPair(t, false)
	s := p.engine.shop()
	status, got, err := s.ask(p.engine.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"ze@example.com"}`, "out")
	if err != nil || status != 400 || !strings.Contains(string(got), "dict_lookup_failed") {
		t.Errorf("%d %s %v", status, got, err)
	}
	const why = "certificate signed by unknown authority"
	p.engine.says(why, 1)
	if balance, pending := s.balance(p.engine); balance != 1_000_000_000 || pending != 0 {
		t.Errorf("balance %d, pending %d", balance, pending)
	}
	// The simulator's part: it books a payment whose notice is never acknowledged.
	mute := launchSim(t, filepath.Join(t.TempDir(), "sim"), "127.0.0.1:0", p.engine.operator, "--engine-ca", p.simCert).awaitReady()
	mute.knows(s)
	e2e := "E99999003" + time.Now().UTC().Format("200601021504") + "00000000001"
	mute.made("/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":500,"end_to_end_id":%q}`, s.Key, e2e), nil)
	mute.says(why, 1)
	if balance, _ := s.balance(p.engine); balance != 1_000_000_000 {
		t.Errorf("balance %d", balance)
	}
}

// knows registers a shop's PIX key with a simulator, as the engine would.
func (p *process) knows(s shop) {
	p.t.Helper()
	secret, err := provider.NewSecret(schemeWord)
	if err != nil {
		p.t.Fatal(err)
	}
	now := func() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }
	asker, err := provider.New(provider.Options{URL: p.operator, Secret: secret, Now: now, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		p.t.Fatal(err)
	}
	defer asker.Close()
	account, _ := pix.ParseAccountID(s.ID)
	if err := asker.RegisterKey(p.t.Context(), pix.Key{Type: pix.KeyEVP, Value: s.Key}, account); err != nil {
		p.t.Fatal(err)
	}
}

// TestSimHangUp checks that SIGHUP changes nothing at a simulator without a certificate.
func TestSimHangUp(t *testing.T) {
	t.Parallel()
	p := launchSim(t, filepath.Join(t.TempDir(), "sim"), "127.0.0.1:0", "http://127.0.0.1:1").awaitReady()
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.says("nothing to reload", 1)
	if got := status1(send("GET", p.operator+"/metrics", nil)); got != 200 {
		t.Errorf("/metrics: %d", got)
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
}
