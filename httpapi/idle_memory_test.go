package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// idleCost returns how many bytes of the heap a connection takes that is idle after an answer to the request.
func idleCost(t *testing.T, handle fasthttp.RequestHandler, request string) int64 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(handle, ServerOptions{Name: "t", Log: slog.New(slog.DiscardHandler)})
	go func() { _ = s.Serve(Limit(l, ConnectionOptions{Log: slog.New(slog.DiscardHandler)})) }()
	defer func() { _ = s.Shutdown() }()
	const n = 100
	before := heapBytes()
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		a, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
		if err != nil || a.StatusCode != 401 {
			t.Fatalf("%v %v", a, err)
		}
	}
	return (heapBytes() - before) / n
}

func heapBytes() int64 {
	var m runtime.MemStats
	for range 3 { // pools give up what is not used by the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestIdleConnectionsKeepLittle checks that a connection which is idle keeps little of a request that it has sent, be it large
// or of many parts that were parsed.
func TestIdleConnectionsKeepLittle(t *testing.T) {
	query := func(ctx *fasthttp.RequestCtx) { _ = ctx.QueryArgs().Has("b") }
	form := func(ctx *fasthttp.RequestCtx) { _ = ctx.PostArgs().Has("b") }
	cookies := func(ctx *fasthttp.RequestCtx) { _ = ctx.Request.Header.Cookie("b") }
	get := func(target, more string) string { return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n" }
	post := func(body string) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	for name, c := range map[string]struct {
		parse   func(*fasthttp.RequestCtx)
		request string
	}{
		"body":                {func(*fasthttp.RequestCtx) {}, post(strings.Repeat("x", maxBody))},
		"headers":             {func(*fasthttp.RequestCtx) {}, get("/", strings.Repeat("a:"+strings.Repeat("b", 100)+"\r\n", maxHeaders-1))},
		"long query":          {query, get("/?"+strings.Repeat("a", 7000)+strings.Repeat("&", keptParts), "")},
		"query of many parts": {query, get("/?"+strings.Repeat("a&", 1800), "")},
		"form of many parts":  {form, post(strings.Repeat("a&", 1800))},
		"many cookies":        {cookies, get("/", "Cookie: "+strings.Repeat("a;", 1800)+"\r\n")},
	} {
		answer := func(ctx *fasthttp.RequestCtx) {
			c.parse(ctx)
			answerError(ctx, 401, "no", "")
		}
		if got := idleCost(t, answer, c.request); got > 64<<10 {
			t.Errorf("%s: an idle connection keeps %d bytes", name, got)
		}
	}
}

// TestKeptRequest checks of which requests a connection keeps the memory for the next one: up to keptRequest, with keptParts.
func TestKeptRequest(t *testing.T) {
	const head = "Host: x\r\n\r\n"
	parts := func(n int) string { return strings.Repeat("&", n) }
	for name, c := range map[string]struct {
		target, more, body string
		want               bool
	}{
		"nothing":              {"/", "", "", false},
		"as large as may be":   {"/" + strings.Repeat("a", keptRequest-len(head)-len("GET/")), "", "", false},
		"a longer target":      {"/" + strings.Repeat("a", keptRequest-len(head)-len("GET/")+1), "", "", true},
		"a longer head":        {"/", "X: " + strings.Repeat("a", keptRequest) + "\r\n", "", true},
		"a longer body":        {"/", "", strings.Repeat("a", keptRequest), true},
		"as many parts":        {"/?" + parts(keptParts), "", "", false},
		"more parameters":      {"/?" + parts(keptParts+1), "", "", true},
		"more fields":          {"/", "", parts(keptParts + 1), true},
		"more cookies":         {"/", "Cookie: " + strings.Repeat(";", keptParts+1) + "\r\n", "", true},
		"more of all together": {"/?" + parts(keptParts-1), "", parts(2), true},
	} {
		var r fasthttp.Request
		if err := r.Header.Read(bufio.NewReaderSize(strings.NewReader("GET "+c.target+" HTTP/1.1\r\n"+c.more+head), maxHeader)); err != nil {
			t.Fatal(err)
		}
		r.SetBodyString(c.body)
		r.SetUserValue("id", 7)
		if is := isLarge(&r); is != c.want {
			t.Errorf("%s: it is large: %v", name, is)
		}
		if forget(&r); (len(r.Header.RawHeaders()) == 0) != c.want || r.UserValue("id") != 7 {
			t.Errorf("%s: %d bytes of the head are left, and %v", name, len(r.Header.RawHeaders()), r.UserValue("id"))
		}
	}
}

// TestBrokenOffRequestIsForgotten checks that a connection does not get the memory of a request that was broken off on
// another.
func TestBrokenOffRequestIsForgotten(t *testing.T) {
	s := NewServer(func(*fasthttp.RequestCtx) {}, ServerOptions{Name: "t", Log: slog.New(slog.DiscardHandler)})
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.SetBody(make([]byte, maxBody))
	s.ErrorHandler(ctx, io.ErrUnexpectedEOF)
	if ctx.Response.StatusCode() != 400 || cap(ctx.Request.Body()) > 0 {
		t.Errorf("%d, and %d bytes are kept", ctx.Response.StatusCode(), cap(ctx.Request.Body()))
	}
}

// TestLargeRequestsShareAConnection sends large requests of every form on one connection, with others behind each: all are
// answered, an answer to HEAD has no body, and HTTP/1.0 stays HTTP/1.0.
func TestLargeRequestsShareAConnection(t *testing.T) {
	f := newFixture(t)
	addr := f.listen()
	long := strings.Repeat("a", keptRequest)
	const keep = "Host: x\r\nConnection: keep-alive\r\n"
	var all string
	requests := []string{
		"GET /?" + long + " HTTP/1.1\r\n" + keep + "\r\n",
		"HEAD /?" + long + " HTTP/1.1\r\n" + keep + "\r\n",
		"GET / HTTP/1.1\r\n" + keep + "X: " + long + "\r\n\r\n",
		"GET /?" + long + " HTTP/1.0\r\n" + keep + "\r\n",
		"POST / HTTP/1.1\r\n" + keep + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 2*len(long), long+long),
	}
	for _, one := range requests {
		all += one + "GET /next HTTP/1.1\r\nHost: x\r\n\r\n"
	}
	r := f.dial(addr, all)
	for n := range 2 * len(requests) {
		method := "GET"
		if n == 2 {
			method = "HEAD"
		}
		a, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil || a.StatusCode != 404 {
			t.Fatalf("answer %d: %v %v", n, a, err)
		}
		if kept := a.Header.Get("Connection"); n == 6 && kept != "keep-alive" {
			t.Errorf("the answer in HTTP/1.0 says %q", kept)
		}
		if _, err := io.Copy(io.Discard, a.Body); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeadersAreCounted checks how many headers a request may have.
func TestHeadersAreCounted(t *testing.T) {
	f := newFixture(t)
	addr := f.listen()
	for more, want := range map[int]int{0: 404, 1: 431, 2: 431, 3900: 431} {
		r := f.dial(addr, "GET / HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("a:\r\n", maxHeaders-1+more)+"\r\n")
		a, err := http.ReadResponse(r, nil)
		if err != nil || a.StatusCode != want {
			t.Errorf("%d headers: %v %v, want %d", maxHeaders+more, a, err, want)
		}
		if body, _ := io.ReadAll(io.LimitReader(a.Body, 500)); want == 431 && !strings.Contains(string(body), `"there are more than 128 headers"`) {
			t.Errorf("%s", body)
		}
	}
}
