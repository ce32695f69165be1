package cluster

import (
	"errors"
	"io"
	"net"
	"testing"
)

// greet accepts connections and sends a word on each, until its listener has lost the port.
func greet(l net.Listener, word string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			_, _ = io.WriteString(c, word)
			_ = c.Close()
		}
	}()
	return ended
}

func heard(t *testing.T, address string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRelay checks that new connections go to whoever has the port last, that whoever has lost it is
// told, and that nothing is accepted once it is closed.
func TestRelay(t *testing.T) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newRelay(port)
	over := make(chan error, 1)
	first := greet(r.next(), "first")
	go func() { over <- r.run() }()
	address := port.Addr().String()
	if got := heard(t, address); got != "first" {
		t.Errorf("heard %q", got)
	}
	second := greet(r.next(), "second")
	if err := <-first; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	for range 50 {
		if got := heard(t, address); got != "second" {
			t.Fatalf("heard %q", got)
		}
	}
	third := r.next()
	if err := errors.Join(third.Close(), <-second); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if got := heard(t, address); got != "" {
		t.Errorf("nobody has the port, and %q was heard", got)
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
