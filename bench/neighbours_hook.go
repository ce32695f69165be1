package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/goccy/go-json"
)

// hook is a receiver of webhooks. /told measures how long after a payout's request its webhook
// arrives; /slow answers 200 after the time of its query.
type hook struct {
	server   *http.Server
	addr     string
	off      bool // the engine does not call it
	mu       sync.Mutex
	waiting  map[string]time.Time // when a payout was asked for, by its external_id
	arrived  *hdrhistogram.Histogram
	released chan struct{} // closed when slow answers need not wait any more
}

// lastWebhooks is how long a measurement waits for webhooks after its last request.
const lastWebhooks = 20 * time.Second

func newHook() (*hook, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &hook{addr: l.Addr().String(), waiting: map[string]time.Time{}, arrived: newHistogram(), released: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/told", h.told)
	mux.HandleFunc("/slow", h.slow)
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: dialTimeout}
	go func() { _ = h.server.Serve(l) }() // ends with close
	return h, nil
}

func (h *hook) url(path string) string { return "http://" + h.addr + path }

func (h *hook) close() {
	close(h.released)
	_ = h.server.Close()
}

func (h *hook) told(_ http.ResponseWriter, r *http.Request) {
	var event struct {
		Data struct {
			ExternalID string `json:"external_id"`
		} `json:"data"`
	}
	now := time.Now()
	if json.NewDecoder(r.Body).Decode(&event) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if asked, waits := h.waiting[event.Data.ExternalID]; waits {
		delete(h.waiting, event.Data.ExternalID)
		record(h.arrived, now.Sub(asked))
	}
}

func (h *hook) slow(_ http.ResponseWriter, r *http.Request) {
	d, _ := time.ParseDuration(r.URL.Query().Get("after"))
	select {
	case <-time.After(d):
	case <-h.released:
	}
}

// asked notes that a payout is asked for now.
func (h *hook) asked(name string) {
	h.mu.Lock()
	h.waiting[name] = time.Now()
	h.mu.Unlock()
}

// forget drops a payout that was not accepted.
func (h *hook) forget(name string) {
	h.mu.Lock()
	delete(h.waiting, name)
	h.mu.Unlock()
}

// begin begins a measurement.
func (h *hook) begin() {
	h.mu.Lock()
	clear(h.waiting)
	h.arrived.Reset()
	h.mu.Unlock()
}

// end waits for webhooks that are under way, and returns how long all took and how many did not
// arrive.
func (h *hook) end(ctx context.Context) (took Latency, missing int) {
	if h.off {
		return took, 0
	}
	for until := time.Now().Add(lastWebhooks); ; time.Sleep(20 * time.Millisecond) {
		h.mu.Lock()
		took, missing = latencyOf(h.arrived), len(h.waiting)
		h.mu.Unlock()
		if missing == 0 || ctx.Err() != nil || time.Now().After(until) {
			return took, missing
		}
	}
}

// errNotCalled is the error of a subscription that the engine refuses.
const errNotCalled = leftOut("the engine calls no address of this machine")

// subscribeTo subscribes a URL to the settled payouts of an account.
func (s *session) subscribeTo(ctx context.Context, account int, url string) (id string, err error) {
	body := `{"events":["pix.payout.confirmed"],"url":"` + url + `"}`
	status, answer, err := s.send(ctx, &s.merchants[account], http.MethodPost, "/webhooks", body)
	switch {
	case err != nil:
		return "", err
	case status == http.StatusBadRequest:
		return "", errNotCalled
	case status != http.StatusOK:
		return "", fmt.Errorf("POST /webhooks answers %d: %s", status, answer)
	}
	var made struct{ ID string }
	err = json.Unmarshal(answer, &made)
	return made.ID, err
}

// unsubscribe removes a subscription.
func (s *session) unsubscribe(ctx context.Context, account int, id string) error {
	status, answer, err := s.send(ctx, &s.merchants[account], http.MethodDelete, "/webhooks/"+id, "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, answer)
	}
	if err != nil {
		return fmt.Errorf("DELETE /webhooks/%s: %w", id, err)
	}
	return nil
}
