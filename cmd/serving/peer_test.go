package serving

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"pixd/actors/pix"
)

// TestSpeaks checks that a peer on another machine without TLS is warned of, and none else.
func TestSpeaks(t *testing.T) {
	for url, warned := range map[string]bool{
		"http://127.0.0.1:1": false, "http://[::1]:1": false, "http://localhost:1": false, "https://10.0.0.1:1": false,
		"http://10.0.0.1:1": true, "http://scheme.example:1": true,
	} {
		var said bytes.Buffer
		_, err := Peer{Flag: "scheme", URL: url}.Speaks(strings.Repeat("s", 64), func() pix.Millis { return 0 }, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil || strings.Contains(said.String(), "level=WARN") != warned {
			t.Errorf("%s: %v %s", url, err, said.String())
		}
	}
	if err := (Peer{Flag: "scheme", URL: "HTTPS://x", CA: "file"}).CheckCA(); err != nil {
		t.Error(err)
	}
}
