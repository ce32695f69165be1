package engine

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestUntriedDeliveriesAreFound checks that a delivery is found before its first attempt, when
// nothing but the time of its event leads to its row: the merchant puts each of several back in line;
// and one whose event there never was is not found.
func TestUntriedDeliveriesAreFound(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), insecure)
	h := w.hooks("http://127.0.0.1:1/hook", `"pix.received","pix.completed"`) // both of one record
	const events = 8
	for range events {
		w.receives(1000, "")
		time.Sleep(3 * time.Millisecond)
	}
	var waiting []delivered
	w.becomes("the receiver's pause", 10*time.Second, func() bool {
		waiting = waiting[:0]
		for _, d := range w.deliveries(h.ID, "?status=pending") {
			if len(d.Attempts) == 0 {
				waiting = append(waiting, d)
			}
		}
		return len(waiting) > events
	})
	for _, d := range waiting {
		if status, got, _ := w.post("/webhooks/"+h.ID+"/deliveries/"+d.Event+"/retry", `{}`); status != 202 {
			t.Errorf("event %d of %d: %d %s", d.Sequence, events, status, got)
		}
	}
	last := []byte(waiting[len(waiting)-1].Event)
	last[len(last)-2]++ // another sequence, which no event has
	if status, got, _ := w.post("/webhooks/"+h.ID+"/deliveries/"+string(last)+"/retry", `{}`); status != 404 {
		t.Errorf("of no event: %d %s", status, got)
	}
}
