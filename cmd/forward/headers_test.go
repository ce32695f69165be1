package forward

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// TestHopHeadersAreAllowed checks that a request which a client may send is taken with the headers of the hop, too.
func TestHopHeadersAreAllowed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(fasthttp.StatusTeapot) }, nil, slog.New(slog.DiscardHandler))
	go func() { _ = s.Serve(httpapi.Limit(l, httpapi.ConnectionOptions{Log: slog.New(slog.DiscardHandler)})) }()
	t.Cleanup(func() { _ = s.Shutdown() })
	f := &Forwarder{Options: Options{Self: "a"}}
	var hop []byte
	hop = f.appendHop(hop, &fasthttp.RequestCtx{}, Merchant)
	for client, want := range map[int]int{128: 418, 129: 431} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("a:\r\n", client-1)+string(hop)+"\r\n")
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || a.StatusCode != want {
			t.Errorf("%d headers: %v %v, want %d", client, a, err, want)
		}
		_ = c.Close()
	}
}
