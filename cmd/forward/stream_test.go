package forward

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/httpapi"
)

const longBody = 200 << 20

// zeros is a body of so many bytes.
type zeros struct{ left int64 }

func (z *zeros) Read(b []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), z.left)
	z.left -= n
	return int(n), nil
}

// long answers with a body of longBody bytes: in chunks, or with its length.
func long(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) == "/length" {
		ctx.SetBodyStream(&zeros{longBody}, longBody)
		return
	}
	httpapi.Stream(ctx, "application/x-tar", httpapi.Streamed{Write: func(w io.Writer) error {
		room := make([]byte, 100_000)
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, &zeros{longBody}, room)
		return err
	}, Done: func(error) {}})
}

// open sends a GET and returns the answer, whose body is to be read.
func open(t *testing.T, address, path string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestStreamed checks that a long answer is passed on whole, and not held in memory; and that its
// connection to the owner is used again.
func TestStreamed(t *testing.T) {
	o := newOwner(t, "", nil, long)
	n := newNode(t, Options{Owner: o.at("http")})
	var kept *link
	for _, path := range []string{"/chunks", "/length", "/chunks"} {
		start := heap()
		a := open(t, n.address, path)
		total, most := readLong(t, a.Body)
		if total != longBody || path == "/length" && a.ContentLength != longBody || path == "/chunks" && a.Header.Get("Content-Type") != "application/x-tar" {
			t.Errorf("%s: %d bytes, %v", path, total, a.Header)
		}
		if most > start+32<<20 {
			t.Errorf("%s: memory grew from %d to %d bytes", path, start, most)
		}
		waitFor(t, func() bool { return n.Forwarder.owner.places.Counts().InUse == 0 })
		n.Forwarder.owner.mu.Lock()
		idle := append([]*link{nil}, n.Forwarder.owner.idle...)
		n.Forwarder.owner.mu.Unlock()
		if used := idle[len(idle)-1]; used == nil || kept != nil && used != kept {
			t.Errorf("%s: the connection is not kept, or that before was not used", path)
		}
		kept = idle[len(idle)-1]
	}
}

// readLong reads a body to its end and returns its length, and the largest size of the heap
// meanwhile.
func readLong(t *testing.T, body io.Reader) (total int64, most uint64) {
	t.Helper()
	room := make([]byte, 1<<20)
	for i := 0; ; i++ {
		m, err := body.Read(room)
		total += int64(m)
		if i%500 == 0 {
			most = max(most, heap())
		}
		if err == io.EOF {
			return total, most
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", total, err)
		}
	}
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(idleFor / 2); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

// TestPieces checks that a piece of an answer arrives when the owner has written it, and that an
// answer which breaks off is seen to do so.
func TestPieces(t *testing.T) {
	next := make(chan struct{})
	o := newOwner(t, "", nil, func(ctx *fasthttp.RequestCtx) {
		httpapi.Stream(ctx, "text/plain", httpapi.Streamed{Write: func(w io.Writer) error {
			for range 3 {
				_, _ = io.WriteString(w, "piece")
				<-next
			}
			return errors.New("it breaks off")
		}, Done: func(error) {}})
	})
	n := newNode(t, Options{Owner: o.at("http")})
	a := open(t, n.address, "/")
	for range 3 {
		var b [5]byte
		if _, err := io.ReadFull(a.Body, b[:]); err != nil || string(b[:]) != "piece" {
			t.Fatalf("%q, %v", b, err)
		}
		next <- struct{}{}
	}
	if _, err := a.Body.Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the end of the answer: %v", err)
	}
	waitFor(t, func() bool { return n.Forwarder.owner.places.Counts().InUse == 0 })
}

// TestStreamToNobody checks that an answer whose client has gone gives its connection back.
func TestStreamToNobody(t *testing.T) {
	ended := make(chan error, 1)
	o := newOwner(t, "", nil, func(ctx *fasthttp.RequestCtx) {
		httpapi.Stream(ctx, "text/plain", httpapi.Streamed{Write: func(w io.Writer) error {
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return err
				}
			}
		}, Done: func(err error) { ended <- err }})
	})
	n := newNode(t, Options{Owner: o.at("http")})
	c, err := net.Dial("tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	_, _ = c.Read(make([]byte, 100))
	_ = c.Close()
	if err := <-ended; err != nil {
		t.Errorf("a client that goes is taken for a failure: %v", err)
	}
	waitFor(t, func() bool { return n.Forwarder.owner.places.Counts().InUse == 0 })
}
