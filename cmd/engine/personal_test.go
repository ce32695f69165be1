package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/cmd/journal"
	"pixd/httpapi/signed"
)

// The person in these tests: a name, a CPF with and without punctuation, how the person's phone
// numbers begin, and the local parts of e-mail addresses.
const (
	personName  = "Maria Souza Lima"
	personCPF   = "98765432100"
	personCPFed = "987.654.321-00"
	personPhone = "119876501"
	personMail  = "maria.lima"
)

var personal = []string{personName, "Souza", personCPF[:9], personCPFed, personPhone, personMail}

// namesNobody checks that a text has nothing of the person in it.
func namesNobody(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if i := strings.Index(text, word); i >= 0 {
			t.Errorf("%s: %q stands in …%s…", what, word, text[max(0, i-150):min(len(text), i+50)])
		}
	}
}

// heard is a log that a test reads while it is written.
type heard struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

// Write implements io.Writer.
func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lines.Write(b)
}

// String returns what was written.
func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lines.String()
}

// post sends a signed message of any content to the engine.
func (o *otherSide) post(w *harness, body string) (status int, answer string) {
	o.t.Helper()
	m := provider.Message{
		Direction: provider.ToEngine, Method: http.MethodPost, Path: provider.PathNotices, ID: uuid.NewString(), Timestamp: now().String(), Body: []byte(body),
	}
	status, answer, _ = w.send(m.Method, "http://"+w.AdminAddr.String()+m.Path, body,
		provider.HeaderTimestamp, m.Timestamp, provider.HeaderMessageID, m.ID, provider.HeaderSignature, o.secret.Sign(m))
	return status, answer
}

// talkative returns the ways in which a provider may name a person where it should not.
func talkative(o *otherSide) map[string]fasthttp.RequestHandler {
	owner := map[string]any{"name": personName, "document": personCPF, "ispb": "99999005"}
	sign := func(status int, value any) fasthttp.RequestHandler {
		return signed.Handle(provider.NewGuard(o.secret, provider.ToScheme, now, nil), slog.New(slog.DiscardHandler), func(_ []byte, end func(bool)) (int, any, error) {
			end(false)
			return status, value, nil
		})
	}
	unsigned := func(kind, body string) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType(kind)
			ctx.SetBodyString(body)
		}
	}
	raw := func(head string) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(c net.Conn) { _, _ = c.Write([]byte(head)) })
		}
	}
	return map[string]fasthttp.RequestHandler{
		"unsigned":                    unsigned("application/json", `{"owner":{"name":"`+personName+`","document":"`+personCPF+`"}}`),
		"unsigned, of a strange type": unsigned(personName+" "+personCPF, personCPFed),
		"a refusal that is none":      sign(422, map[string]any{"refusal": personName + " " + personCPF}),
		"a code that is a document":   sign(422, map[string]any{"refusal": personCPFed}),
		"a failure":                   sign(500, map[string]any{"error": owner}),
		"a field of another type":     sign(200, map[string]any{"owner": personCPF, "state": owner, "known": personCPF, "participants": personName}),
		"a number":                    sign(200, map[string]any{"owner": json.RawMessage(personCPF), "known": json.RawMessage(personCPF), "participants": json.RawMessage(personCPF)}),
		"a book of people": sign(200, map[string]any{
			"participants": []any{map[string]any{"ispb": personCPF}}, "accounts": []any{}, "owner": map[string]any{"name": personName, "document": personCPFed, "ispb": personCPF},
		}),
		"no HTTP":           raw(personName + " " + personCPF + "\r\n\r\n"),
		"a malformed head":  raw("HTTP/1.1 200 OK\r\n" + personName + " " + personCPFed + "\r\n\r\n"),
		"a status in words": raw("HTTP/1.1 " + personName + "\r\n\r\n"),
	}
}

