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

// TestIdleConnectionsKeepLittle checks that a connection which is idle keeps little of a large request that it has sent.
func TestIdleConnectionsKeepLittle(t *testing.T) {
	refuses := func(ctx *fasthttp.RequestCtx) { answerError(ctx, 401, "no", "") }
	form := "Content-Type: application/x-www-form-urlencoded\r\n"
	const most = 64 << 10
	for name, c := range map[string]struct {
		handle  fasthttp.RequestHandler
		request string
	}{
		"body":    {refuses, fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", maxBody, strings.Repeat("x", maxBody))},
		"headers": {refuses, "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("a:"+strings.Repeat("b", 100)+"\r\n", maxHeaders-1) + "\r\n"},
		"query": {func(ctx *fasthttp.RequestCtx) {
			_ = queryOf(ctx, false, selections)
			refuses(ctx)
		}, "GET /?" + strings.Repeat("a&", 7800) + " HTTP/1.1\r\nHost: x\r\n\r\n"},
		"operators' query": {func(ctx *fasthttp.RequestCtx) {
			_ = ctx.QueryArgs().Has("b")
			refuses(ctx)
		}, "GET /?" + strings.Repeat("a&", 7800) + " HTTP/1.1\r\nHost: x\r\n\r\n"},
		"short query": {func(ctx *fasthttp.RequestCtx) {
			_ = queryOf(ctx, false, selections)
			refuses(ctx)
		}, "GET /?" + strings.Repeat("a&", keptRequest/2-40) + " HTTP/1.1\r\nHost: x\r\n\r\n"},
		"short query of operators": {func(ctx *fasthttp.RequestCtx) {
			_ = ctx.QueryArgs().Has("b")
			refuses(ctx)
		}, "GET /?" + strings.Repeat("a&", keptRequest/2-40) + " HTTP/1.1\r\nHost: x\r\n\r\n"},
		"short form": {func(ctx *fasthttp.RequestCtx) {
			_ = ctx.PostArgs().Has("b")
			refuses(ctx)
		}, fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", form, 3_600, strings.Repeat("a&", 1_800))},
		"few cookies": {func(ctx *fasthttp.RequestCtx) {
			_ = ctx.Request.Header.Cookie("b")
			refuses(ctx)
		}, "GET / HTTP/1.1\r\nHost: x\r\nCookie: " + strings.Repeat("a;", 1800) + "\r\n\r\n"},
		"form": {func(ctx *fasthttp.RequestCtx) {
			_ = ctx.PostArgs().Has("b")
			refuses(ctx)
		}, fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", form, 10_000, strings.Repeat("a&", 5_000))},
		"cookies": {func(ctx *fasthttp.RequestCtx) {
			_ = ctx.Request.Header.Cookie("b")
			refuses(ctx)
		}, "GET / HTTP/1.1\r\nHost: x\r\nCookie: " + strings.Repeat("a;", 7800) + "\r\n\r\n"},
	} {
		if got := idleCost(t, c.handle, c.request); got > most {
			t.Errorf("%s: an idle connection keeps %d bytes", name, got)
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
