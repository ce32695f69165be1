package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/fair"
)

// TestBodiesRoom checks that memory is reserved for a large body from its announcement until
// its request ends, however it ends. Without memory left, large bodies are refused and small
// ones are not.
func TestBodiesRoom(t *testing.T) {
	f := newFixture(t)
	s := NewServer(func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(fasthttp.StatusNoContent) }, ServerOptions{Name: "test", Log: f.options().Log})
	b := newBodies()
	b.room.Store(600 << 10)
	s.HeaderReceived = b.received
	s.Handler = released(s.Handler)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Limit(ln, ConnectionOptions{Log: f.options().Log})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = l.Close() })

	announce := func(head string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\n"+head+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return c
	}
	answered := func(c net.Conn) *http.Response {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	held := func(n int64) {
		t.Helper()
		for range 500 {
			if b.held.Load() == n {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%d bodies are held, want %d", b.held.Load(), n)
	}
	large := fmt.Sprintf("Content-Length: %d", maxBody)
	first, second := announce(large), announce("Transfer-Encoding: chunked")
	held(2)
	if r := answered(announce(large)); r.StatusCode != 503 || r.Header.Get("Retry-After") != "1" || !r.Close {
		t.Errorf("a third: %d %v", r.StatusCode, r.Header)
	}
	small := announce("Content-Length: 5")
	_, _ = io.WriteString(small, "abcde")
	if r := answered(small); r.StatusCode != 204 {
		t.Errorf("a small one: %d", r.StatusCode)
	}
	_ = first.Close() // the client breaks the request off
	held(1)
	_, _ = io.WriteString(second, "zz\r\n") // an invalid chunk, which ends the second request
	if r := answered(second); r.StatusCode != 400 {
		t.Errorf("a broken chunk: %d", r.StatusCode)
	}
	held(0)
	for range 3 { // one request after the other, so each can use the memory that the last one released
		c := announce(large)
		if _, err := io.WriteString(c, strings.Repeat("x", maxBody)); err != nil {
			t.Fatal(err)
		}
		if r := answered(c); r.StatusCode != 204 {
			t.Errorf("a large one: %d", r.StatusCode)
		}
	}
	if r := answered(announce(fmt.Sprintf("Content-Length: %d", maxBody+1))); r.StatusCode != 413 {
		t.Errorf("one too large: %d", r.StatusCode)
	}
	held(0)
	if left := b.room.Load(); left != 600<<10 {
		t.Errorf("%d bytes of room are left of %d", left, 600<<10)
	}
}

// TestReservationAfterClose checks that memory which is reserved while its connection closes is
// given back, in whichever order the two happen, and when a second reservation takes its place.
func TestReservationAfterClose(t *testing.T) {
	b := newBodies()
	l := Limit(nil, ConnectionOptions{})
	for name, steps := range map[string]func(k *countedConn, reserve func()){
		"before the close": func(k *countedConn, reserve func()) { reserve(); _ = k.Close() },
		"after the close":  func(k *countedConn, reserve func()) { _ = k.Close(); reserve() },
		"before and after": func(k *countedConn, reserve func()) { reserve(); _ = k.Close(); reserve() },
		"twice":            func(k *countedConn, reserve func()) { reserve(); reserve(); _ = k.Close(); k.release() },
	} {
		ours, theirs := net.Pipe()
		_ = theirs.Close()
		k := &countedConn{Conn: ours, of: l}
		steps(k, func() {
			b.room.Add(-maxBody)
			b.held.Add(1)
			k.reserve(&reservation{of: b, bytes: maxBody})
		})
		if held, room := b.held.Load(), b.room.Load(); held != 0 || room != bodiesRoom {
			t.Errorf("%s: %d reservations, %d bytes of room", name, held, room)
		}
		b = newBodies()
	}
}

// TestBodiesShare checks that one address cannot reserve all memory for bodies, that its bodies
// are in no other's way, and that what it gives back is its own again, also where a body found no
// room.
func TestBodiesShare(t *testing.T) {
	b := newBodies()
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	l := &Connections{}
	take := func(ip netip.Addr) (*countedConn, bool) {
		k := &countedConn{ip: ip, of: l}
		return k, b.takeFor(k, maxBody)
	}
	const most = bodiesShare / maxBody
	var held []*countedConn
	for n := range most {
		k, ok := take(one)
		if !ok {
			t.Fatalf("body %d of %d is refused", n+1, most)
		}
		held = append(held, k)
	}
	if _, ok := take(one); ok {
		t.Error("an address has more than its share")
	}
	if got := l.Bodies(); got != (fair.Counts{InUse: bodiesShare, Refused: 1}) {
		t.Errorf("%+v", got)
	}
	for range 10 {
		k, ok := take(other)
		if !ok {
			t.Fatal("another's body is refused")
		}
		held = append(held, k)
	}
	held[0].release()
	again, ok := take(one)
	if !ok {
		t.Error("what was given back is not the address's again")
	}
	b.room.Store(0)
	if _, ok := take(other); ok {
		t.Error("no room is left, and a body is taken")
	}
	if got := l.Bodies(); got.Refused != 2 {
		t.Errorf("%+v", got)
	}
	again.release()
	for _, k := range held {
		k.release()
	}
	if len(b.by) != 0 || b.held.Load() != 0 {
		t.Errorf("left: %v, %d held", b.by, b.held.Load())
	}
}
