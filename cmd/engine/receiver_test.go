package engine

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// merchantServer is a merchant's server that takes webhooks.
type merchantServer struct {
	*httptest.Server
	t      *testing.T
	status atomic.Int64                  // of its answers
	hold   atomic.Pointer[chan struct{}] // its answers wait until this is closed; nil: they do not wait
	clock  *clocks                       // the right time; set before anything arrives

	mu  sync.Mutex
	got []posted
}

// posted is a webhook that arrived.
type posted struct {
	URI    string          `json:"-"`
	Header http.Header     `json:"-"`
	Body   []byte          `json:"-"`
	ID     string          `json:"id"`
	Type   string          `json:"type"`
	At     string          `json:"created_at"`
	Of     string          `json:"account_id"`
	Number int             `json:"sequence"`
	Data   json.RawMessage `json:"data"`
}

// stale is the difference between a webhook's timestamp and the receiver's time from which
// merchants' libraries refuse the webhook.
const stale = 5 * time.Minute

// newReceiver returns a merchant's server that takes every webhook of a timestamp that is right.
func newReceiver(t *testing.T) *merchantServer {
	r := &merchantServer{t: t, clock: newClocks()}
	r.status.Store(http.StatusNoContent)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		p := posted{URI: q.RequestURI, Header: q.Header.Clone()}
		var err error
		if p.Body, err = io.ReadAll(q.Body); err != nil || json.Unmarshal(p.Body, &p) != nil || q.Method != http.MethodPost {
			t.Errorf("%s %s: %s %v", q.Method, q.RequestURI, p.Body, err)
		}
		if sent, err := strconv.ParseInt(q.Header.Get("webhook-timestamp"), 10, 64); err != nil || r.clock.now().Sub(time.Unix(sent, 0)).Abs() > stale {
			t.Errorf("webhook-timestamp %q is too far from the receiver's time (%v)", q.Header.Get("webhook-timestamp"), err)
		}
		status := int(r.status.Load())
		r.mu.Lock()
		r.got = append(r.got, p)
		r.mu.Unlock()
		if hold := r.hold.Load(); hold != nil {
			<-*hold
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

// all returns what arrived at a path, in the order of the events.
func (r *merchantServer) all(path string) (all []posted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.got {
		if strings.HasPrefix(p.URI, path) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b posted) int { return a.Number - b.Number })
	return all
}

// numbers returns the sequences of the events that arrived at a path, each once.
func (r *merchantServer) numbers(path string) (all []int) {
	for _, p := range r.all(path) {
		all = append(all, p.Number)
	}
	return slices.Compact(all)
}

// hook is a merchant's webhook.
type hook struct {
	ID     string
	Secret string
	Active bool
}

// allKinds are the kinds of all events.
const allKinds = `"pix.received","pix.charge.paid","pix.completed","pix.payout.confirmed","pix.payout.rejected","pix.payout.failed","pix.payout.queued",` +
	`"pix.return.received","pix.payout.returned","pix.refund.requested","pix.refund.completed","pix.refund.failed","pix.med.closed"`

// hooks makes a webhook.
func (w *harness) hooks(url, kinds string) (h hook) {
	w.t.Helper()
	status, got, _ := w.post("/webhooks", `{"url":"`+url+`","events":[`+kinds+`]}`)
	if status != 200 || json.Unmarshal([]byte(got), &h) != nil || !h.Active {
		w.t.Fatalf("%d %s", status, got)
	}
	return h
}

// remove sends DELETE for a webhook.
func (w *harness) remove(id string) (int, string) {
	w.t.Helper()
	status, got, _ := w.send("DELETE", "http://"+w.MerchantAddr.String()+"/api/external/webhooks/"+id, "", "Authorization", "ApiKey "+w.Key+":"+w.Sec)
	return status, got
}

// insecure lets webhooks go to this machine, with a short schedule.
func insecure(c *Config) { c.WebhookInsecure = true }

// delivered lists deliveries of a webhook as the merchant sees them.
type delivered struct {
	Event    string `json:"event_id"`
	Type     string
	Sequence int
	Status   string
	Next     *string `json:"next_attempt_at"`
	Attempts []struct {
		Status *int `json:"status_code"`
		Error  *string
	}
}

func (w *harness) deliveries(id, query string) []delivered {
	w.t.Helper()
	var l struct{ Data []delivered }
	status, got := w.get("/webhooks/" + id + "/deliveries" + query)
	if status != 200 || json.Unmarshal([]byte(got), &l) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	return l.Data
}

// arrives waits until the given number of events have arrived at a path.
func (w *harness) arrives(r *merchantServer, path string, n int) {
	w.t.Helper()
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%d arrived: %v", len(r.all(path)), r.numbers(path))
		}
	}()
	w.becomes("all webhooks arrived", 8*time.Second, func() bool { return len(r.numbers(path)) >= n })
}

// signed checks the signature of a webhook.
func (p *posted) signed(t *testing.T, secret string) {
	t.Helper()
	v, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Verify(p.Body, p.Header); err != nil || p.Header.Get("webhook-id") != p.ID || p.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v of %v: %v", p.ID, p.Header, err)
	}
}