// TestNamesNobody lets a provider name a person in every message that the engine reads, and
// lets keys of people be registered in vain. It searches logs, alerts, errors and answers to
// the provider for the person.
func TestNamesNobody(t *testing.T) {
	t.Parallel()
	o, log := newOtherSide(t), new(heard)
	w := newHarness(t, vfs.NewMem(), o.beside, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	errors, modes := "", 0
	for name, serve := range talkative(o) {
		o.instead.Store(&serve)
		before, suffix := strings.Count(log.String(), "PIX key not registered"), fmt.Sprintf("%02d", modes)
		modes++
		for kind, key := range map[string]string{"cpf": personCPF[:9] + suffix, "phone": personPhone + suffix, "email": personMail + suffix + "@pix.example"} {
			if status, got := w.operate("POST", "/admin/accounts/"+w.ID+"/pix-keys", `{"key_type":"`+kind+`","key":"`+key+`"}`); status/100 != 2 {
				t.Fatal(status, got)
			}
		}
		if name != "a book of people" { // every other answer fails a registration
			w.becomes(name+" is logged", 20e9, func() bool { return strings.Count(log.String(), "PIX key not registered") > before })
		}
		_, audit := w.operate("GET", "/admin/audit", "")
		_, payout := w.cashOut(`{"amount":10,"pix_key":"` + uuid.NewString() + `"}`)
		errors += audit + payout
	}
	o.instead.Store(nil)
	paid := w.paidOut(`{"amount":10,"pix_key":"` + uuid.NewString() + `"}`)
	o.notify(w, scheme.Notice{Kind: scheme.PaymentSettled, Tx: paid.tx(), EndToEnd: paid.EndToEnd}, nil)
	o.notify(w, scheme.Notice{Kind: scheme.PaymentRejected, Tx: paid.tx(), EndToEnd: paid.EndToEnd, Reason: personName + " " + personCPF}, nil)
	w.alerted("contradicting_notice", paid.TransactionID)
	for _, body := range []string{
		`{"kind":"` + personName + " " + personCPF + `"}`,
		`{"kind":"payment_settled","` + personName + " " + personCPF + `":1}`,
		`{"kind":"payment_settled","amount":` + personCPF + `9999999999999}`,
		`{"kind":"payment_settled","transaction_id":"` + personCPF + `"}`,
		`{"kind":"payment_arrived","end_to_end_id":"` + personCPF + `","arrived":{"amount":1,"pix_key":"` + personCPF + `","payer":{"name":"` + personName + `"}}}`,
		`{"kind":` + personCPFed + `}`,
	} {
		status, answer := o.post(w, body)
		if status/100 != 4 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
		errors += answer
	}
	nobody := "E6070119020260301120000000000002"
	_ = o.tell(w, scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: nobody, Arrived: ledger.ReceivePayment{
		EndToEnd: nobody, Amount: 700, Key: "12345678901", PayerName: personName, PayerDocument: personCPF, Description: personCPFed,
	}}, nil)
	w.hears("payment_refused")
	_, alerts := w.operate("GET", "/admin/alerts?limit=100", "")
	w.stop()
	namesNobody(t, "an error", errors, personal...)
	namesNobody(t, "an alert", alerts, personal...)
	namesNobody(t, "the log", log.String(), append(personal, "12345678901")...)
}

// TestDumpMasksRecipients checks that a dump shows a CPF that only the directory has told as
// the merchant sees it, and whole a CPF that the merchant has sent.
func TestDumpMasksRecipients(t *testing.T) {
	t.Parallel()
	o, disk := newOtherSide(t), vfs.NewMem() // its directory names the owner 98765432100 of every key
	w := newHarness(t, disk, o.beside)
	told := w.paidOut(`{"amount":10,"pix_key":"` + uuid.NewString() + `"}`)
	sent := w.paidOut(`{"amount":20,"pix_key":"` + personCPF + `","pix_key_type":"cpf"}`)
	for _, p := range []item{told, sent} {
		o.notify(w, scheme.Notice{Kind: scheme.PaymentSettled, Tx: p.tx(), EndToEnd: p.EndToEnd}, nil)
		w.becoming(p.TransactionID, "settled")
	}
	w.stop()
	var dump strings.Builder
	if err := journal.Dump(journal.DumpOptions{DataDir: "data", FS: disk}, &dump); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		payout   item
		document string
	}{{told, "***.654.321-**"}, {sent, personCPF}} {
		n := 0
		for line := range strings.Lines(dump.String()) {
			if !strings.Contains(line, c.payout.TransactionID) || !strings.Contains(line, `"counterparty"`) {
				continue
			}
			n++
			if !strings.Contains(line, `"document":"`+c.document+`"`) || c.document != personCPF && strings.Contains(line, personCPF) {
				t.Errorf("want %s: %s", c.document, line)
			}
		}
		if n < 2 {
			t.Errorf("%d lines with the recipient", n)
		}
	}
}
