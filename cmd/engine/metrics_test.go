package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi"
)

func (m *meters) text(t testing.TB) string {
	t.Helper()
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	m.handler()(&ctx)
	if ctx.Response.StatusCode() != 200 {
		t.Fatal(ctx.Response.String())
	}
	return string(ctx.Response.Body())
}

func TestMetrics(t *testing.T) {
	m := newMeters(slog.New(slog.DiscardHandler))
	m.merchant.Open = func() int64 { return 3 }
	h := m.merchant.Count(func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/cut":
			httpapi.Cut(ctx)
		case "/busy":
			ctx.SetStatusCode(503)
		case "/look":
			if got := m.text(t); !strings.Contains(got, `pixd_http_requests_in_hand{listener="merchant"} 1`) {
				t.Error(got)
			}
		}
	})
	for _, path := range []string{"/", "/", "/cut", "/busy", "/look"} {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI(path)
		h(&ctx)
	}
	got := m.text(t)
	for _, want := range append([]string{
		`pixd_http_requests_total{listener="merchant",status="200"} 3`,
		`pixd_http_requests_total{listener="merchant",status="503"} 1`,
		`pixd_http_requests_total{listener="merchant",status="0"} 1`,
		`pixd_http_requests_in_hand{listener="merchant"} 0`,
		`pixd_http_requests_in_hand{listener="operator"} 0`,
		`pixd_http_open_connections{listener="merchant"} 3`,
		"go_goroutines ", "process_open_fds ",
	}, alertsAtZero()...) {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("%s is not there:\n%s", want, got)
		}
	}
	problems, err := promlint.New(strings.NewReader(got)).Lint()
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "pixd_") {
			t.Error(p)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// alertsAtZero lists the lines of all kinds of alert, as dashboards know them.
func alertsAtZero() (lines []string) {
	for _, kind := range []string{
		"late_settlement", "contradicting_notice", "scheme_unreachable", "refund_unanswered", "med_undecided",
		"med_refund_failed", "med_unrefunded", "delivery_dead", "delivery_delayed", "payment_refused", "quarantine", "damage", "low_disk", "clock",
	} {
		lines = append(lines, `pixd_alerts_total{kind="`+kind+`"} 0`)
	}
	return lines
}

// TestAlertsCount checks that an alert is counted even if the log's level hides the alert's
// line, and that the line has the field alert.
func TestAlertsCount(t *testing.T) {
	for level, lines := range map[slog.Level]int{slog.LevelInfo: 3, slog.LevelError + 4: 0} {
		m := newMeters(slog.New(slog.DiscardHandler))
		var b bytes.Buffer
		a := newAlerts(m.alerts, slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level})))
		a.Raise(7, ledger.Alert{Kind: "quarantine", Message: "a"})
		a.RaiseGeneral("low_disk", "b")
		a.Raised(8, ledger.Alert{Kind: "low_disk", Public: "PIXOUT8", Message: "c"})
		got := m.text(t)
		for _, want := range []string{`{kind="quarantine"} 1`, `{kind="low_disk"} 2`, `{kind="damage"} 0`} {
			if !strings.Contains(got, "pixd_alerts_total"+want) {
				t.Errorf("%s is not there:\n%s", want, got)
			}
		}
		if n := strings.Count(b.String(), " alert="); n != lines || lines > 0 && !strings.Contains(b.String(), "alert=low_disk account="+pix.AccountID(8).String()+" transaction=PIXOUT8") {
			t.Errorf("level %v: %d lines:\n%s", level, n, b.String())
		}
		if got := a.Quarantined(); len(got) != 1 || got[0] != 7 {
			t.Errorf("closed off: %v", got)
		}
	}
}
