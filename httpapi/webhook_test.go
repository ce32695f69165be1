package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// fakeWebhooks gives the errors that a test sets, and keeps what it was asked.
type fakeWebhooks struct {
	bad, err error
	account  pix.AccountID
	url      string
	target   layout.Target
	event    pix.EventID
	retries  int
}

func (w *fakeWebhooks) Check(_ context.Context, id pix.AccountID, url string) error {
	w.account, w.url = id, url
	return w.bad
}

func (w *fakeWebhooks) Retry(t layout.Target, e pix.EventID) error {
	w.target, w.event = t, e
	w.retries++
	return w.err
}

// hookFixture is a fixture with one webhook.
func hookFixture(t *testing.T) (*fixture, *fakeWebhooks, *ledger.Subscription) {
	f, w := newFixture(t), &fakeWebhooks{}
	o := f.options()
	o.Webhooks, o.NewSecret = w, func(n int) []byte { return bytes.Repeat([]byte{7}, n) }
	f.handler = New(o)
	s := &ledger.Subscription{
		ID: pix.NewSubscriptionID(merchant, 3, [4]byte{1}), URL: "https://a.example/x?y=1&z", Secret: bytes.Repeat([]byte{7}, 32),
		Events: pix.EventMask(0).With(pix.EventCompleted).With(pix.EventReceived), Status: ledger.SubscriptionActive, CreatedAt: testNow,
	}
	f.lists.subscriptions = []*ledger.Subscription{s}
	return f, w, s
}

const (
	hooksPath = base + "/webhooks"
	hookBody  = `{"url":"https://a.example/x?y=1&z","events":["pix.completed","pix.received","pix.completed"]}`
)

// TestSubscribe checks POST /webhooks: the command, the answer, and every refusal.
func TestSubscribe(t *testing.T) {
	f, w, s := hookFixture(t)
	f.engine.answer = ledger.Answer{Subscription: s}
	want := `{"worked":true,"id":"` + s.ID.String() + `","url":"https://a.example/x?y=1&z","events":["pix.received","pix.completed"],"active":true,"secret":"` +
		s.Shown() + `","created_at":"2026-09-21T14:13:20.000Z"}`
	f.expect(sent{path: hooksPath, body: hookBody}, 200, want)
	c, ok := f.engine.command.(ledger.Subscribe)
	if !ok || c.URL != s.URL || c.Events != s.Events || !bytes.Equal(c.Secret, s.Secret) || c.Claim != nil || w.url != s.URL || f.engine.account != merchant {
		t.Errorf("%+v", f.engine.command)
	}
	g := f.expect(camelCased(sent{path: hooksPath, body: hookBody}), 200, strings.Replace(want, "created_at", "createdAt", 1))
	if bad := underscored(t, g.body); bad != nil {
		t.Error(bad)
	}
	f.expect(sent{path: hooksPath, body: hookBody, headers: []string{"Idempotency-Key", "k"}}, 200, want)
	if c, _ := f.engine.command.(ledger.Subscribe); c.Claim == nil {
		t.Error("no claim")
	}
	n := len(f.engine.all)
	const isURL = `"url":["url must be a string"]`
	const isList = `"events":["events must be a list of at least one kind of event"]`
	for body, want := range map[string]string{
		`{}`:                                                isURL,
		`{"url":7,"events":["pix.received"]}`:               isURL,
		`{"url":null,"events":["pix.received"]}`:            isURL,
		`{"url":"","events":["pix.received"]}`:              isURL,
		`{"url":["a"],"events":["pix.received"]}`:           isURL,
		`{"url":"https://a"}`:                               isList,
		`{"url":"https://a","events":[]}`:                   isList,
		`{"url":"https://a","events":null}`:                 isList,
		`{"url":"https://a","events":"pix.received"}`:       isList,
		`{"url":"https://a","events":{"pix.received":1}}`:   isList,
		`{"url":"https://a","events":["pix.received",7]}`:   `"events":["events must be a list of strings"]`,
		`{"url":"https://a","events":[null]}`:               `"events":[…`,
		`{"url":"https://a","events":["pix.received","*"]}`: `"events":["unknown kind of event \"*\""]`,
		`{"url":"https://a","events":["PIX.received"]}`:     `"events":["unknown kind of event \"PIX.received\""]`,
		`{"url":"https://a","events":[""]}`:                 `"events":["unknown kind of event \"\""]`,
	} {
		want = `{"worked":false,"errors":{"bad_request":{` + want
		if !strings.HasSuffix(want, "…") {
			want += "}}}"
		}
		f.expect(sent{path: hooksPath, body: body}, 400, want)
	}
	w.bad = errors.New("url must be nice")
	f.expect(sent{path: hooksPath, body: hookBody}, 400, `{"worked":false,"errors":{"bad_request":{"url":["url must be nice"]}}}`)
	if len(f.engine.all) != n {
		t.Errorf("%d commands for bad bodies", len(f.engine.all)-n)
	}
	w.bad = fmt.Errorf("look-up: %w", ledger.ErrBusy)
	if g := f.expect(sent{path: hooksPath, body: hookBody}, 503, shape1("503", "too much work is waiting")); g.header("Retry-After") != "1" {
		t.Errorf("Retry-After %q", g.header("Retry-After"))
	}
	if len(f.engine.all) != n || w.account != merchant {
		t.Errorf("%d commands without a look-up; asked for %v", len(f.engine.all)-n, w.account)
	}
	w.bad = nil
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseTooManySubscriptions, Message: "at most 20"}}
	f.expect(sent{path: hooksPath, body: hookBody}, 422, `{"worked":false,"errors":{"unprocessable_entity":"at most 20"}}`)
}

