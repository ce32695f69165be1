package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// patch is a signed PATCH of the webhook.
func patch(s *ledger.Subscription, body string) sent {
	return sent{method: "PATCH", path: hooksPath + "/" + s.ID.String(), body: body}
}

// TestChangeWebhook checks PATCH /webhooks/:id: what the command has of each body, the answer in both cases of keys,
// the refusals, and that it passes the checks of a POST but the one about idempotency.
func TestChangeWebhook(t *testing.T) {
	f, w, s := hookFixture(t)
	f.engine.answer = ledger.Answer{Subscription: s}
	want := `{"worked":true,"id":"` + s.ID.String() + `","url":"https://a.example/x?y=1&z","events":["pix.received","pix.completed"],"active":true,"created_at":"2026-09-21T14:13:20.000Z"}`
	url, events := "https://b.example/", pix.EventMask(0).With(pix.EventReceived)
	for body, c := range map[string]ledger.ChangeSubscription{
		`{}`:                                   {},
		`{"url":"https://b.example/"}`:         {URL: &url},
		`{"events":["pix.received"]}`:          {Events: &events},
		`{"active":false}`:                     {Active: new(false)},
		`{"active":true}`:                      {Active: new(true)},
		`{"active":null,"url":null,"other":1}`: {},
		`{"active":false,"events":["pix.received"],"url":"https://b.example/"}`: {URL: &url, Events: &events, Active: new(false)},
	} {
		w.url, c.ID = "", s.ID
		f.expect(patch(s, body), 200, want)
		if !reflect.DeepEqual(f.engine.command, c) || (w.url != "") != (c.URL != nil) {
			t.Errorf("%s: %+v, checked %q", body, f.engine.command, w.url)
		}
	}
	f.expect(camelCased(patch(s, `{"active":true}`)), 200, strings.Replace(want, "created_at", "createdAt", 1))
	keyed := patch(s, `{}`)
	keyed.headers = []string{"Idempotency-Key", strings.Repeat("k", 300)}
	g := f.send(keyed)
	if g.status != 200 || g.header("Idempotency-Key") != "" {
		t.Errorf("with an Idempotency-Key: %+v", g)
	}
	n := len(f.engine.all)
	for body, want := range map[string]string{
		`{"url":7}`:               `"url":["url must be a string"]`,
		`{"url":""}`:              `"url":["url must be a string"]`,
		`{"events":[]}`:           `"events":["events must be a list of at least one kind of event"]`,
		`{"events":["pix.test"]}`: `"events":["unknown kind of event \"pix.test\""]`,
		`{"active":"true"}`:       `"active":["active must be true or false"]`,
		`{"active":0}`:            `"active":["active must be true or false"]`,
	} {
		f.expect(patch(s, body), 400, `{"worked":false,"errors":{"bad_request":{`+want+`}}}`)
	}
	unsigned, typeless := patch(s, `{}`), patch(s, `{}`)
	unsigned.headers, typeless.headers = []string{"hmac", "-"}, []string{"Content-Type", "-"}
	f.expect(unsigned, 401, shape3("Missing HMAC header"))
	f.expect(typeless, 415, `{"error":{"status":415,…`)
	f.closed = "the disk is full"
	f.expect(patch(s, `{}`), 503, shape1("503", "the disk is full"))
	f.closed = ""
	w.bad = errors.New("https only")
	f.expect(patch(s, `{"url":"http://b.example/"}`), 400, `{"worked":false,"errors":{"bad_request":{"url":["https only"]}}}`)
	w.bad = fmt.Errorf("look-up: %w", ledger.ErrBusy)
	f.expect(patch(s, `{"url":"https://b.example/"}`), 503, shape1("503", "too much work is waiting"))
	if len(f.engine.all) != n {
		t.Errorf("%d commands of requests that were refused", len(f.engine.all)-n)
	}
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseUnknownSubscription, Message: "webhook not found"}}
	f.expect(patch(s, `{}`), 404, `{"worked":false,"errors":{"not_found":"webhook not found"}}`)
	f.engine.err = errRows
	f.expect(patch(s, `{}`), 500, shape1("500", "internal error"))
}

// TestRotateSecret checks POST /webhooks/:id/rotate-secret.
func TestRotateSecret(t *testing.T) {
	f, _, s := hookFixture(t)
	s.Former = []ledger.FormerSecret{{Secret: bytes.Repeat([]byte{6}, 32), Until: testNow + 5}, {Secret: bytes.Repeat([]byte{5}, 32), Until: testNow + 9}}
	f.engine.answer = ledger.Answer{Subscription: s}
	r := sent{path: hooksPath + "/" + s.ID.String() + "/rotate-secret", body: `{}`, headers: []string{"Idempotency-Key", "k"}}
	want := `{"worked":true,"id":"` + s.ID.String() + `","url":"https://a.example/x?y=1&z","events":["pix.received","pix.completed"],"active":true,"secret":"` +
		s.Shown() + `","previous_secret_expires_at":"2026-09-21T14:13:20.009Z","created_at":"2026-09-21T14:13:20.000Z"}`
	f.expect(r, 200, want)
	if c, ok := f.engine.command.(ledger.RotateSecret); !ok || c.ID != s.ID || !bytes.Equal(c.Secret, bytes.Repeat([]byte{7}, 32)) || c.Claim == nil {
		t.Errorf("%+v", f.engine.command)
	}
	f.expect(camelCased(r), 200, strings.NewReplacer("created_at", "createdAt", "previous_secret_expires_at", "previousSecretExpiresAt").Replace(want))
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseTooManySecrets, Message: "at most 3"}}
	f.expect(r, 422, `{"worked":false,"errors":{"unprocessable_entity":"at most 3"}}`)
}

// TestTestWebhook checks POST /webhooks/:id/test.
func TestTestWebhook(t *testing.T) {
	f, _, s := hookFixture(t)
	e := ledger.Event{ID: pix.EventID{15: 9}, Kind: pix.EventTest, Sequence: 9}
	f.engine.answer = ledger.Answer{Subscription: s, Event: &e}
	r := sent{path: hooksPath + "/" + s.ID.String() + "/test", body: `{}`}
	want := `{"worked":true,"event_id":"` + e.ID.String() + `","type":"pix.test","status":"pending"}`
	f.expect(r, 202, want)
	if c, ok := f.engine.command.(ledger.TestSubscription); !ok || c.ID != s.ID || c.Claim != nil {
		t.Errorf("%+v", f.engine.command)
	}
	f.expect(camelCased(r), 202, strings.Replace(want, "event_id", "eventId", 1))
	f.engine.answer = ledger.Answer{Refusal: &ledger.Refusal{Code: ledger.RefuseStoppedSubscription, Message: "the webhook is stopped"}}
	f.expect(r, 422, `{"worked":false,"errors":{"unprocessable_entity":"the webhook is stopped"}}`)
}
