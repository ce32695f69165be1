package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// listen serves the fixture's handler on a loopback port and returns the address.
func (f *fixture) listen() string {
	f.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	s := NewServer(func(ctx *fasthttp.RequestCtx) { f.handler(ctx) }, ServerOptions{Name: "merchants", Log: slog.New(slog.DiscardHandler)})
	done := make(chan error, 1)
	go func() { done <- s.Serve(Limit(ln, ConnectionOptions{Log: slog.New(slog.DiscardHandler)})) }()
	f.t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(), <-done); err != nil {
			f.t.Error(err)
		}
	})
	return ln.Addr().String()
}

// dial connects, sends raw bytes and returns a reader of the answer.
func (f *fixture) dial(addr, raw string) *bufio.Reader {
	f.t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, raw); err != nil {
		f.t.Fatal(err)
	}
	return bufio.NewReader(c)
}

func signed(body string) string {
	mac, _ := Sign([]byte(testSecret), []byte(body), false)
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey cli_all:%s\r\nContent-Type: application/json\r\nhmac: %s\r\nContent-Length: %d\r\n\r\n%s",
		cashOut, testSecret, mac, len(body), body)
}

// TestCut checks that the connection is closed without an answer if the outcome of a request
// is unknown or its handler panics.
func TestCut(t *testing.T) {
	for name, e := range map[string]*fakeEngine{
		"unknown": {err: ledger.ErrCut},
		"panic":   {answer: ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxTED}}},
	} {
		f := newFixture(t)
		*f.engine = *e
		if b, err := f.dial(f.listen(), signed(payBody)).ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
	}
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	if line, err := f.dial(f.listen(), signed(payBody)).ReadString('\n'); err != nil || line != "HTTP/1.1 202 Accepted\r\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestSizes(t *testing.T) {
	f := newFixture(t)
	addr := f.listen()
	for n, want := range map[int]int{maxBody: 401, maxBody + 1: 413, 3 << 20: 413} {
		resp, err := http.Post("http://"+addr+cashOut, "application/json", strings.NewReader(strings.Repeat(" ", n)))
		if err != nil {
			t.Fatal(n, err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want || want == 413 && string(body) != shape1("413", "the body is larger than 256 KiB") {
			t.Errorf("%d bytes: %d %s", n, resp.StatusCode, body)
		}
		if resp.Header.Get("Server") != "" || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%d bytes: %v", n, resp.Header)
		}
	}
	// The size is checked before the path and the credentials.
	chunked := "POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n50000\r\n" + strings.Repeat("a", 0x50000) + "\r\n0\r\n\r\n"
	if line, err := f.dial(addr, chunked).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 413 ") {
		t.Errorf("chunked: %q, %v", line, err)
	}
	// dial writes the whole body, so the server must read on until the client reads the
	// answer.
	large := fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 6<<20) + strings.Repeat("a", 6<<20)
	if line, err := f.dial(addr, large).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 413 ") {
		t.Errorf("large: %q, %v", line, err)
	}
	if line, err := f.dial(addr, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", maxHeader)+"\r\n\r\n").ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 431 ") {
		t.Errorf("headers: %q, %v", line, err)
	}
	if line, err := f.dial(addr, "NONSENSE\r\n\r\n").ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 400 ") {
		t.Errorf("nonsense: %q, %v", line, err)
	}
}

// TestMultipart checks that a multipart body goes through the checks like any other body, and
// is not parsed before them.
func TestMultipart(t *testing.T) {
	f := newFixture(t)
	raw := "POST " + cashOut + " HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey cli_all:" + testSecret + "\r\nhmac: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 7\r\n\r\nbroken!"
	resp, err := http.ReadResponse(f.dial(f.listen(), raw), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 400 || string(body) != shape3("Request body must be valid JSON for HMAC validation") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestHead checks that an answer to HEAD has no body, and that the connection stays open.
func TestHead(t *testing.T) {
	f := newFixture(t)
	r := f.dial(f.listen(), "HEAD "+balance+" HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
	for i, want := range []int{405, 404} {
		resp, err := http.ReadResponse(r, &http.Request{Method: []string{"HEAD", "GET"}[i]})
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%v, %v", resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// TestCommandsAreCopies checks that a command that was passed to the engine does not change
// when the server reuses its buffers for another request.
func TestCommandsAreCopies(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Tx: &ledger.Transaction{Kind: pix.TxPayout, EndToEnd: e2e}}
	body := func(c string) string {
		return `{"amount":1,"description":"` + strings.Repeat(c, 30) + `","external_id":"` + strings.Repeat(c, 20) + `","pix_key":"` + strings.Repeat(c, 9) + `@x.com"}`
	}
	r := f.dial(f.listen(), signed(body("a"))+signed(body("b")))
	for range 2 {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	first := f.engine.all[0].(ledger.RequestPayout)
	if first.Description != strings.Repeat("a", 30) || first.ExternalID != strings.Repeat("a", 20) || first.Key.Value != "aaaaaaaaa@x.com" {
		t.Errorf("%+v", first)
	}
}
