package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
)

// receivedPath begins the paths, below Path, at which a session receives webhooks. What follows is what nobody can guess.
const receivedPath = "/sandbox/received/"

const (
	// mostReceived is how many webhooks a session keeps; the oldest one goes first.
	mostReceived = 50
	// mostReceivedBytes is the longest webhook that is taken, in bytes.
	mostReceivedBytes = 64 << 10
)

// receiver is a webhook subscription that leads to a session.
type receiver struct {
	id, account string
	random      string // the end of its path
	secret      string // as the merchant API has shown it: whsec_ and base64
	came        int    // webhooks so far
	events      []received
}

// received is a webhook that has come. The key with which it was signed stays with the receiver.
type received struct {
	N                   int // counts from 1
	At                  pix.Millis
	ID, Time, Signature string // its headers
	Body                string
	Computed            string // the signature of what has come; empty: the secret cannot be read
}

// Signed is the text of which the signature is computed.
func (r received) Signed() string { return r.ID + "." + r.Time + "." + r.Body }

// Right reports whether a signature of the header is the one that was computed. After a change of the secret there are several.
func (r received) Right() bool {
	return r.Computed != "" && slices.ContainsFunc(strings.Fields(r.Signature), func(one string) bool {
		return subtle.ConstantTimeCompare([]byte(one), []byte(r.Computed)) == 1
	})
}

// Kind is the kind of the event; empty: the body says none.
func (r received) Kind() string {
	var e struct{ Type string }
	if json.Unmarshal([]byte(r.Body), &e) != nil {
		return ""
	}
	return e.Type
}

// Came is when it has come, as the operator API writes instants.
func (r received) Came() string { return r.At.String() }

// signatureOf computes the signature of a webhook under a subscription's secret.
func signatureOf(secret, text string) string {
	encoded, is := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !is || err != nil || len(key) == 0 {
		return ""
	}
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(text))
	return "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))
}

// receive is POST /console/sandbox/received/{random}: a webhook for a session comes. Nobody logs in for it.
func (c *console) receive(ctx *fasthttp.RequestCtx) {
	random, _ := ctx.UserValue("random").(string)
	one := c.sessions.receiving(random)
	if one == nil {
		refuse(ctx, fasthttp.StatusNotFound, "not found")
		return
	}
	body := ctx.PostBody()
	if len(body) > mostReceivedBytes {
		refuse(ctx, fasthttp.StatusRequestEntityTooLarge, "the webhook is larger than 64 KiB")
		return
	}
	h := &ctx.Request.Header
	r := received{
		At: c.Tokens.Now(), ID: clipped(h.Peek("webhook-id")), Time: clipped(h.Peek("webhook-timestamp")),
		Signature: clipped(h.Peek("webhook-signature")), Body: string(body),
	}
	if !one.sandbox.take(random, r) {
		refuse(ctx, fasthttp.StatusNotFound, "not found")
		return
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

// clipped is a header of at most 512 bytes.
func clipped(header []byte) string { return string(header[:min(len(header), 512)]) }

// receiving returns the session that receives at a path; nil: none does.
func (s *sessions) receiving(random string) *session {
	s.mu.Lock()
	all := slices.Clone(*s.all)
	s.mu.Unlock()
	for _, one := range all {
		if !one.sandbox.receives(random) {
			continue
		}
		if _, ok, _ := s.tokens.Of(one.token); ok && s.tokens.Now() < one.until {
			return one
		}
	}
	return nil
}

// receives reports whether a webhook at a path is for this session.
func (s *sandbox) receives(random string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hook != nil && subtle.ConstantTimeCompare([]byte(s.hook.random), []byte(random)) == 1
}

// take keeps a webhook, unless the subscription was removed meanwhile.
func (s *sandbox) take(random string, r received) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook == nil || s.hook.random != random {
		return false
	}
	s.hook.came++
	r.N, r.Computed = s.hook.came, signatureOf(s.hook.secret, r.Signed())
	if s.hook.events = append(s.hook.events, r); len(s.hook.events) > mostReceived {
		s.hook.events = slices.Delete(s.hook.events, 0, 1)
	}
	return true
}

// receivedPage is what the page of received webhooks shows.
type receivedPage struct {
	ID, Account string // of the subscription; empty: there is none
	Events      []received
	One         *received       // that is looked at; nil: none is
	Left        []admin.Webhook // subscriptions that lead to a console of a session that has ended, or to another operator's
	Refused     *tried          // the merchant API's refusal
}

// showReceived shows the webhooks that have come, and how each is signed.
func showReceived(v *visit) error {
	var p receivedPage
	s := &v.one.sandbox
	s.mu.Lock()
	if s.hook != nil {
		p.ID, p.Account, p.Events = s.hook.id, s.hook.account, slices.Clone(s.hook.events)
	}
	s.mu.Unlock()
	slices.Reverse(p.Events)
	if i := slices.IndexFunc(p.Events, func(r received) bool { return strconv.Itoa(r.N) == v.Arg("event") }); i >= 0 {
		p.One = &p.Events[i]
	}
	if done := v.arg("done"); done != "" {
		p.Refused = s.newest("", done)
	}
	if name := v.chosen(); name != "" {
		var l list[admin.Webhook]
		if err := v.get("/admin/webhooks?limit=200&account_id="+url.QueryEscape(name), &l); err != nil {
			v.Problem = v.failed(err).Problem
		}
		for _, w := range l.Data {
			if w.ID != p.ID && !w.Removed && strings.Contains(w.URL, Path+receivedPath) {
				p.Left = append(p.Left, w)
			}
		}
	}
	v.Data = &p
	return nil
}

// kindsReceived are the kinds of event that the receiver gets: all that merchants can subscribe to.
func kindsReceived() (all []string) {
	for _, k := range pix.EventKinds() {
		all = append(all, k.String())
	}
	return all
}

// subscribed reports whether a webhook leads to this session.
func (s *sandbox) subscribed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hook != nil
}

