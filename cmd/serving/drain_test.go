package serving

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// busyServer returns a server with a request in hand that does not end before the test does.
func busyServer(t *testing.T) *fasthttp.Server {
	t.Helper()
	hold, begun := make(chan bool), make(chan bool)
	server := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) { close(begun); <-hold }}
	l := fasthttputil.NewInmemoryListener()
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { close(hold) })
	c, err := l.Dial()
	if err == nil {
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	return server
}

// TestDrainSeesTwoIdleTicks checks that a server has ended only once no request was in hand at two ticks in a row: between
// two, an answer is being sent.
func TestDrainSeesTwoIdleTicks(t *testing.T) {
	asked, busy := 0, []bool{true, false, true, false, false}
	err := Drain(busyServer(t), func() bool { asked++; return busy[asked-1] }, slog.New(slog.DiscardHandler))
	if err != nil || asked != len(busy) {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// TestDrainLosesPatience checks that a request which does not end is cut after Patience, and that this is said.
func TestDrainLosesPatience(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server, from := busyServer(t), time.Now()
	err := Drain(server, func() bool { return true }, slog.New(slog.NewTextHandler(&log, nil)))
	if took := time.Since(from); err != nil || took < Patience-time.Second || took > Patience+5*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	if !strings.Contains(log.String(), "requests in hand did not finish") {
		t.Errorf("the log says %q", log.String())
	}
}
