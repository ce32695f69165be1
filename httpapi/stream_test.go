package httpapi

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

var errBroken = errors.New("the store is broken")

// streams serves one stream, and returns the listener and a channel with the argument of each
// call of Done.
func streams(t *testing.T, patience time.Duration, write func(io.Writer) error) (net.Listener, chan error) {
	t.Helper()
	done := make(chan error, 10)
	l := limited(t, ConnectionOptions{}, 0, func(s *fasthttp.Server) {
		s.WriteTimeout = 200 * time.Millisecond
		s.Handler = func(ctx *fasthttp.RequestCtx) {
			Stream(ctx, "text/plain", Streamed{Write: write, Done: func(err error) { done <- err }})
			body := ctx.Response.BodyStream().(*stream)
			body.patience = patience
		}
	})
	return l, done
}

// received returns the body of the answer to one request, as far as it arrives.
func received(t *testing.T, c net.Conn) (string, error) {
	t.Helper()
	if _, err := io.WriteString(c, hello); err != nil {
		t.Fatal(err)
	}
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
	return string(b), err
}

// once checks that Done was called once, with an error that contains a text; empty: with none.
func once(t *testing.T, done chan error, want string) {
	t.Helper()
	select {
	case err := <-done:
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("ended with %v, want %q", err, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("never ended")
	}
	select {
	case err := <-done:
		t.Errorf("ended again: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
}

// TestStream sends a body for longer than a whole answer may take, because its client goes on
// reading, and another one over the same connection.
func TestStream(t *testing.T) {
	l, done := streams(t, 10*time.Second, func(w io.Writer) error {
		for range 10 {
			if _, err := w.Write([]byte(strings.Repeat("x", 99) + "\n")); err != nil {
				return err
			}
			time.Sleep(30 * time.Millisecond)
		}
		return nil
	})
	c := open(t, l)
	for range 2 {
		if got, err := received(t, c); err != nil || len(got) != 1000 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		once(t, done, "")
	}
}

// TestStreamBreaksOff checks that the client sees an error or a panic in the middle.
func TestStreamBreaksOff(t *testing.T) {
	for name, fail := range map[string]func() error{
		errBroken.Error():   func() error { return errBroken },
		"panic in a stream": func() error { panic("a hole") },
	} {
		l, done := streams(t, 10*time.Second, func(w io.Writer) error {
			if _, err := w.Write([]byte("the first half")); err != nil {
				return err
			}
			return fail()
		})
		got, err := received(t, open(t, l))
		if got != "the first half" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		once(t, done, name)
	}
}

// TestStreamWithoutReader checks that a stream ends when its client does not read it for too
// long, or goes away.
func TestStreamWithoutReader(t *testing.T) {
	for _, goes := range []bool{true, false} {
		pieces := 0
		patience := 10 * time.Second
		if !goes {
			patience = 100 * time.Millisecond
		}
		l, done := streams(t, patience, func(w io.Writer) error {
			for {
				pieces++
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return err
				}
			}
		})
		c := open(t, l)
		if _, err := io.WriteString(c, hello); err != nil {
			t.Fatal(err)
		}
		if goes {
			if _, err := io.ReadFull(c, make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		once(t, done, "")
		if pieces > 2000 {
			t.Errorf("%d pieces were written to nobody", pieces)
		}
	}
}

// TestStreamClosedAgain checks that a second Close changes nothing.
func TestStreamClosedAgain(t *testing.T) {
	n := 0
	s := &stream{Streamed: Streamed{Done: func(error) { n++ }}}
	if err := errors.Join(s.Close(), s.Close()); err != nil || n != 1 {
		t.Errorf("ended %d times, %v", n, err)
	}
}
