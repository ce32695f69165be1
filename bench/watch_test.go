package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pixd/cmd/operator"
)

// TestWatchOfARestart checks that an engine's processor time is summed up over its restart, which
// sets the counter back, and over a while without an answer.
func TestWatchOfARestart(t *testing.T) {
	cpu, memory := 10.0, 300
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if cpu < 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %v\n# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %d\n", cpu, memory)
	}))
	defer server.Close()
	s, err := newSampler(t.Context(), &operator.Client{Base: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{session: &session{sampler: s}, last: sample{at: time.Now().Add(-time.Second), cpu: cpu}}
	for _, c := range []struct {
		cpu    float64 // negative: no answer
		memory int
		want   float64 // used since the first sample
	}{
		{12, 500, 2}, {12, 400, 2}, {1, 100, 3}, {-1, 0, 3}, {4, 200, 6}, {0.5, 50, 6.5},
	} {
		cpu, memory = c.cpu, c.memory
		cores, err := w.take()
		if (err != nil) != (c.cpu < 0) || cores < 0 || w.cpu != c.want || w.memory != 500 {
			t.Errorf("%+v: %v, %v processors, %v s, %d bytes", c, err, cores, w.cpu, w.memory)
		}
	}
}
