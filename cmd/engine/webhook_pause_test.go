package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestWebhookPause checks an operator's pause of a webhook over HTTP: what waits becomes dead, an event of that
// time has no delivery, and after it goes on, what is dead arrives once an operator retries it.
func TestWebhookPause(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	r.status.Store(500)
	w.receives(1000, "")
	w.becomes("tried", soon, func() bool {
		all := w.deliveries(h.ID, "")
		return len(all) == 1 && len(all[0].Attempts) == 1
	})
	change := func(body, want string) {
		t.Helper()
		if status, got := w.operate("PATCH", "/admin/webhooks/"+h.ID, body); status != 200 || !strings.Contains(got, want) {
			t.Fatalf("%d %s, want %s", status, got, want)
		}
	}
	change(`{"active":false}`, `"active":false`)
	w.becomes("dead", soon, func() bool {
		_, got := w.operate("GET", "/admin/webhook-deliveries?webhook_id="+h.ID, "")
		return strings.Contains(got, `"status":"dead","reason":"the webhook is stopped"`)
	})
	w.receives(2000, "")
	change(`{"active":false}`, `"pending":0,"dead":1}`)
	r.status.Store(200)
	change(`{"active":true}`, `"active":true`)
	w.receives(3000, "")
	w.arrives(r, "/a", 2)
	time.Sleep(100 * time.Millisecond)
	if n := len(w.deliveries(h.ID, "?status=delivered")); n != 1 || len(r.all("/a")) != 2 {
		t.Errorf("%d delivered, %d attempts: it was retried by itself, or got an event of its pause", n, len(r.all("/a")))
	}
	if status, got := w.operate("POST", "/admin/webhooks/"+h.ID+"/retry", ""); status != 202 || !strings.Contains(got, `"retried":1`) {
		t.Fatalf("%d %s", status, got)
	}
	w.becomes("delivered", soon, func() bool { return len(w.deliveries(h.ID, "?status=delivered")) == 2 })
	if status, got := w.operate("GET", "/admin/actions", ""); status != 200 || strings.Count(got, `"method":"PATCH"`) != 3 {
		t.Errorf("%d %s", status, got)
	}
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}
