package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestHalfReceived checks that a request which is still arriving at SIGTERM is finished, and
// that open connections without a request do not delay the end.
func TestHalfReceived(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	const body = `{"amount":100}`
	connect := func() net.Conn {
		c, err := net.Dial("tcp", host(p.merchant))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(15 * time.Second))
		return c
	}
	kept, half := connect(), connect()
	answer := func(c net.Conn) int {
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode
	}
	fmt.Fprintf(kept, "GET /api/external/balance HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey %s:%s\r\n\r\n", s.Client, s.Secret)
	if status := answer(kept); status != 200 {
		t.Errorf("balance: %d", status)
	}
	fmt.Fprintf(half, "POST /api/external/pix/cash-in HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey %s:%s\r\nContent-Type: application/json\r\nhmac: %s\r\nContent-Length: %d\r\n\r\n%s",
		s.Client, s.Secret, rawHMAC(s.Secret, body), len(body), body[:5])
	time.Sleep(200 * time.Millisecond) // by now the first part of the request has arrived
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if _, err := io.WriteString(half, body[5:]); err != nil {
		t.Fatal(err)
	}
	if status := answer(half); status != 200 {
		t.Errorf("what was half there: %d", status)
	}
	asked := time.Now()
	select {
	case err := <-p.exited:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a kept connection holds it up")
	}
	if code, took := p.cmd.ProcessState.ExitCode(), time.Since(asked); code != 0 || took > 5*time.Second {
		t.Errorf("exit %d after %v\n%s", code, took, p.words())
	}
}
