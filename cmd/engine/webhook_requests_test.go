package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestWebhookRequests checks the requests about webhooks: what a replay shows, how many there
// may be, what another merchant sees, and which permissions are needed.
func TestWebhookRequests(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	w := newHarness(t, vfs.NewMem(), insecure)
	stranger := w.another()
	const key = "Idempotency-Key"
	body := `{"url":"` + r.URL + `/a","events":["pix.received"]}`
	status, first, _ := w.post("/webhooks", body, key, "k")
	again, replay, header := w.post("/webhooks", body, key, "k")
	if status != 200 || again != 200 || first != replay || header.Get("X-Idempotent-Replay") != "true" || !strings.Contains(first, `"secret":"whsec_`) {
		t.Errorf("%d %s, again %d %s", status, first, again, replay)
	}
	var h hook
	if err := json.Unmarshal([]byte(first), &h); err != nil {
		t.Fatal(err)
	}
	for range 19 {
		w.hooks(r.URL+"/b", `"pix.completed"`)
	}
	if status, got, _ := w.post("/webhooks", body); status != 422 || !strings.Contains(got, "20 webhooks") {
		t.Errorf("the 21st: %d %s", status, got)
	}
	if status, got := w.get("/webhooks"); status != 200 || strings.Count(got, `"whk_`) != 20 || strings.Contains(got, "secret") || strings.Contains(got, "whsec") {
		t.Errorf("%d %s", status, got)
	}
	w.receives(1000, "")
	w.becomes("delivered", soon, func() bool { return len(w.deliveries(h.ID, "?status=delivered")) == 1 })
	event := w.deliveries(h.ID, "?status=delivered")[0].Event
	unknown := pix.NewSubscriptionID(77, 1, [4]byte{}).String()
	for _, id := range []string{h.ID, unknown, "x", "whk_" + strings.Repeat("a", 26)} {
		a, b := stranger.all(id, event), stranger.all(unknown, event)
		if a != b || strings.Count(a, "404 {") != 3 {
			t.Errorf("a stranger is answered %s, about an unknown one %s", a, b)
		}
	}
	w.retries(r, h, event)
	if status, _ := w.remove(h.ID); status != 200 {
		t.Error(status)
	}
	if status, _ := w.remove(h.ID); status != 404 {
		t.Error("removed twice:", status)
	}
	if a := w.all(h.ID, event); strings.Count(a, "404 {") != 2 || !strings.HasPrefix(a, `200 {"worked":true,"data":[]`) {
		t.Errorf("of a removed one: %s", a) // its deliveries stay readable; none of them waits
	}
	w.hooks(r.URL+"/c", `"pix.completed"`) // there is room again
	w.permissions()
}

// all returns the answers to the three requests about one webhook.
func (w *harness) all(id, event string) string {
	status, got := w.get("/webhooks/" + id + "/deliveries")
	code, body, _ := w.post("/webhooks/"+id+"/deliveries/"+event+"/retry", `{}`)
	removed, why := w.remove(id)
	return fmt.Sprintln(status, got, code, body, removed, why)
}

// retries puts a delivered event back in line, and checks what is refused.
func (w *harness) retries(r *merchantServer, h hook, event string) {
	w.t.Helper()
	path := "/webhooks/" + h.ID + "/deliveries/" + event + "/retry"
	n := len(r.all("/a"))
	for range 2 { // the second one is a replay
		status, got, _ := w.post(path, `{}`, "Idempotency-Key", "retry")
		if status != 202 || got != `{"worked":true,"event_id":"`+event+`","status":"pending"}` {
			w.t.Errorf("%d %s", status, got)
		}
	}
	w.becomes("sent again", soon, func() bool { return len(r.all("/a")) == n+1 })
	w.becomes("acknowledged", soon, func() bool {
		all := w.deliveries(h.ID, "?status=delivered")
		return len(all) == 1 && len(all[0].Attempts) == 2
	})
	if all := r.all("/a"); all[0].ID != event || all[n].ID != event || len(all) != n+1 {
		w.t.Errorf("%+v", all)
	}
	status, got, _ := w.send("POST", "http://"+w.MerchantAddr.String()+"/api/external"+path, "{}",
		"Authorization", "ApiKey "+w.Key+":"+w.Sec, "Content-Type", "application/json")
	if status != 401 || !strings.Contains(got, "Missing HMAC header") {
		w.t.Errorf("unsigned: %d %s", status, got)
	}
	for _, id := range []string{"x", "evt_" + strings.Repeat("a", 26), otherHash(event)} {
		if status, got, _ := w.post("/webhooks/"+h.ID+"/deliveries/"+id+"/retry", `{}`); status != 404 || got != `{"errors":{"not_found":"delivery not found"}}` {
			w.t.Errorf("%s: %d %s", id, status, got)
		}
	}
}

// otherHash returns the id of no event, with the sequence of an event.
func otherHash(event string) string {
	id, _ := pix.ParseEventID(event)
	id[0] ^= 1
	return id.String()
}

