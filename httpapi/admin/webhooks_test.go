package admin

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// fakeWebhooks gives the error that a test sets, and keeps what it was asked.
type fakeWebhooks struct {
	err   error
	asked []layout.DeliveryID
}

func (w *fakeWebhooks) Retry(t layout.Target, e ledger.Event) error {
	w.asked = append(w.asked, layout.DeliveryID{Target: t, Sequence: e.Sequence})
	return w.err
}

func (w *fakeWebhooks) RetryAll(t layout.Target) (int, error) {
	w.asked = append(w.asked, layout.DeliveryID{Target: t})
	return 7, w.err
}

// hooked makes an account with a webhook, and causes two events for it.
func (f *fixture) hooked(n int) *ledger.Subscription {
	f.t.Helper()
	a, _ := pix.ParseAccountID(f.account())
	f.now++
	got, err := f.options.Engine.Do(a, ledger.Subscribe{URL: "https://a.example/x", Events: pix.EventMask(0).With(pix.EventReceived).With(pix.EventCompleted), Secret: make([]byte, 32)})
	if err != nil || got.Subscription == nil {
		f.t.Fatalf("%+v %v", got, err)
	}
	f.now++
	c := ledger.ReceivePayment{EndToEnd: pix.EndToEnd("60701190", f.now, "0000000000"+string(rune('0'+n))), Amount: 1000, Key: "k"}
	if got, err := f.options.Engine.Do(a, c); err != nil || got.Refusal != nil {
		f.t.Fatalf("%+v %v", got, err)
	}
	return got.Subscription
}

// TestWebhooks checks the operator's requests about webhooks and their deliveries, and input
// that is refused.
func TestWebhooks(t *testing.T) {
	f, w := newFixture(t), &fakeWebhooks{}
	f.options.Webhooks = w
	f.handler = New(f.options)
	const hooks, deliveries = "/admin/webhooks", "/admin/webhook-deliveries"
	f.expect("GET", hooks, "", 200, `{"data":[],"next_cursor":null}`)
	f.expect("GET", deliveries, "", 200, `{"data":[],"next_cursor":null}`)
	one, two := f.hooked(1), f.hooked(2)
	of := func(s *ledger.Subscription) string { return s.ID.Account().String() }
	row := `{"id":"` + two.ID.String() + `","account_id":"` + of(two) + `","url":"https://a.example/x","events":["pix.received","pix.completed"],"active":true,"removed":false,"created_at":"` +
		two.CreatedAt.String() + `","pending":2,"dead":0}`
	f.expect("GET", hooks+"?account_id="+of(two), "", 200, `{"data":[`+row+`],"next_cursor":null}`)
	first := layout.DeliveryID{Target: layout.Target{Account: two.ID.Account(), Number: 1}, Sequence: 1}
	shown := f.expect("GET", deliveries+"/"+first.String(), "", 200, `{"id":"`+first.String()+`","account_id":"`+of(two)+`","webhook_id":"`+two.ID.String()+`","event_id":"evt_…`)
	if !strings.Contains(shown, `"type":"pix.received","sequence":1,"status":"pending","reason":null,"created_at":"`) || !strings.HasSuffix(shown, `"attempts":[]}`) {
		t.Error(shown)
	}
	f.expect("POST", deliveries+"/"+first.String()+"/retry", "", 202, shown)
	f.expect("POST", hooks+"/"+two.ID.String()+"/retry", "", 202, `{"webhook_id":"`+two.ID.String()+`","retried":7}`)
	if len(w.asked) != 2 || w.asked[0] != first || w.asked[1].Target != first.Target {
		t.Errorf("%+v", w.asked)
	}
	for err, status := range map[error]int{layout.ErrNoDelivery: 404, layout.ErrSubscriptionEnded: 409, ledger.ErrBusy: 503, ledger.ErrWaited: 503, errors.New("no disk"): 500} {
		w.err = err
		for _, path := range []string{deliveries + "/" + first.String(), hooks + "/" + two.ID.String()} {
			f.expect("POST", path+"/retry", "", status, `{"error":{…`)
		}
	}
	f.badWebhooks(one, two)
}

