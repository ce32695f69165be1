package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// certify writes a self-signed certificate for 127.0.0.1. It returns the two files and a pool
// that trusts the certificate.
func certify(t *testing.T, dir string, serial int64) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "pixd"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(os.WriteFile(cert, chain, 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(chain)
	return cert, key, pool
}

func host(base string) string { return strings.TrimPrefix(base, "http://") }

// raw sends bytes to a listener and reads until the connection ends.
func raw(t *testing.T, base, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", host(base))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%q: %v", text, err)
	}
	return string(got)
}

// handshake connects by TLS and returns the serial number of the server's certificate.
func handshake(t *testing.T, base string, c *tls.Config) (serial int64, protocol string, err error) {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", host(base), c)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = conn.Close() }()
	s := conn.ConnectionState()
	return s.PeerCertificates[0].SerialNumber.Int64(), s.NegotiatedProtocol, nil
}

// says waits until the process has printed a text on standard error the given number of
// times.
func (p *process) says(what string, times int) {
	p.t.Helper()
	for range 500 {
		if strings.Count(p.words(), what) >= times {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("%q was not said %d times:\n%s", what, times, p.words())
}

// TestTLS checks both APIs over TLS, a change of certificates while the APIs serve, and a
// clean exit.
func TestTLS(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	cert, key, pool := certify(t, files, 1)
	p := start(t, filepath.Join(t.TempDir(), "data"), "--tls-cert", cert, "--tls-key", key,
		"--admin-tls-cert", cert, "--admin-tls-key", key, "--admin-listen", "0.0.0.0:0")
	_, port, _ := net.SplitHostPort(host(p.operator))
	p.operator = "http://127.0.0.1:" + port
	for _, base := range []string{p.merchant, p.operator} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			c := &tls.Config{RootCAs: pool, MinVersion: version, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}}
			if serial, protocol, err := handshake(t, base, c); err != nil || serial != 1 || protocol != "http/1.1" {
				t.Errorf("%s, version %x: serial %d, %q, %v", base, version, serial, protocol, err)
			}
		}
		if _, _, err := handshake(t, base, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
			t.Errorf("%s takes TLS 1.1", base)
		}
		if got := raw(t, base, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.HasSuffix(got, `"this port speaks TLS: use https"}}`) {
			t.Errorf("plain HTTP to %s: %q", base, got)
		}
	}
	secure := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	for _, c := range []struct {
		url, token string
		want       int
	}{
		{p.operator + "/healthz", "", 200},
		{p.operator + "/readyz", "", 200},
		{p.operator + "/version", "", 200},
		{p.operator + "/metrics", "", 401},
		{p.operator + "/metrics", token, 200},
		{p.operator + "/admin/accounts", token, 200},
		{p.merchant + "/api/external/balance", "", 401},
	} {
		r, err := http.NewRequest("GET", "https://"+host(c.url), nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		if resp, err := secure.Do(r); err != nil || resp.StatusCode != c.want {
			t.Errorf("%s: %v %v", c.url, resp, err)
		} else {
			_ = resp.Body.Close()
		}
	}
	p.reloaded(t, files, cert)
	// An idle open connection and a connection that never began its TLS handshake do not
	// delay the end of the process.
	silent, err := net.Dial("tcp", host(p.merchant))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	begin := time.Now()
	if code := p.end(syscall.SIGTERM); code != 0 || time.Since(begin) > 3*time.Second {
		t.Errorf("exit %d after %v\n%s", code, time.Since(begin), p.words())
	}
	if strings.Contains(p.words(), "without TLS") {
		t.Error(p.words())
	}
}

// reloaded replaces the certificate and sends SIGHUP, then makes the certificate file
// unusable and sends SIGHUP again.
func (p *process) reloaded(t *testing.T, files, cert string) {
	t.Helper()
	_, _, pool := certify(t, files, 2)
	hangUp := func() {
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	hangUp()
	p.says(`msg="certificate reloaded"`, 2)
	shown := func() {
		t.Helper()
		for _, base := range []string{p.merchant, p.operator} {
			if serial, _, err := handshake(t, base, &tls.Config{RootCAs: pool}); err != nil || serial != 2 {
				t.Errorf("%s: serial %d, %v", base, serial, err)
			}
		}
	}
	shown()
	if err := os.WriteFile(cert, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp()
	p.says(`level=ERROR msg="certificate not reloaded: the one before it stays in use"`, 2)
	shown()
}

// TestHangUp checks that SIGHUP without certificates changes nothing.
func TestHangUp(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.says("nothing to reload", 1)
	if status, got, err := send("GET", p.operator+"/readyz", nil); err != nil || status != 200 {
		t.Errorf("%d %s %v", status, got, err)
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestMismatched checks that a private key which does not belong to the certificate is
// reported in one line, and that nothing is written.
func TestMismatched(t *testing.T) {
	t.Parallel()
	cert, _, _ := certify(t, t.TempDir(), 1)
	_, key, _ := certify(t, t.TempDir(), 2)
	dir := filepath.Join(t.TempDir(), "data")
	code, _, errs := run(t, nil, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	if code != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "private key does not match public key") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the data folder was made")
	}
}

// TestWarnings checks that the process logs a warning at its start if it listens without TLS,
// and one if there is no rate limit.
func TestWarnings(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"), "--listen", "0.0.0.0:0", "--rate-limit", "0")
	p.says("level=WARN", 2)
	for _, want := range []string{"requests arrive without TLS", "--rate-limit 0"} {
		if !strings.Contains(p.words(), want) {
			t.Errorf("%s is not said:\n%s", want, p.words())
		}
	}
	p.end(syscall.SIGTERM)
	if quiet := start(t, filepath.Join(t.TempDir(), "data")); strings.Contains(quiet.words(), "level=WARN") {
		t.Errorf("warns without cause:\n%s", quiet.words())
	}
}

// TestMinFreeDisk checks that with too little free space merchants' new work is refused and
// all other requests are served.
func TestMinFreeDisk(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"), "--min-free-disk", "1EiB")
	s := p.shop() // the merchant is made by operators' requests, which are not refused
	status, got, err := s.ask(p.merchant, "/pix/cash-in", `{"amount":100}`, "k")
	if err != nil || status != 503 || !strings.HasPrefix(string(got), `{"error":{"status":503,"message":"`) {
		t.Errorf("a charge: %d %s %v", status, got, err)
	}
	if status, got, err := p.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":70}`, s.Key)); err != nil || status != 201 {
		t.Errorf("a payment: %d %s %v", status, got, err)
	}
	for range 300 {
		if balance, _ := s.balance(p); balance == 1_000_000_070 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if balance, _ := s.balance(p); balance != 1_000_000_070 {
		t.Errorf("balance %d", balance)
	}
	p.says("alert=low_disk", 1)
	if _, got, err := send("GET", p.operator+"/metrics", nil); err != nil || !bytes.Contains(got, []byte(`pixd_alerts_total{kind="low_disk"} 1`)) {
		t.Errorf("%s %v", got, err)
	}
}

// TestConnectionsPerIP checks that a connection above the limit gets 429, and that
// connections from a trusted proxy have no limit.
func TestConnectionsPerIP(t *testing.T) {
	t.Parallel()
	for proxy, want := range map[string]string{"10.0.0.0/8": "HTTP/1.1 429 ", "127.0.0.0/8": "HTTP/1.1 401 "} {
		p := start(t, filepath.Join(t.TempDir(), "data"), "--connections-per-ip", "2", "--trusted-proxy", proxy)
		const ask = "GET /api/external/balance HTTP/1.1\r\nHost: x\r\n\r\n"
		for range 2 {
			c, err := net.Dial("tcp", host(p.merchant))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			fmt.Fprint(c, ask)
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 401 ") {
				t.Fatal(line, err)
			}
		}
		if got := raw(t, p.merchant, strings.Replace(ask, "Host: x", "Host: x\r\nConnection: close", 1)); !strings.HasPrefix(got, want) {
			t.Errorf("behind %s: %q", proxy, got)
		}
		if code := p.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
}

// TestFailedAuthLimit checks that wrong credentials from one address are refused without a look once there were too many.
func TestFailedAuthLimit(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"), "--failed-auth-limit", "3")
	for n := range 5 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.merchant+"/api/external/balance", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "ApiKey cli_x:sk_x")
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if want := map[bool]int{true: 401, false: 429}[n < 3]; got.StatusCode != want {
			t.Errorf("wrong credentials %d: %d, want %d", n+1, got.StatusCode, want)
		}
	}
}

// TestSmuggling checks on both listeners that after a request whose end is unclear the
// connection is closed.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	const behind = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, base := range []string{p.merchant, p.operator} {
		for head, want := range map[string]string{
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": "HTTP/1.1 400 ",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n":                              "HTTP/1.1 400 ",
			"GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n z\r\n\r\n":                                                "HTTP/1.1 400 ",
			"GET / HTTP/2.0\r\nHost: x\r\n\r\n":                                                              "HTTP/1.1 505 ",
			"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                      "HTTP/1.1 404 ",
		} {
			if got := raw(t, base, head+behind); !strings.HasPrefix(got, want) || strings.Count(got, "Content-Length: ") != 1 {
				t.Errorf("%s: %q: %q", base, head, got)
			}
		}
	}
}
