package httpapi

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestServerLog checks that the log names the peer and the kind of error, and quotes
// nothing that the client sent.
func TestServerLog(t *testing.T) {
	var b bytes.Buffer
	l := serverLog{slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	const value = "ApiKey cli_1:sk_2 \"\\\x01"
	l.Printf("error when serving connection %q<->%q: %v", "127.0.0.1:1", "127.0.0.1:2",
		fmt.Errorf("reading: %w: buffer size=3", fmt.Errorf("invalid header value %q and %q", value, "sk_3")))
	for _, want := range []string{"127.0.0.1:2", "invalid header value", "buffer size=3"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in %s", want, b.String())
		}
	}
	for _, never := range []string{"sk_2", "sk_3"} {
		if strings.Contains(b.String(), never) {
			t.Errorf("%s is in %s", never, b.String())
		}
	}
}
