package notices

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
)

const (
	noon    = pix.Millis(1_793_275_200_000)
	settled = `{"kind":"payment_settled","transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E1"}`
)

// harness serves notices to a feed that the test sets.
type harness struct {
	t      testing.TB
	secret provider.Secret
	serve  fasthttp.RequestHandler
	feed   scheme.Feed
	taken  int
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	secret, err := provider.NewSecret("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	w := &harness{t: t, secret: secret, feed: func(_ scheme.Notice, done func(error)) { done(nil) }}
	w.serve = New(Options{
		Guard: provider.NewGuard(secret, provider.ToEngine, func() pix.Millis { return noon }, nil),
		Feed:  func(n scheme.Notice, done func(error)) { w.taken++; w.feed(n, done) },
		Wait:  20 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	return w
}

// bring sends a notice in a message with the given id, and checks the answer's signature.
func (w *harness) bring(id, body string) (int, string) {
	w.t.Helper()
	m := provider.Message{Direction: provider.ToEngine, Method: "POST", Path: provider.PathNotices, Timestamp: noon.String(), ID: id, Body: []byte(body)}
	ctx := w.send(m, w.secret.Sign(m))
	m.Direction, m.Status, m.Body = provider.ToEngine+"-answer", ctx.Response.StatusCode(), ctx.Response.Body()
	m.Timestamp = string(ctx.Response.Header.Peek(provider.HeaderTimestamp))
	if _, err := w.secret.Verify(m, string(ctx.Response.Header.Peek(provider.HeaderSignature)), noon); err != nil {
		w.t.Errorf("the answer %d %s: %v", m.Status, m.Body, err)
	}
	return m.Status, string(m.Body)
}

func (w *harness) send(m provider.Message, signature string) *fasthttp.RequestCtx {
	var r fasthttp.Request
	r.Header.SetMethod(m.Method)
	r.SetRequestURI(m.Path)
	r.Header.Set(provider.HeaderTimestamp, m.Timestamp)
	r.Header.Set(provider.HeaderMessageID, m.ID)
	r.Header.Set(provider.HeaderSignature, signature)
	r.SetBody(m.Body)
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&r, nil, nil)
	w.serve(ctx)
	return ctx
}

func (w *harness) expect(id, body string, status int, says string) {
	w.t.Helper()
	if got, answer := w.bring(id, body); got != status || !strings.Contains(answer, says) {
		w.t.Errorf("%s: %d %s, want %d %s", id, got, answer, status, says)
	}
}

// TestAcknowledges checks that a notice is acknowledged only once it is durable, and that a
// repeat of the same message has no effect.
func TestAcknowledges(t *testing.T) {
	w := newHarness(t)
	w.feed = func(_ scheme.Notice, done func(error)) { done(errors.New("not now")) }
	w.expect("a", settled, 503, "not taken")
	w.feed = func(_ scheme.Notice, done func(error)) { done(nil) }
	w.expect("a", settled, 200, "{}")
	w.expect("a", settled, 200, `{"known":true}`)
	if w.taken != 2 {
		t.Errorf("taken %d times", w.taken)
	}
	w.expect("b", settled, 200, "{}") // the same notice under another message id counts as a new message
	if w.taken != 3 {
		t.Errorf("taken %d times", w.taken)
	}
}

// TestRefusesForGood checks that a payment which the feed refuses for good is refused, and that a
// repeat of the same message is refused again and not taken for acknowledged.
func TestRefusesForGood(t *testing.T) {
	w := newHarness(t)
	w.feed = func(_ scheme.Notice, done func(error)) { done(fmt.Errorf("wrapped: %w", scheme.ErrNoPayee)) }
	const keyless = `{"kind":"payment_arrived","end_to_end_id":"E6070119020260301120000000000001","arrived":{"amount":5,"payer":{"name":"","document":"","ispb":""}}}`
	for range 2 {
		if status, answer := w.bring("a", keyless); status != 422 || answer != `{"refusal":"unknown_key"}` {
			t.Errorf("%d %s", status, answer)
		}
	}
	w.feed = func(_ scheme.Notice, done func(error)) { done(nil) }
	w.expect("a", keyless, 200, "{}")
}

// TestWaits checks that an answer waits for the notice's effect for at most Wait, and that a
// repeat is not acknowledged while the first copy is being handled.
func TestWaits(t *testing.T) {
	w := newHarness(t)
	var late func(error)
	w.feed = func(_ scheme.Notice, done func(error)) { late = done }
	w.expect("a", settled, 503, "not durable yet")
	w.expect("a", settled, 503, "being worked on")
	if w.taken != 1 {
		t.Errorf("taken %d times", w.taken)
	}
	late(nil)
	w.expect("a", settled, 200, `{"known":true}`)
	w.expect("b", settled, 503, "not durable yet")
	late(errors.New("lost"))
	w.expect("b", settled, 503, "not durable yet") // the message is handled again, because its first copy failed
	if w.taken != 3 {
		t.Errorf("taken %d times", w.taken)
	}
}

const report = `"end_to_end_id":"E9999900320261029120000000000001","infraction_id":"i-1"`

// TestTakesReturns checks that a notice of a return reaches the feed with all its fields.
func TestTakesReturns(t *testing.T) {
	w := newHarness(t)
	var got scheme.Notice
	w.feed = func(n scheme.Notice, done func(error)) { got = n; done(nil) }
	w.expect("a", `{"kind":"return_received","transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"E1",`+
		`"return_id":"D9999900520261029120100000000003","amount":40,"reason":"MD06"}`, 200, "{}")
	if got.Kind != scheme.ReturnReceived || got.Amount != 40 || got.ReturnID != "D9999900520261029120100000000003" || got.Reason != "MD06" {
		t.Errorf("%+v", got)
	}
}

// TestTakesRefunds checks that the notices of a refund's settlement and rejection reach the
// feed with all their fields.
func TestTakesRefunds(t *testing.T) {
	w := newHarness(t)
	var got scheme.Notice
	w.feed = func(n scheme.Notice, done func(error)) { got = n; done(nil) }
	const ids = `"transaction_id":"01a1fe44-4219-700c-8000-000000000000","end_to_end_id":"D9999900420261029120100000000003"`
	tx, _ := pix.ParseTxID("01a1fe44-4219-700c-8000-000000000000")
	want := scheme.Notice{Kind: scheme.RefundSettled, Tx: tx, EndToEnd: "D9999900420261029120100000000003", Account: 7}
	w.expect("a", `{"kind":"return_settled",`+ids+`,"account_id":"`+pix.AccountID(7).String()+`"}`, 200, "{}")
	if got != want {
		t.Errorf("%+v", got)
	}
	want.Kind, want.Account, want.Reason = scheme.RefundRejected, 0, "DT05"
	w.expect("b", `{"kind":"return_rejected",`+ids+`,"reason":"DT05"}`, 200, "{}")
	if got != want {
		t.Errorf("%+v", got)
	}
	w.feed = func(_ scheme.Notice, done func(error)) { done(errors.New("a kind that is not taken")) }
	w.expect("c", `{"kind":"return_settled",`+ids+`}`, 503, "not taken")
}

// TestTakesInfractions checks that a payer's report and its withdrawal reach the feed with all
// their fields.
func TestTakesInfractions(t *testing.T) {
	w := newHarness(t)
	var got scheme.Notice
	w.feed = func(n scheme.Notice, done func(error)) { got = n; done(nil) }
	w.expect("a", `{"kind":"infraction_opened",`+report+`,"amount":5,"situation":"SCAM"}`, 200, "{}")
	want := scheme.Notice{Kind: scheme.InfractionOpened, EndToEnd: "E9999900320261029120000000000001", Infraction: "i-1", Amount: 5, Situation: "SCAM"}
	if got != want {
		t.Errorf("%+v", got)
	}
	w.expect("b", `{"kind":"infraction_cancelled",`+report+`}`, 200, "{}")
	want.Kind, want.Amount, want.Situation = scheme.InfractionCancelled, 0, ""
	if got != want {
		t.Errorf("%+v", got)
	}
	w.feed = func(_ scheme.Notice, done func(error)) { done(errors.New("names a payment that was not received")) }
	w.expect("c", `{"kind":"infraction_opened",`+report+`,"amount":5,"situation":"SCAM"}`, 503, "not taken")
}

// TestRefuses checks that a notice which cannot be read, or is of an unknown kind, is refused each time it is sent, because its message id is not remembered.
func TestRefuses(t *testing.T) {
	w := newHarness(t)
	for range 2 {
		w.expect("a", `{"kind":"moon_risen","moon_id":"D1"}`, 422, `unknown kind of notice: \"moon_risen\"`)
		w.expect("f", `{"kind":"infraction_opened",`+report+`,"amount":5,"situation":"RAIN"}`, 400, "situation")
		w.expect("g", `{"kind":"return_received","return_id":"D1"}`, 400, "transaction_id")
		w.expect("h", `{"kind":"return_settled","end_to_end_id":"D1"}`, 400, "transaction_id")
		w.expect("b", `{"kind":"payment_settled"}`, 400, "transaction_id")
		w.expect("c", `{`, 400, "")
	}
	if w.taken != 0 {
		t.Errorf("taken %d times", w.taken)
	}
}

// TestRefusesQuietly checks that notices of an unknown kind, which the scheme sends again for
// ever, do not fill the log.
func TestRefusesQuietly(t *testing.T) {
	var log strings.Builder
	s := &service{Options: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	take := func(body string) {
		if _, _, err := s.acknowledge([]byte(body), func(bool) {}); err == nil {
			t.Error("taken")
		}
	}
	for range 150 {
		take(`{"kind":"moon_risen","moon_id":"D1"}`)
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("%d lines", n)
	}
	take("{")
	if n := strings.Count(log.String(), "\n"); n != 3 {
		t.Errorf("%d lines with one that cannot be read", n)
	}
}

// TestUnsigned checks that a message without a valid signature, path, method or length is
// not taken, and that its answer is not signed.
func TestUnsigned(t *testing.T) {
	w := newHarness(t)
	good := provider.Message{Direction: provider.ToEngine, Method: "POST", Path: provider.PathNotices, Timestamp: noon.String(), ID: "a", Body: []byte(settled)}
	for what, c := range map[string]struct {
		status int
		alter  func(m *provider.Message) string
	}{
		"no signature":     {401, func(*provider.Message) string { return "" }},
		"no id":            {401, func(m *provider.Message) string { m.ID = ""; return w.secret.Sign(*m) }},
		"an old one":       {401, func(m *provider.Message) string { m.Timestamp = (noon - 300_001).String(); return w.secret.Sign(*m) }},
		"one to come":      {401, func(m *provider.Message) string { m.Timestamp = (noon + 300_001).String(); return w.secret.Sign(*m) }},
		"to the scheme":    {401, func(m *provider.Message) string { m.Direction = provider.ToScheme; return w.secret.Sign(*m) }},
		"an answer":        {401, func(m *provider.Message) string { m.Direction += "-answer"; return w.secret.Sign(*m) }},
		"another body":     {401, func(m *provider.Message) string { s := w.secret.Sign(*m); m.Body = []byte("{}"); return s }},
		"another query":    {401, func(m *provider.Message) string { s := w.secret.Sign(*m); m.Path += "?x"; return s }},
		"another path":     {404, func(m *provider.Message) string { m.Path += "/x"; return w.secret.Sign(*m) }},
		"another method":   {405, func(m *provider.Message) string { m.Method = "GET"; return w.secret.Sign(*m) }},
		"too long a thing": {413, func(m *provider.Message) string { m.Body = make([]byte, provider.MaxBody+1); return w.secret.Sign(*m) }},
	} {
		m := good
		signature := c.alter(&m)
		ctx := w.send(m, signature)
		if ctx.Response.StatusCode() != c.status || len(ctx.Response.Header.Peek(provider.HeaderSignature)) != 0 || w.taken != 0 {
			t.Errorf("%s: %d %s", what, ctx.Response.StatusCode(), ctx.Response.Body())
		}
	}
}

// TestPanics checks that the connection is cut when handling a message panics, and that the
// message may come again.
func TestPanics(t *testing.T) {
	w := newHarness(t)
	w.feed = func(scheme.Notice, func(error)) { panic("ouch") }
	m := provider.Message{Direction: provider.ToEngine, Method: "POST", Path: provider.PathNotices, Timestamp: noon.String(), ID: "a", Body: []byte(settled)}
	if ctx := w.send(m, w.secret.Sign(m)); !ctx.Hijacked() {
		t.Error("it was answered")
	}
	w.feed = func(_ scheme.Notice, done func(error)) { done(nil) }
	w.expect("a", settled, 200, "{}")
}

// TestManyAtOnce checks that a notice is refused while as many others are being handled as may be:
// openShare that name its account, or openAtOnce in all; and that those of one account are in
// nobody else's way.
func TestManyAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		of    []pix.AccountID // whose notices are open, openShare of each
		taken bool
	}{
		"its own":         {[]pix.AccountID{0}, false},
		"another's":       {[]pix.AccountID{7}, true},
		"three others'":   {[]pix.AccountID{7, 8, 9}, true},
		"of all together": {[]pix.AccountID{6, 7, 8, 9}, false},
	} {
		taken := 0
		s := &service{Options: Options{
			Wait: time.Second, Open: NewInProgress(), Log: slog.New(slog.DiscardHandler),
			Feed: func(_ scheme.Notice, done func(error)) { taken++; done(nil) },
		}}
		for _, a := range c.of {
			for range openShare {
				if err := s.Open.Take(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
		}
		ended := ""
		_, _, err := s.acknowledge([]byte(settled), func(acknowledged bool) { ended = fmt.Sprint(acknowledged) })
		if (err == nil) != c.taken || ended != fmt.Sprint(c.taken) || (taken == 1) != c.taken || s.Open.Counts().InUse != len(c.of)*openShare {
			t.Errorf("%s: %v, ended %s, %+v", name, err, ended, s.Open.Counts())
		}
	}
}

// TestCountedByWhose checks that a notice that names no account counts among those of the account
// that it is about, from its beginning to its end.
func TestCountedByWhose(t *testing.T) {
	var late func(error)
	s := &service{Options: Options{
		Wait: time.Millisecond, Open: NewInProgress(), Log: slog.New(slog.DiscardHandler),
		Feed: func(_ scheme.Notice, done func(error)) { late = done }, Whose: func(scheme.Notice) pix.AccountID { return 7 },
	}}
	for range openShare - 1 {
		if err := s.Open.Take(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
	}
	take := func() error {
		_, _, err := s.acknowledge([]byte(settled), func(bool) {})
		return err
	}
	_ = take() // its effect is not durable in time, and it stays open
	if late == nil || s.Open.Counts().InUse != openShare {
		t.Fatalf("%+v", s.Open.Counts())
	}
	if last := late; take() == nil || last == nil || s.Open.Take(t.Context(), 0) != nil {
		t.Error("one more of the account was taken, or none of another")
	}
	late(nil)
	if s.Open.Counts().InUse != openShare {
		t.Errorf("%+v", s.Open.Counts())
	}
}

// TestRefusedAreNotOnTheirWay checks that a notice which the feed has refused is no longer
// counted among the notices that are being handled.
func TestRefusedAreNotOnTheirWay(t *testing.T) {
	s := &service{Options: Options{
		Wait: time.Second, Open: NewInProgress(), Log: slog.New(slog.DiscardHandler), Feed: func(_ scheme.Notice, done func(error)) { done(errors.New("not now")) },
	}}
	for range 3 {
		if _, _, err := s.acknowledge([]byte(settled), func(bool) {}); err == nil {
			t.Error("acknowledged")
		}
	}
	if n := s.Open.Counts().InUse; n != 0 {
		t.Errorf("%d on their way", n)
	}
}
