package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
)

// patched sends PATCH for a webhook.
func (w *harness) patched(id, body string) (int, string) {
	w.t.Helper()
	mac, err := httpapi.Sign([]byte(w.Sec), []byte(body), false)
	if err != nil {
		w.t.Fatal(err)
	}
	status, got, _ := w.send("PATCH", "http://"+w.MerchantAddr.String()+"/api/external/webhooks/"+id, body,
		"Authorization", "ApiKey "+w.Key+":"+w.Sec, "Content-Type", "application/json", "hmac", mac)
	return status, got
}

// rotated gives a webhook a new secret.
func (w *harness) rotated(id string) (h hook) {
	w.t.Helper()
	status, got, _ := w.post("/webhooks/"+id+"/rotate-secret", `{}`)
	if status != 200 || json.Unmarshal([]byte(got), &h) != nil || !strings.Contains(got, `"previous_secret_expires_at":"`) {
		w.t.Fatalf("%d %s", status, got)
	}
	return h
}

// TestWebhookChanges checks the changes of a webhook over HTTP, down to what its receiver gets, across a restart: a
// test's event, another URL and other events, a pause, and that both secrets sign for 24 h.
func TestWebhookChanges(t *testing.T) {
	t.Parallel()
	r, c := newReceiver(t), newClocks()
	r.clock = c
	fs := vfs.NewMem()
	settings := func(o *Config) { insecure(o); o.Clocks = c.sources() }
	w := newHarness(t, fs, settings)
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	test := func(path string, n int, secrets ...string) posted {
		t.Helper()
		status, got, _ := w.post("/webhooks/"+h.ID+"/test", `{}`)
		if status != 202 || !strings.HasSuffix(got, `,"type":"pix.test","status":"pending"}`) {
			t.Fatalf("%d %s", status, got)
		}
		w.arrives(r, path, n)
		p := r.all(path)[n-1]
		if p.Type != "pix.test" || !strings.Contains(got, p.ID) || string(p.Data) != "{}" || strings.Contains(string(p.Body), "secret") {
			t.Errorf("%s of %s", p.Body, got)
		}
		for _, secret := range secrets {
			v, err := standardwebhooks.NewWebhook(secret)
			if err != nil || v.VerifyIgnoringTimestamp(p.Body, p.Header) != nil { // the engine's clock goes on by a day in this test
				t.Errorf("%v is not signed with %s (%v)", p.Header, secret, err)
			}
		}
		if n := strings.Count(p.Header.Get("webhook-signature"), "v1,"); n != len(secrets) {
			t.Errorf("%d signatures, want %d", n, len(secrets))
		}
		return p
	}
	test("/a", 1, h.Secret)
	if status, got := w.patched(h.ID, fmt.Sprintf(`{"events":["pix.completed"],"url":%q}`, r.URL+"/b")); status != 200 || !strings.Contains(got, `/b","events":["pix.completed"],"active":true`) {
		t.Fatalf("%d %s", status, got)
	}
	w.receives(1000, "")
	w.arrives(r, "/b", 1)
	if got := r.all("/b")[0]; got.Type != "pix.completed" || len(r.all("/a")) != 1 {
		t.Errorf("after the change: %s", got.Body)
	}
	if status, got := w.patched(h.ID, `{"active":false}`); status != 200 || !strings.Contains(got, `"active":false`) {
		t.Fatalf("%d %s", status, got)
	}
	w.receives(1000, "")
	if status, got, _ := w.post("/webhooks/"+h.ID+"/test", `{}`); status != 422 {
		t.Errorf("a test of a stopped one: %d %s", status, got)
	}
	w.patched(h.ID, `{"active":true}`)
	second := w.rotated(h.ID)
	test("/b", 2, h.Secret, second.Secret)
	w.stop()
	w = w.at(serveHarness(t, fs, settings))
	test("/b", 3, h.Secret, second.Secret)
	c.pass(24 * time.Hour)
	test("/b", 4, second.Secret)
	w.becomes("delivered", soon, func() bool { return len(w.deliveries(h.ID, "?status=delivered")) == 5 })
	if status, _ := w.remove(h.ID); status != 200 {
		t.Error(status)
	}
	if got := w.deliveries(h.ID, "?status=delivered"); len(got) != 5 {
		t.Errorf("%d deliveries of a removed webhook are listed", len(got))
	}
	if status, _ := w.patched(h.ID, `{}`); status != 404 {
		t.Errorf("a removed one is changed: %d", status)
	}
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// TestEndOfUnknownSubscription checks that whoever ends a subscription hears that the account refuses it, and that the
// dispatcher knows when the engine has no time for its work.
func TestEndOfUnknownSubscription(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	id, _ := pix.ParseAccountID(w.ID)
	if err := w.endSubscription(id, ledger.EndSubscription{ID: pix.NewSubscriptionID(id, 99, [4]byte{1})}); err == nil {
		t.Error("no error")
	}
	if w.webhooks.Busy == nil {
		t.Error("deliveries know nothing of the load")
	}
}