// ownURL is a URL at which this process itself reaches the operator listener. The browser may know it by another port, as
// at the end of a tunnel. Under TLS the name is the one that the browser used, which the certificate has.
func (v *visit) ownURL(random string) string {
	protocol, host := "http", string(v.ctx.Host())
	if tcp, is := v.Listener.(*net.TCPAddr); is {
		name, port := tcp.IP.String(), strconv.Itoa(tcp.Port)
		switch {
		case v.Secure:
			name = (&url.URL{Host: host}).Hostname()
		case tcp.IP.IsUnspecified():
			name = "127.0.0.1"
		}
		host = net.JoinHostPort(name, port)
	}
	if v.Secure {
		protocol = "https"
	}
	return protocol + "://" + host + Path + receivedPath + random
}

// refusedHook keeps the merchant API's refusal for the page.
func (v *visit) refusedHook(status int, answer []byte) outcome {
	v.one.sandbox.remember(tried{Key: v.key, Page: "sandbox_webhook", Status: status, Body: laidOut(answer)})
	return outcome{Problem: v.Lang.say("hook_refused", status)}
}

// subscribeOwn has the account subscribe to webhooks that come to this session.
func subscribeOwn(v *visit) outcome {
	if o, unsure := v.unsure(); unsure {
		return o
	}
	account, s := v.chosen(), &v.one.sandbox
	if account == "" {
		return outcome{Problem: v.Lang.say("field_wrong", v.Lang.say("account"))}
	}
	if s.subscribed() {
		return outcome{Problem: v.Lang.say("hook_busy")}
	}
	random := v.sessions.random(32)
	status, answer, err := v.asMerchant(account, fasthttp.MethodPost, "/webhooks", map[string]any{"url": v.ownURL(random), "events": kindsReceived()})
	if err != nil {
		return v.failed(err)
	}
	if status >= fasthttp.StatusMultipleChoices {
		return v.refusedHook(status, answer)
	}
	var made struct{ ID, Secret string }
	if err := json.Unmarshal(answer, &made); err != nil {
		return v.failed(fmt.Errorf("console: the answer to POST /webhooks: %w", err))
	}
	s.mu.Lock()
	s.hook = &receiver{id: made.ID, account: account, random: random, secret: made.Secret}
	s.mu.Unlock()
	return v.did(nil, "hook_made")
}

// unsubscribeOwn removes a subscription of the account again.
func unsubscribeOwn(v *visit) outcome {
	id, account, s := v.field("webhook"), v.chosen(), &v.one.sandbox
	status, answer, err := v.asMerchant(account, fasthttp.MethodDelete, "/webhooks/"+url.PathEscape(id), nil)
	if err != nil {
		return v.failed(err)
	}
	if status >= fasthttp.StatusMultipleChoices && status != fasthttp.StatusNotFound {
		return v.refusedHook(status, answer)
	}
	s.mu.Lock()
	if s.hook != nil && s.hook.id == id {
		s.hook = nil
	}
	s.mu.Unlock()
	return v.did(nil, "hook_removed")
}