// TestListWebhooks checks GET and DELETE of webhooks.
func TestListWebhooks(t *testing.T) {
	f, _, s := hookFixture(t)
	stopped := *s
	stopped.ID, stopped.Status = pix.NewSubscriptionID(merchant, 4, [4]byte{2}), ledger.SubscriptionStopped
	other := *s
	other.ID = pix.NewSubscriptionID(merchant, 5, [4]byte{3}) // it was removed: the head has it no more
	f.lists.subscriptions = append(f.lists.subscriptions, &stopped, &other)
	f.engine.answer = ledger.Answer{Head: &ledger.Account{Subscriptions: []ledger.Subscribed{{Number: 3}, {Number: 4}}}}
	one := func(s *ledger.Subscription, active string) string {
		return `{"id":"` + s.ID.String() + `","url":"https://a.example/x?y=1&z","events":["pix.received","pix.completed"],"active":` + active + `,"created_at":"2026-09-21T14:13:20.000Z"}`
	}
	want := `{"worked":true,"data":[` + one(s, "true") + `,` + one(&stopped, "false") + `]}`
	f.expect(sent{method: "GET", path: hooksPath}, 200, want)
	f.expect(camelCased(sent{method: "GET", path: hooksPath}), 200, strings.ReplaceAll(want, "created_at", "createdAt"))
	f.engine.answer = ledger.Answer{Head: &ledger.Account{}}
	f.expect(sent{method: "GET", path: hooksPath}, 200, `{"worked":true,"data":[]}`)
	f.engine.answer = ledger.Answer{}
	f.expect(sent{method: "GET", path: hooksPath}, 500, `{"error":{"status":500,"message":"internal error"}}`)
	f.expect(sent{method: "DELETE", path: hooksPath + "/" + s.ID.String()}, 200, `{"worked":true,"id":"`+s.ID.String()+`"}`)
	if c, _ := f.engine.command.(ledger.EndSubscription); c.ID != s.ID || c.Stop {
		t.Errorf("%+v", f.engine.command)
	}
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseUnknownSubscription, Message: "webhook not found"}}
	gone := f.send(sent{method: "DELETE", path: hooksPath + "/nonsense"})
	if c, _ := f.engine.command.(ledger.EndSubscription); gone.status != 404 || c.ID != (pix.SubscriptionID{}) || !strings.Contains(gone.body, `"not_found":"webhook not found"`) {
		t.Errorf("%+v, %+v", gone, c)
	}
	f.lists.err, f.engine.err = errRows, errRows
	for _, method := range []string{"GET", "DELETE"} {
		path := map[string]string{"GET": hooksPath, "DELETE": hooksPath + "/x"}[method]
		if g := f.send(sent{method: method, path: path}); g.status < 500 {
			t.Errorf("%s: %+v", method, g)
		}
	}
}

// deliveryItem is a delivery of the webhook with one attempt that had no answer, and one that had.
func deliveryItem(s *ledger.Subscription, state layout.DeliveryState) ledger.DeliveryItem {
	d := ledger.DeliveryItem{Target: layout.Target{Account: merchant, Number: s.ID.Number()}, State: state}
	d.Event = ledger.Event{ID: pix.EventID{15: 9}, Kind: pix.EventCompleted, Sequence: 9}
	d.Status = &layout.DeliveryStatus{CreatedAt: testNow, Attempts: []layout.Attempt{{At: testNow, Took: 15, Err: "no answer"}, {At: testNow + 1, Status: 503}}}
	if state == layout.DeliveryPending {
		d.Status.Due = testNow + 2
	}
	return d
}

