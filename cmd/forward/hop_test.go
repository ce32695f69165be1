package forward

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

// TestClientsAddress checks that the owner sees the client's address, whatever a client says of itself.
func TestClientsAddress(t *testing.T) {
	o := newOwner(t, "", nil, echo)
	n := newNode(t, Options{Owner: o.at("http")})
	lines := "Pixd-Forwarded-For: 9.9.9.9:9\r\nPIXD-forwarded-face: operator\r\nPixd-Forwarded-By: me\r\npixd-forwarded-new: 1\r\n"
	for _, request := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + lines + "\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + lines + "\r\n",
	} {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 7)}}
		c, err := from.Dial("tcp", n.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, request)
		got, _ := readAll(t, c, 10*time.Second)
		_ = c.Close()
		if !strings.Contains(got, "|127.0.0.7\n") || strings.Contains(strings.ToLower(got), hopPrefix) {
			t.Errorf("the owner saw %s", got)
		}
	}
}

// TestFaces checks that a request reaches the handler of its face.
func TestFaces(t *testing.T) {
	receive := Receive(func(face Face) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(string(face)) }
	}, silent())
	o := listens(t, NewServer(receive, nil, silent()), "", nil)
	f := New(Options{Owner: func() (string, string, bool) { return "o", "http://" + o.address, true }, Log: silent()})
	defer f.Close()
	for _, face := range []Face{Merchant, Operator, Scheme} {
		s := listens(t, httpapi.NewServer(f.Handler(face), httpapi.ServerOptions{Name: "public", Log: silent()}), "", nil)
		if _, body := ask(t, s.address, "/"); body != string(face) {
			t.Errorf("%s: the handler of %q answered", face, body)
		}
	}
}

// TestReceived checks what the receiving side does with requests that no node sends, and that
// requests which are not forwarded have their own address and handler.
func TestReceived(t *testing.T) {
	receive := Receive(func(Face) fasthttp.RequestHandler { return echo }, silent())
	other := func(ctx *fasthttp.RequestCtx) { fmt.Fprintf(ctx, "other %s", ctx.RemoteAddr().(*net.TCPAddr).IP) }
	s := listens(t, NewServer(receive, other, silent()), "", nil)
	client, face := headerClient+": 127.0.0.9:1\r\n", headerFace+": merchant\r\n"
	all := ""
	for lines, want := range map[string]string{
		client: "400 Bad Request", client + client + face: "400 Bad Request", client + face + face: "400 Bad Request",
		headerClient + ": x\r\n" + face: "400 Bad Request", client + headerFace + ": none\r\n": "400 Bad Request",
		client + face: "200 OK", face: "200 OK", "": "200 OK",
	} {
		got, _ := say(t, s.address, "GET /cluster/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+lines+"\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+want+"\r\n") {
			t.Errorf("%q: answered %q", lines, got)
		}
		if is := strings.Contains(got, "other 127.0.0.1"); is != !strings.Contains(lines, headerClient) {
			t.Errorf("%q: the other handler answered: %v", lines, is)
		}
		all += "GET / HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n"
	}
	got, _ := say(t, s.address, all+last)
	if strings.Contains(got, "other 127.0.0.9") || strings.Count(got, "other 127.0.0.1") != 3 {
		t.Errorf("an address stayed for the next request of the connection: %s", got)
	}
}

// TestAnswersWhole checks that answers are passed on as the owner has sent them.
func TestAnswersWhole(t *testing.T) {
	const dated = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
	for name, answer := range map[string]string{
		"date":             "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + dated + "\r\nok",
		"no type":          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + dated + "\r\nok",
		"type":             "HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json; charset=utf-8\r\nContent-Length: 2\r\n" + dated + "\r\n{}",
		"empty":            "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n" + dated + "\r\n",
		"no content":       "HTTP/1.1 204 No Content\r\n" + dated + "\r\n",
		"not modified":     "HTTP/1.1 304 Not Modified\r\n" + dated + "ETag: \"a\"\r\n\r\n",
		"spelling, twice":  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + dated + "x-LOWER: 1\r\nX-Twice: a\r\nX-Twice: b\r\nSet-Cookie: a=1\r\nSet-Cookie: a=2\r\n\r\nok",
		"reason":           "HTTP/1.1 422 Very Own Words\r\nContent-Length: 2\r\n" + dated + "Retry-After: 7\r\n\r\nno",
		"421 of a handler": "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n" + dated + "\r\n",
		"chunks":           "HTTP/1.1 200 OK\r\n" + dated + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	} {
		p := play(t, func(c net.Conn, _ *bufio.Reader) bool {
			_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
			if name == "empty" {
				_, _ = io.WriteString(c, strings.Replace(answer, "\r\n\r\n", "\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n", 1))
				return true
			}
			_, _ = io.WriteString(c, answer)
			return true
		})
		n := newNode(t, Options{Owner: p.at})
		c, err := net.Dial("tcp", n.address)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			const id = "X-Request-Id: -\r\n" // of the node itself
			got := make([]byte, len(answer)+len(id))
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.ReadFull(c, got)
			if strings.Replace(string(got), id, "", 1) != answer {
				t.Errorf("%s: passed on as %q", name, got)
			}
		}
		_ = c.Close()
	}
}

// TestContinue checks that a client that waits for 100 Continue gets it once, and then its answer.
func TestContinue(t *testing.T) {
	o := newOwner(t, "", nil, echo)
	n := newNode(t, Options{Owner: o.at("http")})
	c, err := net.Dial("tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 3\r\n\r\n")
	if line, err := in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q (%v)", line, err)
	}
	_, _ = io.WriteString(c, "abc")
	rest, err := io.ReadAll(in)
	if err != nil || !bytes.HasPrefix(rest, []byte("\r\nHTTP/1.1 200 OK\r\n")) || !bytes.Contains(rest, []byte("\nExpect=100-continue\n")) || !bytes.HasSuffix(rest, []byte("3/\"abc\"\n")) {
		t.Errorf("got %q (%v)", rest, err)
	}
}

// TestRequestIDOverHop checks that a request has the same id at both nodes.
func TestRequestIDOverHop(t *testing.T) {
	public := httpapi.NewServer(func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(httpapi.RequestID(ctx)) },
		httpapi.ServerOptions{Name: "merchant", Log: silent(), NewRequestID: func() string { return "of the owner" }})
	o := newOwner(t, "", nil, public.Handler)
	f := New(Options{Owner: o.at("http"), Log: silent()})
	defer f.Close()
	made := 0
	s := listens(t, httpapi.NewServer(f.Handler(Merchant), httpapi.ServerOptions{
		Name: "merchant", Log: silent(), NewRequestID: func() string { made++; return fmt.Sprint("n-", made) },
	}), "", nil)
	for _, want := range []string{"n-1", "n-2"} {
		got, _ := say(t, s.address, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if !strings.Contains(got, "\r\nX-Request-Id: "+want+"\r\n") || !strings.HasSuffix(got, "\r\n\r\n"+want) {
			t.Errorf("%s: %q", want, got)
		}
	}
}
