package bench

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// TestBookComparesStatuses checks which statuses in the book agree with what a client was told.
func TestBookComparesStatuses(t *testing.T) {
	done := "2026-11-23T12:00:00.000Z"
	for _, c := range []struct {
		what      string
		kind      kind
		told      status
		listed    string
		completed *string
		agrees    bool
	}{
		{"settled at once", cashOut, statusSettled, "settled", &done, true},
		{"settled later", cashOut, statusAccepted, "settled", &done, true},
		{"rejected later", cashOut, statusAccepted, "rejected", nil, true},
		{"failed in the queue", cashOut, statusQueued, "failed", nil, true},
		{"not approved yet", cashOut, statusApproval, "pending", nil, true},
		{"told settled, and failed", cashOut, statusSettled, "failed", nil, false},
		{"told settled, and pending", cashOut, statusSettled, "pending", nil, false},
		{"told rejected, and settled", cashOut, statusRejected, "settled", &done, false},
		{"rejected, shown as settled", cashOut, statusAccepted, "settled", nil, false},
		{"settled, shown as rejected", cashOut, statusAccepted, "rejected", &done, false},
		{"an unknown status", cashOut, statusAccepted, "gone", nil, false},
		{"an answer without a status", cashOut, statusNone, "settled", &done, false},
		{"a charge's status", cashOut, statusAccepted, "active", nil, false},
		{"a charge", cashIn, statusActive, "active", nil, true},
		{"a charge, shown as rejected", cashIn, statusActive, "rejected", nil, false},
		{"a refund", refund, statusAccepted, "settled", &done, true},
		{"a refund, shown as rejected", refund, statusAccepted, "rejected", nil, false},
	} {
		id := prefixes[c.kind] + "A"
		b := &book{merchant: &merchant{id: "acc_x"}, told: map[string]*answered{id: {kind: c.kind, amount: 10000, told: c.told, named: true}}, credited: true}
		b.take(&item{TransactionID: id, Type: "pix", Status: c.listed, Amount: 10000, Net: 10000, Completed: c.completed})
		b.leftOver()
		if agrees := len(b.differences) == 0; agrees != c.agrees {
			t.Errorf("%s: %q", c.what, b.differences)
		}
	}
}

// TestBookExplains checks that a request without an answer explains only what it can have made.
func TestBookExplains(t *testing.T) {
	for id, kinds := range map[string]map[kind]bool{
		"PIXOUTA": {cashIn: false, cashOut: true, refund: false},
		"PIXINA":  {cashIn: true, cashOut: false, refund: false},
		"PIXRETA": {cashIn: false, cashOut: false, refund: true},
	} {
		for k, explains := range kinds {
			b := &book{merchant: &merchant{id: "acc_x"}, credited: true, unknown: []*answered{{kind: k, amount: 10000}}}
			b.take(&item{TransactionID: id, Type: "pix", Status: "pending", Amount: 10000, Net: 10000})
			if got := len(b.differences) == 0; got != explains {
				t.Errorf("a request to %s without an answer, and %s: %q", paths[k], id, b.differences)
			}
		}
	}
}

// TestAuditComparesStatuses loads an engine behind proxies that lie about statuses, and checks
// that the audit finds each, and that the report says how many transactions ended how.
func TestAuditComparesStatuses(t *testing.T) {
	t.Parallel()
	o := newOther(t)
	inLists := func(pairs ...string) func(*fasthttp.RequestCtx, func()) {
		return func(ctx *fasthttp.RequestCtx, pass func()) {
			pass()
			if !ctx.IsPost() {
				ctx.Response.SetBodyString(strings.NewReplacer(pairs...).Replace(string(ctx.Response.Body())))
			}
		}
	}
	settledAtOnce := func(ctx *fasthttp.RequestCtx, pass func()) {
		pass()
		if !ctx.IsPost() {
			return
		}
		body := bytes.Replace(bytes.Clone(ctx.Response.Body()), []byte(`"final":false`), []byte(`"final":true`), 1)
		ctx.Response.SetBody(bytes.Replace(body, []byte(`"status":"accepted"`), []byte(`"status":"settled"`), 1))
		ctx.SetStatusCode(http.StatusOK)
	}
	for _, c := range []struct {
		name, local, want, ended string
		fault                    func(*fasthttp.RequestCtx, func())
	}{
		{"every payout is rejected", "reject-ac03+", "", "rejected", nil},
		{"rejected is shown as settled", "reject-ac03+", "is listed as settled, and completed_at says otherwise", "settled", inLists(`"rejected"`, `"settled"`)},
		{
			"rejected is shown as settled with a time", "reject-ac03+", "were sent and 0 refunded, and the engine's audit says 0 and 0", "settled",
			inLists(`"rejected"`, `"settled"`, `"completed_at":null`, `"completed_at":"2026-11-23T12:00:00.000Z"`),
		},
		{"settled is shown as rejected", "", "is listed as rejected, and completed_at says otherwise", "rejected", inLists(`"settled"`, `"rejected"`)},
		{"rejected is answered as settled", "reject-ac03+", "is listed as rejected, and its client was told settled", "rejected", settledAtOnce},
	} {
		o.fault.Store(nil)
		if c.fault != nil {
			o.fault.Store(&c.fault)
		}
		options := o.options(t, "cash-out")
		if options.local = c.local; c.local != "" {
			options.domain = "@pix.test"
		}
		r, err := Measure(t.Context(), t.Context(), options)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text := strings.Join(r.Audit.Differences, "\n"); r.Audit.OK() != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d differences\n%s", c.name, r.Audit.Found, text)
		}
		want := Ended{"cash-out", c.ended, r.Audit.Answers}
		if s := r.Audit.Statuses; len(s) != 1 || s[0] != want || want.Count == 0 {
			t.Errorf("%s: %+v, want %+v", c.name, s, want)
		}
		saysEnds(t, r, showCount(want.Count)+" cash-out "+c.ended)
	}
}

// saysEnds checks that a report says in each of its forms how transactions ended.
func saysEnds(t *testing.T, r *Report, ended string) {
	t.Helper()
	var text, page bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "\n  "+ended+"\n") {
		t.Errorf("want %q: %s %v", ended, &text, err)
	}
	if err := r.WritePage(&page); err != nil || !strings.Contains(page.String(), "What the requests made, by status: "+ended+".") {
		t.Errorf("want %q on the page: %v", ended, err)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"statuses":[{"request":"cash-out","status":"`) {
		t.Errorf("no statuses in the report: %v", err)
	}
}
