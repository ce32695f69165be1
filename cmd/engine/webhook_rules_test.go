package engine

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestPayoutEvents checks the contract's five rules about the events of payouts: what is refused
// inside the call has none; a payout that enters the queue has one at once, and then its outcome;
// a rejection after acceptance, a void and the end of the queue have one each. Beside them it
// checks a payout that comes back.
func TestPayoutEvents(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := newHarness(t, vfs.NewMem(), insecure, func(c *Config) {
		c.QueueRetry, c.QueueTTL, c.OrphanAfter = 100*time.Millisecond, time.Second, time.Second
	})
	w.hooks(r.URL+"/all", allKinds)
	if status, got := w.cashOut(`{"amount":100,"pix_key":"not-found@pix.test"}`); status != 400 {
		t.Errorf("%d %s", status, got)
	}
	want := map[string][]string{ // the events of each payout, with their reason codes
		"client-limited-1@pix.test": {"pix.payout.queued DICT_CLIENT_RATE_LIMITED", "pix.payout.confirmed", "pix.completed"},
		"bucket-exhausted@pix.test": {"pix.payout.queued DICT_BUCKET_EXHAUSTED", "pix.payout.failed DICT_QUEUE_TIMEOUT"},
		"reject-ac03@pix.test":      {"pix.payout.rejected AC03"},
		"silent@pix.test":           {"pix.payout.failed orphan_force_voided"},
		"returned@pix.test":         {"pix.payout.confirmed", "pix.completed", "pix.payout.returned"},
	}
	all := 0
	for key, events := range want {
		if status, got := w.cashOut(`{"amount":100,"pix_key":"` + key + `"}`); status != 202 && status != 200 {
			t.Fatalf("%s: %d %s", key, status, got)
		}
		all += len(events)
	}
	w.arrives(r, "/all", all+1) // and the return itself
	got := map[string][]string{}
	for _, p := range r.all("/all") {
		var data struct {
			Key    string  `json:"recipient_key"`
			Reason *string `json:"reason_code"`
			Why    string  `json:"reason_description"`
		}
		if err := json.Unmarshal(p.Data, &data); err != nil {
			t.Fatal(err)
		}
		line := p.Type
		if data.Reason != nil && p.Type != "pix.return.received" {
			line += " " + *data.Reason
			if data.Why == "" {
				t.Errorf("%s has no description: %s", line, p.Body)
			}
		}
		got[data.Key] = append(got[data.Key], line)
	}
	for key, events := range want {
		if !slices.Equal(got[key], events) {
			t.Errorf("%s: %q, want %q", key, got[key], events)
		}
	}
	if back := got[""]; len(back) != 1 || back[0] != "pix.return.received" {
		t.Errorf("the return: %q", back)
	}
}
