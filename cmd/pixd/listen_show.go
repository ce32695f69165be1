package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-json"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"pixd/actors/strictjson"
	"pixd/cmd/terminal"
	"pixd/httpapi"
)

// receiver answers webhooks and prints them, one after the other.
type receiver struct {
	out     io.Writer
	json    bool
	status  int // HTTP status of each answer
	secrets []*standardwebhooks.Webhook

	mu                 sync.Mutex // guards what follows, and out
	received, verified int
}

// webhook is a received webhook as --json prints it.
type webhook struct {
	At       string          `json:"received_at"`
	ID       string          `json:"id"` // of the header, else of the body
	Type     string          `json:"type"`
	Sequence uint64          `json:"sequence"`
	Verified *bool           `json:"verified"` // nil: no secret was given
	Reason   *string         `json:"reason"`   // why it is not verified; nil: it is, or no secret was given
	Status   int             `json:"status"`
	Body     json.RawMessage `json:"body"` // a body that is no JSON as a JSON string
}

// longestWebhook is the greatest length in bytes of a body that is taken.
const longestWebhook = 1 << 20

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, longestWebhook))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		fmt.Fprintf(os.Stderr, "pixd: a webhook of more than %d bytes was refused\n", longestWebhook)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		return // the sender has gone
	}
	r.take(time.Now(), q.Header, body)
	w.WriteHeader(r.status)
}

// take checks and prints one webhook.
func (r *receiver) take(at time.Time, headers http.Header, body []byte) {
	var named struct {
		ID, Type string
		Sequence uint64
	}
	shown := webhook{At: at.UTC().Format("2006-01-02T15:04:05.000Z"), Status: r.status}
	if _, err := httpapi.Canonical(body); err == nil {
		_ = json.Unmarshal(body, &named) // an event of another form may be shown without type or sequence
		shown.Body = body
	}
	shown.ID, shown.Type, shown.Sequence = cmp.Or(headers.Get(standardwebhooks.HeaderWebhookID), named.ID), named.Type, named.Sequence
	if len(r.secrets) > 0 {
		reason := r.verify(headers, body)
		verified := reason == ""
		shown.Verified = &verified
		if !verified {
			shown.Reason = &reason
		}
	}
	r.print(&shown, body)
}

// verify returns why no secret fits the webhook's signature; empty: one of them fits.
func (r *receiver) verify(headers http.Header, body []byte) (reason string) {
	for _, secret := range r.secrets {
		err := secret.Verify(body, headers)
		if err == nil {
			return ""
		}
		reason = err.Error()
		for _, known := range []error{
			standardwebhooks.ErrRequiredHeaders, standardwebhooks.ErrInvalidHeaders, standardwebhooks.ErrNoMatchingSignature,
			standardwebhooks.ErrMessageTooOld, standardwebhooks.ErrMessageTooNew,
		} {
			if errors.Is(err, known) {
				reason = known.Error()
			}
		}
	}
	return reason
}

// print prints a webhook and counts it.
func (r *receiver) print(h *webhook, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received++
	if h.Verified != nil && *h.Verified {
		r.verified++
	}
	show := h.block
	if r.json {
		show = h.line
	}
	w := bufio.NewWriter(r.out)
	show(w, body)
	if err := w.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "pixd: a webhook was not printed:", err)
	}
}

// line writes a webhook as one line of JSON.
func (h *webhook) line(w *bufio.Writer, body []byte) {
	if h.Body == nil {
		h.Body, _ = strictjson.Encode(string(body)) // of a string it is no error
	}
	b, err := strictjson.Encode(h)
	if err != nil {
		panic(err) // the body is JSON
	}
	_ = printJSON(w, b)
}

// block writes a webhook as text: a line about it, its body, and an empty line.
func (h *webhook) block(w *bufio.Writer, body []byte) {
	verdict := "no secret given"
	switch {
	case h.Reason != nil:
		verdict = "NOT VERIFIED: " + terminal.Plain(*h.Reason)
	case h.Verified != nil:
		verdict = "verified"
	}
	fmt.Fprintf(w, "%s  %s  sequence %d  %s  %s\n", h.At, cmp.Or(terminal.Plain(h.Type), "no type"), h.Sequence, cmp.Or(terminal.Plain(h.ID), "no id"), verdict)
	var indented bytes.Buffer
	if h.Body != nil && json.Indent(&indented, body, "", "  ") == nil {
		for line := range strings.Lines(strings.TrimSpace(indented.String())) {
			for _, c := range strings.TrimSuffix(line, "\n") {
				writeJSON(w, c)
			}
			fmt.Fprintln(w)
		}
	} else {
		for line := range strings.Lines(string(body)) {
			fmt.Fprintln(w, terminal.Plain(strings.TrimSuffix(line, "\n")))
		}
	}
	fmt.Fprintln(w)
}

// count says how many webhooks came.
func (r *receiver) count() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.secrets) == 0 {
		return fmt.Sprintf("received %d", r.received)
	}
	return fmt.Sprintf("received %d, verified %d", r.received, r.verified)
}
