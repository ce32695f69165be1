package operator

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestDownloadInSilence checks that a body of which nothing more arrives is given up, and that
// a caller may take its time.
func TestDownloadInSilence(t *testing.T) {
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		<-over
	}))
	defer s.Close()
	defer close(over)
	o := &Client{Base: s.URL}
	d, err := o.Download(t.Context(), "/", "text/plain", 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b := make([]byte, 5)
	if _, err := io.ReadFull(d, b); err != nil || string(b) != "begin" {
		t.Fatalf("%q %v", b, err)
	}
	time.Sleep(200 * time.Millisecond)
	if err := d.ctx.Err(); err != nil {
		t.Fatalf("given up while nobody reads: %v", err)
	}
	if _, err := d.Read(b); !errors.Is(err, errSilent) {
		t.Errorf("%v", err)
	}
}
