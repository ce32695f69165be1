package metrics

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"pixd/httpapi"
)

// TestTrafficOfStreams checks that a request is in hand until its answer is sent to its end.
func TestTrafficOfStreams(t *testing.T) {
	var counted Traffic
	handle := counted.Count(func(ctx *fasthttp.RequestCtx) {
		httpapi.Stream(ctx, "text/plain", httpapi.Streamed{Write: func(io.Writer) error { return nil }, Done: func(error) {}})
	})
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	handle(&ctx)
	if n := counted.InHand.Load(); n != 1 {
		t.Errorf("%d in hand while the answer is sent", n)
	}
	_ = ctx.Response.CloseBodyStream()
	if n := counted.InHand.Load(); n != 0 {
		t.Errorf("%d in hand at the end", n)
	}
}

// TestUnreadableRequestsCount checks that requests which cannot be read are counted by their answer.
func TestUnreadableRequestsCount(t *testing.T) {
	counted := &Traffic{Listener: "merchant"}
	s := &fasthttp.Server{
		Handler:      func(*fasthttp.RequestCtx) { t.Error("it was read") },
		ErrorHandler: func(ctx *fasthttp.RequestCtx, _ error) { ctx.SetStatusCode(400) },
	}
	l := fasthttputil.NewInmemoryListener()
	counted.Watch(s, httpapi.Limit(net.Listener(l), httpapi.ConnectionOptions{Total: 8}))
	go func() { _ = s.Serve(l) }()
	c, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("\x00 nonsense\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	_, _ = bufio.NewReader(c).ReadString('\n')
	_ = c.Close()
	_ = s.Shutdown()
	shows(t, text(t, listeners{counted}), `pixd_http_requests_total{listener="merchant",status="400"} 1`)
}

// TestRareListener checks that a listener which is rarely there is shown only once it is open.
func TestRareListener(t *testing.T) {
	rare := &Traffic{Listener: "scheme", Rare: true}
	if got := text(t, listeners{rare, {Listener: "merchant"}}); len(got) == 0 || strings.Contains(got, "scheme") {
		t.Error(got)
	}
	rare.Open = func() int64 { return 2 }
	shows(t, text(t, listeners{rare}), `pixd_http_open_connections{listener="scheme"} 2`, `pixd_http_requests_in_hand{listener="scheme"} 0`)
}