// TestChangeWebhook checks that an operator stops a webhook and lets it go on, as its merchant may,
// and what is refused.
func TestChangeWebhook(t *testing.T) {
	f := newFixture(t)
	k := f.hooked(1)
	path := "/admin/webhooks/" + k.ID.String()
	listed := func(active string) string {
		t.Helper()
		page := f.expect("GET", "/admin/webhooks", "", 200, `{"data":[{"id":"`+k.ID.String()+`",…`)
		row := strings.TrimSuffix(strings.TrimPrefix(page, `{"data":[`), `],"next_cursor":null}`)
		if !strings.Contains(row, `"active":`+active+`,"removed":false`) {
			t.Errorf("want active %s: %s", active, row)
		}
		return row
	}
	was := listed("true")
	stopped := strings.Replace(was, `"active":true`, `"active":false`, 1)
	for range 2 { // the second time changes nothing
		f.expect("PATCH", path, `{"active":false}`, 200, stopped)
	}
	f.now++
	c := ledger.ReceivePayment{EndToEnd: pix.EndToEnd("60701190", f.now, "00000000009"), Amount: 1000, Key: "k"}
	if got, err := f.options.Engine.Do(k.ID.Account(), c); err != nil || got.Refusal != nil {
		t.Fatalf("%+v %v", got, err)
	}
	if got := listed("false"); got != stopped { // no delivery was made
		t.Errorf("%s\nwant %s", got, stopped)
	}
	f.expect("PATCH", path, `{"active":true}`, 200, was)
	listed("true")
	f.expect("PATCH", path, `{"active":true,"url":"https://b.example"}`, 400, `{"error":{"status":400,…`)
	f.expect("PATCH", path, `{}`, 400, problem(400, "active is required"))
	f.expect("PATCH", path, `{"active":null}`, 400, problem(400, "active must not be null"))
	f.expect("PATCH", path, `{"active":"no"}`, 400, problem(400, "active must be true or false"))
	other := k.ID
	other[15] ^= 1
	for _, id := range []string{"x", other.String()} {
		f.expect("PATCH", "/admin/webhooks/"+id, `{"active":true}`, 404, problem(404, `no webhook \"`+id+`\"`))
	}
	listed("true")
	if got, err := f.options.Engine.Do(k.ID.Account(), ledger.EndSubscription{ID: k.ID}); err != nil || got.Refusal != nil {
		t.Fatalf("%+v %v", got, err)
	}
	f.expect("PATCH", path, `{"active":true}`, 409, problem(409, "the webhook was removed"))
	f.options.Engine = removedEngine{}
	f.options.History = richHistory{f.options.History} // to it no webhook is removed
	f.handler = New(f.options)
	id := pix.NewSubscriptionID(7, 3, [4]byte{1}).String()
	f.expect("PATCH", "/admin/webhooks/"+id, `{"active":true}`, 404, problem(404, "webhook not found"))
}

// damagedHistory is a history in which a subscription is damaged, and what waits for it.
type damagedHistory struct{ richHistory }

func (damagedHistory) Subscription(layout.Target) (*ledger.Subscription, error) {
	return nil, fmt.Errorf("history: %w: it is", layout.ErrDamaged)
}

func (damagedHistory) Backlog(layout.Target) (pending, dead uint64, err error) {
	return 0, 0, layout.ErrDamaged
}

// TestDamagedLeftOut checks that a list is answered though an entry is damaged, and says how many it leaves out.
func TestDamagedLeftOut(t *testing.T) {
	f := newFixture(t)
	f.options.History = damagedHistory{richHistory{f.options.History}}
	f.handler = New(f.options)
	f.expect("GET", "/admin/webhook-deliveries", "", 200, `{"data":[],"next_cursor":"01","damaged":3}`)
	f.expect("GET", "/admin/webhooks", "", 200, `{"data":[],"next_cursor":"01","damaged":2}`)
}

// removedEngine is an engine to which the webhook was removed a moment ago.
type removedEngine struct{}

func (removedEngine) Do(pix.AccountID, ledger.Command) (ledger.Answer, error) {
	return ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseUnknownSubscription, Message: "webhook not found"}}, nil
}

// badWebhooks checks unknown names, and parameters that are refused.
func (f *fixture) badWebhooks(one, two *ledger.Subscription) {
	const hooks, deliveries = "/admin/webhooks", "/admin/webhook-deliveries"
	other := one.ID
	other[15] ^= 1
	gone := layout.DeliveryID{Target: layout.Target{Account: two.ID.Account(), Number: 1}, Sequence: 99}
	for _, id := range []string{"x", other.String(), pix.NewSubscriptionID(77, 1, [4]byte{}).String()} {
		f.expect("GET", deliveries+"?webhook_id="+id, "", 404, problem(404, `no webhook \"`+id+`\"`))
		f.expect("POST", hooks+"/"+id+"/retry", "", 404, problem(404, `no webhook \"`+id+`\"`))
	}
	for _, id := range []string{"x", gone.String(), gone.String() + "a"} {
		f.expect("GET", deliveries+"/"+id, "", 404, problem(404, `no delivery \"`+id+`\"`))
		f.expect("POST", deliveries+"/"+id+"/retry", "", 404, problem(404, `no delivery \"`+id+`\"`))
	}
	f.expect("GET", deliveries+"?account_id="+one.ID.Account().String()+"&webhook_id="+two.ID.String(), "", 404, `{"error":{…`)
	for _, list := range []string{hooks, deliveries} {
		f.expect("GET", list+"?account_id=acc_nobody", "", 404, `{"error":{…`)
		f.expect("GET", list+"?limit=x", "", 400, `{"error":{…`)
		for _, cursor := range []string{"x", "zz", "00", "7070", hex.EncodeToString([]byte("a row of another kind, and long"))} {
			f.expect("GET", list+"?cursor="+cursor, "", 400, problem(400, "cursor must be a next_cursor of this list"))
		}
	}
	f.expect("GET", deliveries+"?status=open", "", 400, problem(400, "status must be pending, delivered or dead"))
	for _, of := range []string{"", "&account_id=" + two.ID.Account().String()} { // a cursor of another account's list leads to nothing outside this one
		for _, k := range [][]byte{layout.PendingKey(layout.Target{Account: 1, Number: 1}, 0, 0), layout.PendingKey(layout.Target{Account: 1 << 62, Number: 1}, 0, 0)} {
			got := f.expect("GET", deliveries+"?cursor="+hex.EncodeToString(k)+of, "", 200, `{"data":[…`)
			if of != "" && strings.Contains(got, one.ID.String()) {
				f.t.Error(got)
			}
		}
		got := f.expect("GET", hooks+"?cursor="+hex.EncodeToString(layout.SubscriptionKey(1, 1))+of, "", 200, `{"data":[…`)
		if of != "" && strings.Contains(got, one.ID.String()) {
			f.t.Error(got)
		}
	}
}
