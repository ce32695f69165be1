package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
)

// identifying serves the fixture's handler; requests from 127.0.0.2 come from a trusted proxy.
func (f *fixture) identifying() (address string) {
	f.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	made := 0
	s := NewServer(f.handler, ServerOptions{
		Name: "merchants", Log: slog.New(slog.DiscardHandler), Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")},
		NewRequestID: func() string { made++; return fmt.Sprint("own-", made) },
	})
	done := make(chan error, 1)
	go func() { done <- s.Serve(Limit(ln, ConnectionOptions{Log: slog.New(slog.DiscardHandler)})) }()
	f.t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(), <-done); err != nil {
			f.t.Error(err)
		}
	})
	return ln.Addr().String()
}

// TestRequestID checks that each answer has an id, and whose ids are taken over.
func TestRequestID(t *testing.T) {
	f := newFixture(t)
	address := f.identifying()
	long := strings.Repeat("a", maxRequestID)
	made := 0
	for _, c := range []struct {
		name, from, request, status, want string // want: the id that is taken over; "": one of its own
	}{
		{"no path", "127.0.0.1", "GET /none HTTP/1.1\r\nHost: x\r\n\r\n", "404", ""},
		{"a large head", "127.0.0.1", "GET /none HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 2*keptRequest) + "\r\n\r\n", "404", ""},
		{"a large body", "127.0.0.2", fmt.Sprintf("POST /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: r2\r\nContent-Length: %d\r\n\r\n%s", 2*keptRequest, strings.Repeat("a", 2*keptRequest)), "404", "r2"},
		{"no key", "127.0.0.1", "GET /api/external/balance HTTP/1.1\r\nHost: x\r\n\r\n", "401", ""},
		{"unreadable", "127.0.0.1", "NONSENSE\r\n\r\n", "400", ""},
		{"head too large", "127.0.0.1", "GET / HTTP/1.1\r\nX: " + strings.Repeat("a", maxHeader) + "\r\n\r\n", "431", ""},
		{"uncertain end", "127.0.0.1", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", "400", ""},
		{"a client's", "127.0.0.1", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: theirs\r\n\r\n", "404", ""},
		{"a proxy's", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nx-request-id: aZ09-_.:=+/\r\n\r\n", "404", "aZ09-_.:=+/"},
		{"a proxy's, refused", "127.0.0.2", "GET /api/external/balance HTTP/1.1\r\nHost: x\r\nx-request-id: r1\r\n\r\n", "401", "r1"},
		{"the longest", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + long + "\r\n\r\n", "404", long},
		{"too long", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + long + "a\r\n\r\n", "404", ""},
		{"a space", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: a b\r\n\r\n", "404", ""},
		{"a quotation mark", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\"b\r\n\r\n", "404", ""},
		{"a comma", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: a,b\r\n\r\n", "404", ""},
		{"a brace", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: a{b\r\n\r\n", "404", ""},
		{"a percent sign", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: a%0d\r\n\r\n", "404", ""},
		{"not ASCII", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\xffb\r\n\r\n", "404", ""},
		{"empty", "127.0.0.2", "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id:\r\n\r\n", "404", ""},
	} {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.from)}}
		conn, err := from.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(c.request))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(c.name, err)
		}
		_ = conn.Close()
		if c.want == "" {
			made++
			c.want = fmt.Sprint("own-", made)
		}
		if got := answer.Header.Values(headerRequestID); len(got) != 1 || got[0] != c.want || !strings.HasPrefix(answer.Status, c.status) {
			t.Errorf("%s: %s, id %q, not %q", c.name, answer.Status, got, c.want)
		}
	}
}

// TestRequestIDInLog checks that the lines about a request have its id.
func TestRequestIDInLog(t *testing.T) {
	for name, engine := range map[string]fakeEngine{
		"http: engine": {err: errors.New("broken")},
		"http: panic":  {answer: ledger.Answer{Tx: &ledger.Transaction{}}},
		"http: idempotency key used with another body": {answer: ledger.Answer{
			Stored: &ledger.Stored{Code: 202, Body: []byte("{}")}, Replay: true, Mismatch: true,
		}},
	} {
		f := newFixture(t)
		*f.engine = engine
		var log strings.Builder
		o := f.options()
		o.Log = slog.New(slog.NewJSONHandler(&log, nil))
		handle := New(o)
		var ctx fasthttp.RequestCtx
		var req fasthttp.Request
		if err := req.Read(bufio.NewReader(strings.NewReader(signed(payBody)))); err != nil {
			t.Fatal(err)
		}
		ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, nil)
		SetRequestID(&ctx, "r-7")
		handle(&ctx)
		if got := log.String(); !strings.Contains(got, `"msg":"`+name+`","request_id":"r-7"`) {
			t.Errorf("%s: %d, log %q", name, ctx.Response.StatusCode(), got)
		}
	}
}
