package serving

import (
	"io"
	"log/slog"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// TestDrainSeesTwoIdleTicks checks that a server has ended only once no request was in hand at two ticks in a row: between
// two, an answer is being sent.
func TestDrainSeesTwoIdleTicks(t *testing.T) {
	hold, begun := make(chan bool), make(chan bool)
	server := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) { close(begun); <-hold }}
	l := fasthttputil.NewInmemoryListener()
	go func() { _ = server.Serve(l) }()
	defer close(hold)
	c, err := l.Dial()
	if err == nil {
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	asked, busy := 0, []bool{true, false, true, false, false}
	err = Drain(server, func() bool { asked++; return busy[asked-1] }, slog.New(slog.DiscardHandler))
	if err != nil || asked != len(busy) {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
