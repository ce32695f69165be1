package engine

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

func served(t *testing.T) *Served {
	t.Helper()
	c := Defaults()
	c.DataDir, c.Listen, c.AdminListen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := Serve(c, Build{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShutdownDoesNotWaitForSilence checks that neither a connection without any request nor
// a connection kept open for a next request delays the shutdown.
func TestShutdownDoesNotWaitForSilence(t *testing.T) {
	s := served(t)
	silent, err := net.Dial("tcp", s.MerchantAddr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	kept, err := net.Dial("tcp", s.MerchantAddr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	fmt.Fprint(kept, "GET /api/external/balance HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, err := bufio.NewReader(kept).ReadString('\n'); err != nil || !strings.Contains(line, "401") {
		t.Fatal(line, err)
	}
	begin := time.Now()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}