// permissions checks which permission each request about webhooks needs.
func (w *harness) permissions() {
	w.t.Helper()
	for permission, other := range map[string]string{"account:read": "account:write", "account:write": "account:read"} {
		m := *w
		m.made("/admin/accounts/"+w.ID+"/api-keys", `{"permissions":["`+permission+`"],"ip_whitelist":["127.0.0.1"]}`)
		refused := `{"error":"forbidden","message":"API key lacks permission: ` + other + `"}`
		answers := map[string]string{}
		note := func(need string, status int, got string) { answers[fmt.Sprint(need, status, got == refused)] = got }
		status, got := m.get("/webhooks")
		note("account:read", status, got)
		status, got = m.get("/webhooks/x/deliveries")
		note("account:read", status, got)
		status, got, _ = m.post("/webhooks", `{}`)
		note("account:write", status, got)
		status, got = m.remove("x")
		note("account:write", status, got)
		status, got, _ = m.post("/webhooks/x/deliveries/y/retry", `{}`)
		note("account:write", status, got)
		for is := range answers {
			if strings.HasPrefix(is, other) != strings.HasSuffix(is, "403 true") {
				w.t.Errorf("with %s: %v", permission, answers)
			}
		}
	}
}

// TestWebhookGone checks that a receiver that answers 410 gets nothing more, and that its
// webhook is listed as inactive.
func TestWebhookGone(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	r.status.Store(http.StatusGone)
	w.receives(1000, "")
	w.becomes("stopped", soon, func() bool { _, got := w.get("/webhooks"); return strings.Contains(got, `"active":false`) })
	r.status.Store(200)
	w.receives(1000, "")
	dead := w.deliveries(h.ID, "?status=dead")
	if len(dead) != 1 || *dead[0].Attempts[0].Status != 410 || len(w.deliveries(h.ID, "")) != 0 || len(r.all("/a")) != 1 {
		t.Errorf("%+v", dead)
	}
	if status, got, _ := w.post("/webhooks/"+h.ID+"/deliveries/"+dead[0].Event+"/retry", `{}`); status != 422 || !strings.Contains(got, "stopped") {
		t.Errorf("%d %s", status, got)
	}
	if status, got := w.operate("POST", "/admin/webhooks/"+h.ID+"/retry", ""); status != 409 {
		t.Errorf("%d %s", status, got)
	}
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// TestVerifyDeliveries checks that a verification finds rows of deliveries that are missing or
// that say something else than their record.
func TestVerifyDeliveries(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	disk := vfs.NewCrashableMem()
	w := newHarness(t, disk, insecure)
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	w.receives(1000, "")
	w.becomes("delivered", soon, func() bool { return len(w.deliveries(h.ID, "?status=delivered")) == 1 })
	r.status.Store(500)
	w.receives(1000, "")
	w.becomes("tried", soon, func() bool { all := w.deliveries(h.ID, ""); return len(all) == 1 && len(all[0].Attempts) == 1 })
	hold := make(chan struct{})
	r.hold.Store(&hold)
	w.receives(1000, "")
	kept := after(disk).(*vfs.MemFS)
	close(hold)
	w.stop()
	if err := verifyOn(kept); err != nil {
		t.Fatal(err)
	}
	id, _ := pix.ParseSubscriptionID(h.ID)
	of := layout.Target{Account: id.Account(), Number: id.Number()}
	s := openJournal(t, kept.CrashClone(vfs.CrashCloneCfg{}))
	var waiting [2][]byte // the row of the event that was not tried, and of the one that was
	lo, hi := layout.PendingOf(of)
	_ = s.Scan(lo, hi, func(k, v []byte) (bool, error) {
		p, err := layout.DecodePending(k, v)
		waiting[p.Tries] = p.Key()
		return true, err
	})
	status := func(state layout.DeliveryState, sequence uint64) (key []byte, d *layout.DeliveryStatus) {
		key = layout.DeliveryKey(of, state, sequence)
		v, ok, err := s.Get(key)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if d, err = layout.DecodeDeliveryStatus(v); err != nil {
			t.Fatal(err)
		}
		return key, d
	}
	ended, past := status(layout.DeliveryDelivered, 1)
	tried, next := status(layout.DeliveryPending, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	past.Record++
	moved := *next
	moved.Due++
	for want, op := range map[string]wal.Op{
		"pending delivery row":              {Kind: wal.OpDelete, Key: waiting[0]},
		"is missing, and record":            {Kind: wal.OpDelete, Key: ended},
		"names record":                      {Kind: wal.OpSet, Key: ended, Value: past.Encode()},
		"says that an attempt is due":       {Kind: wal.OpDelete, Key: waiting[1]},
		"is missing, and record 5":          {Kind: wal.OpDelete, Key: tried},
		"is there, and no record makes it":  {Kind: wal.OpSet, Key: layout.PendingKey(of, next.Due, 99), Value: (&layout.Pending{Record: 5}).Value()},
		"is not what the delivery's status": {Kind: wal.OpSet, Key: tried, Value: moved.Encode()},
		"the delivery is delivered":         {Kind: wal.OpSet, Key: layout.DeliveryKey(of, layout.DeliveryDelivered, 5), Value: (&layout.DeliveryStatus{Record: 5}).Encode()},
		"the delivery is dead":              {Kind: wal.OpSet, Key: layout.DeliveryKey(of, layout.DeliveryDead, 3), Value: (&layout.DeliveryStatus{Record: 4}).Encode()},
	} {
		changed := kept.CrashClone(vfs.CrashCloneCfg{})
		s := openJournal(t, changed)
		if err := errors.Join(s.WriteRows(wal.Local, op), s.Close()); err != nil {
			t.Fatal(err)
		}
		if err := verifyOn(changed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
