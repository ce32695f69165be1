package forward

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// BenchmarkRequest compares a small request that is forwarded with one that its server answers.
func BenchmarkRequest(b *testing.B) {
	handle := func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("application/json")
		ctx.SetBody(ctx.PostBody())
	}
	direct := listens(b, httpapi.NewServer(handle, httpapi.ServerOptions{Name: "direct", Log: silent()}), "", nil)
	o := newOwner(b, "", nil, handle)
	n := newNode(b, Options{Owner: o.at("http")})
	ours := newAuthority(b, "ours").identity(b, here)
	secure := newOwner(b, "", ours.server, handle)
	over := newNode(b, Options{Owner: secure.at("https"), TLS: ours.client})
	for _, way := range []struct{ name, address string }{{"direct", direct.address}, {"forwarded", n.address}, {"tls", over.address}} {
		b.Run(way.name, func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) { exchange(b, pb, way.address) })
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// exchange sends requests on one connection.
func exchange(b *testing.B, pb *testing.PB, address string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Error(err)
		return
	}
	defer c.Close()
	body := `{"amount":1234,"pix_key":"a@b.example","pix_key_type":"email","description":"a small body"}`
	request := fmt.Sprintf("POST /v1/payouts HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nAuthorization: Bearer x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	in := bufio.NewReader(c)
	var a fasthttp.Response
	for pb.Next() {
		if _, err = io.WriteString(c, request); err == nil {
			err = a.Read(in)
		}
		if err != nil || a.StatusCode() != 200 || len(a.Body()) != len(body) {
			b.Errorf("answered %d: %v", a.StatusCode(), err)
			return
		}
	}
}