// TestListDeliveries checks every byte of a delivery, and the parameters.
func TestListDeliveries(t *testing.T) {
	f, _, s := hookFixture(t)
	path := hooksPath + "/" + s.ID.String() + "/deliveries"
	for state, next := range map[layout.DeliveryState]string{
		layout.DeliveryPending: `"2026-09-21T14:13:20.002Z"`, layout.DeliveryDead: "null", layout.DeliveryDelivered: "null",
	} {
		f.lists.deliveries = []ledger.DeliveryItem{deliveryItem(s, state)}
		want := `{"worked":true,"data":[{"event_id":"` + f.lists.deliveries[0].Event.ID.String() + `","type":"pix.completed","sequence":9,"status":"` + state.String() +
			`","created_at":"2026-09-21T14:13:20.000Z","next_attempt_at":` + next +
			`,"attempts":[{"at":"2026-09-21T14:13:20.000Z","status_code":null,"error":"no answer","duration_ms":15},{"at":"2026-09-21T14:13:20.001Z","status_code":503,"error":null,"duration_ms":0}]}],"page":2,"per_page":7}`
		f.expect(sent{method: "GET", path: path + "?page=2&per_page=7&status=" + state.String()}, 200, want)
		if f.lists.state != state || f.lists.target != f.lists.deliveries[0].Target || f.lists.page != (layout.Page{Number: 2, Size: 7}) {
			t.Errorf("%+v", f.lists)
		}
		g := f.expect(camelCased(sent{method: "GET", path: path + "?page=2&per_page=7&status=" + state.String()}), 200, `{"worked":true,…`)
		if bad := underscored(t, g.body); bad != nil || turnedBack(t, g.body) != turnedBack(t, want) {
			t.Errorf("%v %s", bad, g.body)
		}
	}
	s.Status = ledger.SubscriptionRemoved
	f.expect(sent{method: "GET", path: path}, 200, `{"worked":true,…`) // they stay readable when the webhook is removed
	if f.lists.state != layout.DeliveryPending || f.lists.page.Size != 20 {
		t.Errorf("without parameters: %+v", f.lists)
	}
	for _, query := range []string{"?status=open", "?status=", "?page=0", "?per_page=0", "?page=x"} {
		if g := f.send(sent{method: "GET", path: path + query}); g.status != 400 {
			t.Errorf("%s: %+v", query, g)
		}
	}
	for _, id := range []string{"x", pix.NewSubscriptionID(merchant, 4, [4]byte{1}).String(), pix.NewSubscriptionID(merchant, 3, [4]byte{2}).String(), pix.NewSubscriptionID(dormant, 3, [4]byte{1}).String()} {
		f.expect(sent{method: "GET", path: hooksPath + "/" + id + "/deliveries"}, 404, `{"errors":{"not_found":"webhook not found"}}`)
	}
}

// TestRetryDelivery checks POST …/retry, with and without an idempotency key.
func TestRetryDelivery(t *testing.T) {
	f, w, s := hookFixture(t)
	id := deliveryItem(s, layout.DeliveryDead).Event.ID
	r := sent{path: hooksPath + "/" + s.ID.String() + "/deliveries/" + id.String() + "/retry", body: `{}`}
	want := `{"worked":true,"event_id":"` + id.String() + `","status":"pending"}`
	f.expect(r, 202, want)
	if w.event != id || w.target != (layout.Target{Account: merchant, Number: 3}) || w.retries != 1 || len(f.engine.all) != 0 {
		t.Errorf("%+v, %v", w, f.engine.all)
	}
	f.expect(camelCased(r), 202, strings.Replace(want, "event_id", "eventId", 1))
	keyed := r
	keyed.headers = []string{"Idempotency-Key", "k"}
	f.engine.answer, f.madeUp = ledger.Answer{Stored: &ledger.Stored{Code: 202, Body: []byte(`{"kept":1}`)}, Replay: true}, true
	if f.expect(keyed, 202, `{"kept":1}`); w.retries != 2 {
		t.Error("a replay puts the delivery back in line")
	}
	f.madeUp = false
	for err, status := range map[error]int{layout.ErrNoDelivery: 404, layout.ErrSubscriptionEnded: 422, errRows: 500} {
		w.err = err
		if g := f.send(r); g.status != status && (status != 500 || g.status < 500) {
			t.Errorf("%v: %+v", err, g)
		}
	}
	for _, path := range []string{"/" + s.ID.String() + "/deliveries/x/retry", "/x/deliveries/" + id.String() + "/retry"} {
		if g := f.send(sent{path: hooksPath + path, body: `{}`}); g.status != 404 {
			t.Errorf("%s: %+v", path, g)
		}
	}
	f.expect(sent{path: r.path, body: `{}`, headers: []string{"hmac", "-"}}, 401, `{"worked":false,…`)
	s.Status = ledger.SubscriptionRemoved
	f.expect(r, 404, `{"errors":{"not_found":"webhook not found"}}`)
	if w.retries != 5 {
		t.Errorf("%d retries", w.retries)
	}
}
