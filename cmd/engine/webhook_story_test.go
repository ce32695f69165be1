package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestWebhooks checks webhooks over HTTP, from the subscription to the receiver: each event
// arrives once, signed and numbered among all events of the account, and nothing else arrives.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	before := w.receives(1000, "") // events 1 and 2: nobody subscribes to them
	const path = "/all//a/../b?x=%2F&y="
	all, some := w.hooks(r.URL+path, allKinds), w.hooks(r.URL+"/some", `"pix.refund.completed","pix.refund.completed"`)
	p := w.receives(100_000, "")
	w.spends(500)
	rejected := w.paidOut(`{"amount":500,"pix_key":"reject-ac03@pix.test"}`)
	w.becoming(rejected.TransactionID, "rejected")
	w.made("/admin/accounts/"+w.ID+"/credits", `{"amount":30000,"type":"ted"}`)
	w.made("/admin/accounts/"+w.ID+"/credits", `{"amount":30000,"type":"internal"}`)
	if status, got := w.cashOut(`{"amount":500,"pix_key":"not-found@pix.test"}`); status != 400 {
		t.Errorf("%d %s", status, got)
	}
	back := w.taken(`"amount":100,`, p.ID)
	w.ends(back.TransactionID, "settled")
	_, k := w.reports(p, 5000)
	w.analysed(k.ID, "DISAGREED")
	want := []string{
		"pix.received", "pix.completed", "pix.payout.confirmed", "pix.completed", "pix.payout.rejected",
		"pix.refund.completed", "pix.refund.requested", "pix.med.closed",
	}
	w.arrives(r, "/all", len(want))
	w.becomes("all acknowledged", soon, func() bool { return len(w.deliveries(all.ID, "?status=delivered")) == len(want) })
	got := r.all("/all")
	if len(got) != len(want) {
		t.Errorf("%d webhooks arrived", len(got))
	}
	for n, p := range got[:len(want)] {
		if p.signed(t, all.Secret); p.Type != want[n] || p.Number != n+3 || p.Of != w.ID || p.URI != path || !strings.HasPrefix(p.ID, "evt_") || !strings.HasSuffix(p.At, "Z") || p.Data[0] != '{' {
			t.Errorf("webhook %d: %+v %s", n, p, p.Body)
		}
		if strings.Contains(string(p.Body), before.ID) {
			t.Errorf("an event from before: %s", p.Body)
		}
	}
	w.arrives(r, "/some", 1)
	if one := r.all("/some"); len(one) != 1 || one[0].ID != got[5].ID || string(one[0].Body) != string(got[5].Body) || one[0].Number != 8 {
		t.Errorf("%+v", one)
	} else {
		one[0].signed(t, some.Secret)
	}
	if status, got := w.remove(all.ID); status != 200 || got != `{"worked":true,"id":"`+all.ID+`"}` {
		t.Errorf("%d %s", status, got)
	}
	w.receives(1000, "")
	w.taken("", before.ID)
	w.arrives(r, "/some", 2)
	if n := len(r.all("/all")); n != len(want) {
		t.Errorf("%d webhooks although it was removed", n-len(want))
	}
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// TestWebhookOutage checks a receiver that is down for an hour, an engine that is started again
// meanwhile, and that everything arrives afterwards with all attempts listed.
func TestWebhookOutage(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	c := newClocks()
	r.clock = c
	fs := vfs.NewMem()
	settings := func(o *Config) { insecure(o); o.Clocks = c.sources() }
	w := newHarness(t, fs, settings)
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	r.status.Store(500)
	for range 3 {
		w.receives(1000, "")
	}
	tried := func(n int) func() bool {
		return func() bool {
			all := w.deliveries(h.ID, "")
			return len(all) == 3 && !slices.ContainsFunc(all, func(d delivered) bool { return len(d.Attempts) < n || d.Next == nil || d.Status != "pending" })
		}
	}
	w.becomes("tried", soon, tried(1))
	c.pass(7 * time.Second)
	w.becomes("tried again", soon, tried(2))
	w.stop()
	w = w.at(serveHarness(t, fs, settings))
	w.becomes("still known", soon, tried(2))
	c.pass(60 * time.Second)
	time.Sleep(200 * time.Millisecond)
	if n := len(r.all("/a")); n != 6 { // the third attempt is due after five minutes: the schedule goes on
		t.Errorf("%d attempts", n)
	}
	c.pass(7 * time.Minute)
	w.becomes("tried a third time", soon, tried(3))
	r.status.Store(200)
	c.pass(time.Hour)
	w.becomes("delivered", 8*time.Second, func() bool { return len(w.deliveries(h.ID, "?status=delivered")) == 3 })
	for n, d := range w.deliveries(h.ID, "?status=delivered") {
		if len(d.Attempts) != 4 || *d.Attempts[0].Status != 500 || *d.Attempts[3].Status != 200 || d.Next != nil || d.Sequence != 5-2*n {
			t.Errorf("%+v", d)
		}
	}
	ids := map[string]int{}
	for _, p := range r.all("/a") {
		ids[p.ID]++
	}
	if len(ids) != 3 || len(r.all("/a")) != 12 {
		t.Errorf("%v", ids)
	}
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// TestWebhookAfterClockAhead starts an engine whose clock is hours ahead, sets the clock right and
// starts it again: records are still stamped hours ahead, and a webhook states the right time, or
// its receiver would refuse it.
func TestWebhookAfterClockAhead(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	c := newClocks()
	r.clock = c
	c.wall.Store((3 * time.Hour).Milliseconds())
	fs := vfs.NewMem()
	settings := func(o *Config) { insecure(o); o.Clocks = c.sources() }
	w := newHarness(t, fs, settings)
	w.hooks(r.URL+"/a", `"pix.received"`)
	w.receives(1000, "")
	w.arrives(r, "/a", 1)
	w.stop()
	c.wall.Store(0)
	w = w.at(serveHarness(t, fs, settings))
	if at := w.Served.Engine.Clock.Read(); at.Time-at.Clock < 3_500_000 {
		t.Fatalf("stamps are not ahead of the clock: %+v", at)
	}
	w.receives(1000, "")
	w.arrives(r, "/a", 2)
}

// TestWebhooksOutliveACut cuts the power while events are on their way, and checks that none is
// lost, and that none comes again whose acknowledgement was durable.
func TestWebhooksOutliveACut(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	disk := vfs.NewCrashableMem()
	w := newHarness(t, disk, insecure)
	h := w.hooks(r.URL+"/a", `"pix.received"`)
	for round := range 4 {
		var last item
		for range 5 {
			last = w.receives(1000, "")
		}
		if round%2 == 0 {
			w.becomes("acknowledged", soon, func() bool { return len(w.deliveries(h.ID, "?status=delivered")) == 5*(round+1) })
		}
		kept := after(disk).(*vfs.MemFS)
		w.stop()
		disk = kept
		seen := len(r.all("/a"))
		w = w.at(serveHarness(t, disk, insecure))
		w.becomes("acknowledged", soon, func() bool { return len(w.deliveries(h.ID, "?status=delivered&per_page=100")) == 5*(round+1) })
		if again := len(r.all("/a")) - seen; round%2 == 0 && again != 0 {
			t.Errorf("%d events came again", again)
		}
		if n := len(r.numbers("/a")); n != 5*(round+1) {
			t.Errorf("%d of %d events arrived, the last of %s", n, 5*(round+1), last.ID)
		}
	}
	if err := verifyAtRest(w, disk); err != nil {
		t.Error(err)
	}
}

// TestWebhookOperators checks the operator's lists in pages of each size: each webhook and each
// delivery comes exactly once, whatever became of it.
func TestWebhookOperators(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure, func(c *Config) { c.WebhookRetries = nil })
	other := w.another()
	var ids []string
	for _, m := range []*harness{w, w, other, other} {
		ids = append(ids, m.hooks(r.URL+"/a", `"pix.received","pix.completed"`).ID)
	}
	ended := func(status int, state string, n int) {
		r.status.Store(int64(status))
		w.receives(1000, "")
		other.receives(1000, "")
		for i, id := range ids {
			w.becomes(state, soon, func() bool { return len([]*harness{w, other}[i/2].deliveries(id, "?status="+state)) == n })
		}
	}
	ended(200, "delivered", 2)
	ended(500, "dead", 2)
	walk := func(query string) (all []string) {
		cursor := ""
		for calls := 0; ; calls++ {
			var l struct {
				Data []struct{ ID, Status string }
				Next *string `json:"next_cursor"`
			}
			status, got := w.operate("GET", query+cursor, "")
			if status != 200 || json.Unmarshal([]byte(got), &l) != nil || calls > 50 {
				t.Fatalf("%s: %d %s", query+cursor, status, got)
			}
			for _, d := range l.Data {
				all = append(all, d.ID+d.Status)
			}
			if l.Next == nil {
				return all
			}
			cursor = "&cursor=" + *l.Next
		}
	}
	once := func(query string, want int) {
		t.Helper()
		for _, limit := range []int{1, 2, 3, 7, 100} {
			got := walk(fmt.Sprintf("%s&limit=%d", query, limit))
			if unique := slices.Compact(slices.Sorted(slices.Values(got))); len(got) != want || len(unique) != want {
				t.Errorf("%s by %d: %v", query, limit, got)
			}
		}
	}
	lists := func(pending, delivered, dead int) {
		t.Helper()
		const all = "/admin/webhook-deliveries?"
		sum := pending + delivered + dead
		once(all, 4*sum)
		once(all+"account_id="+other.ID, 2*sum)
		once(all+"webhook_id="+ids[1], sum)
		once(all+"status=dead", 4*dead)
		once(all+"status=delivered", 4*delivered)
		once(all+"status=pending&account_id="+w.ID, 2*pending)
		once("/admin/webhooks?", 4)
		once("/admin/webhooks?account_id="+other.ID, 2)
	}
	lists(0, 2, 2)
	w.pendingToo(r, other, ids, lists)
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}

// pendingToo makes deliveries wait for a receiver that does not answer, and compares the lists.
func (w *harness) pendingToo(r *merchantServer, other *harness, ids []string, lists func(pending, delivered, dead int)) {
	w.t.Helper()
	hold := make(chan struct{})
	r.hold.Store(&hold)
	r.status.Store(200)
	w.receives(1000, "")
	other.receives(1000, "")
	lists(2, 2, 2)
	close(hold)
	for i, id := range ids {
		w.becomes("delivered", soon, func() bool { return len([]*harness{w, other}[i/2].deliveries(id, "?status=delivered")) == 4 })
	}
	for n, id := range ids {
		status, got := w.operate("POST", "/admin/webhooks/"+id+"/retry", "")
		if status != 202 || got != `{"webhook_id":"`+id+`","retried":2}` {
			w.t.Errorf("%d: %d %s", n, status, got)
		}
		w.becomes("delivered", soon, func() bool { return len([]*harness{w, other}[n/2].deliveries(id, "?status=delivered")) == 6 })
	}
	lists(0, 6, 0)
}
