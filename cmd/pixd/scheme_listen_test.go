package main

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// TestSchemeListenTLS checks that the listener for a provider's notices may be reached from
// other machines with a certificate of its own, which SIGHUP reads again, or with the operator
// API's.
func TestSchemeListenTLS(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][2]string{"its own": {"--scheme-tls-cert", "--scheme-tls-key"}, "the operator API's": {"--admin-tls-cert", "--admin-tls-key"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := t.TempDir()
			cert, key, pool := certify(t, files, 1)
			_, port, _ := net.SplitHostPort(waltest.FreePorts(t, 1, 1)[0])
			p := start(t, filepath.Join(t.TempDir(), "data"), "--scheme", "http://127.0.0.1:1", "--scheme-listen", "0.0.0.0:"+port, flags[0], cert, flags[1], key)
			notices := "http://127.0.0.1:" + port
			if serial, _, err := handshake(t, notices, &tls.Config{RootCAs: pool}); err != nil || serial != 1 {
				t.Errorf("serial %d, %v", serial, err)
			}
			_, _, pool = certify(t, files, 2)
			if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			p.says(`msg="certificate reloaded"`, 1)
			if serial, _, err := handshake(t, notices, &tls.Config{RootCAs: pool}); err != nil || serial != 2 {
				t.Errorf("after SIGHUP: serial %d, %v", serial, err)
			}
			if code := p.end(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, p.words())
			}
		})
	}
}

// TestSchemeListenConnections checks that one address can open 512 connections to the listener
// for a provider's notices, that others get in meanwhile, and that the metrics show it.
func TestSchemeListenConnections(t *testing.T) {
	t.Parallel()
	address := waltest.FreePorts(t, 1, 1)[0]
	p := start(t, filepath.Join(t.TempDir(), "data"), "--scheme", "http://127.0.0.1:1", "--scheme-listen", address)
	status := func(from string) int {
		t.Helper()
		d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.Copy(c, strings.NewReader("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode
	}
	for n := range 512 {
		if got := status("127.0.0.1"); got != 404 {
			t.Fatalf("connection %d: %d", n+1, got)
		}
	}
	if got := status("127.0.0.1"); got != 429 {
		t.Errorf("one more: %d", got)
	}
	if got := status("127.0.0.2"); got != 404 {
		t.Errorf("from another address: %d", got)
	}
	_, got, err := p.operate("GET", "/metrics", "")
	for _, line := range []string{
		`pixd_http_requests_total{listener="scheme",status="404"} 513`, `pixd_http_requests_total{listener="scheme",status="429"} 1`,
		`pixd_http_open_connections{listener="scheme"} 513`, `pixd_http_request_duration_seconds_count{class="4xx",listener="scheme",method="none",route="none"} 513`,
	} {
		if !strings.Contains(string(got), "\n"+line+"\n") {
			t.Errorf("/metrics lacks %s (%v)", line, err)
		}
	}
}
