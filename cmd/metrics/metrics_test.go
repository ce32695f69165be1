package metrics

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/router"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/valyala/fasthttp"

	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/httpapi"
)

// text returns what some collectors show, and fails where a name is against the conventions.
func text(t testing.TB, all ...prometheus.Collector) string {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(all...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	problems, err := promlint.New(bytes.NewReader(b.Bytes())).Lint()
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	return "\n" + b.String()
}

// shows fails for each line that a text lacks.
func shows(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("%s is not there:\n%s", line, got)
		}
	}
}

// TestRequests checks what requests are counted as, and that their line in the log has nothing of
// the query, the headers and the body.
func TestRequests(t *testing.T) {
	var log bytes.Buffer
	m := NewRequests(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	r := router.New()
	httpapi.Strict(r, func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(404) }, func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(405) })
	r.GET("/things/{id}", func(ctx *fasthttp.RequestCtx) { time.Sleep(20 * time.Millisecond) })
	r.POST("/things/{id}", func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(503) })
	r.DELETE("/things/{id}", httpapi.Cut)
	r.GET("/long", func(ctx *fasthttp.RequestCtx) {
		httpapi.Stream(ctx, "text/plain", httpapi.Streamed{Write: func(io.Writer) error { return nil }, Done: func(error) {}})
	})
	var counted Traffic
	handle := counted.Count(m.Timed("merchant", r.Handler)) // both have work to do after a stream
	streamed := 0
	for _, line := range []string{"GET /things/1", "GET /things/2", "POST /things/secret?secret=1", "DELETE /things/1", "GET /none", "PUT /things/1", "NEW /things/1", "GET /long"} {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		httpapi.SetRequestID(&ctx, "r1")
		method, path, _ := strings.Cut(line, " ")
		ctx.Request.Header.SetMethod(method)
		ctx.Request.Header.Set("Authorization", "secret")
		ctx.Request.SetBodyString("secret")
		ctx.Request.SetRequestURI(path)
		handle(&ctx)
		if path == "/long" {
			if got := text(t, m); strings.Contains(got, `route="/long"`) {
				t.Error("a stream is counted before its end")
			}
			streamed++
			_ = ctx.Response.CloseBodyStream()
		}
	}
	const name = `pixd_http_request_duration_seconds_count{class=`
	shows(t, text(t, m),
		name+`"2xx",listener="merchant",method="GET",route="/things/{id}"} 2`,
		name+`"5xx",listener="merchant",method="POST",route="/things/{id}"} 1`,
		name+`"none",listener="merchant",method="DELETE",route="/things/{id}"} 1`,
		name+`"4xx",listener="merchant",method="none",route="none"} 3`,
		name+`"2xx",listener="merchant",method="GET",route="/long"} 1`,
		`pixd_http_request_duration_seconds_bucket{class="2xx",listener="merchant",method="GET",route="/things/{id}",le="0.01"} 0`,
	)
	if n := counted.InHand.Load(); n != 0 {
		t.Errorf("%d requests in hand", n)
	}
	if streamed != 1 || strings.Contains(log.String(), "secret") || strings.Count(log.String(), "\n") != 8 ||
		!strings.Contains(log.String(), `"msg":"http: request","request_id":"r1","listener":"merchant","method":"POST","route":"/things/{id}","status":503,`) {
		t.Errorf("log:\n%s", log.String())
	}
}

func TestTimedAllocatesLittle(t *testing.T) {
	h := NewRequests(slog.New(slog.DiscardHandler)).Timed("merchant", func(*fasthttp.RequestCtx) {})
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	if n := testing.AllocsPerRun(100, func() { h(&ctx) }); n > 3 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTimed(b *testing.B) {
	h := NewRequests(slog.New(slog.DiscardHandler)).Timed("merchant", func(*fasthttp.RequestCtx) {})
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		h(&ctx)
	}
}

func TestJournal(t *testing.T) {
	j := NewJournal()
	for range 3 {
		j.AroundCommit(5, func() { j.AroundSync(func() { time.Sleep(2 * time.Millisecond) }) })
	}
	got := text(t, j)
	shows(t, got, "pixd_journal_sync_seconds_count 3", "pixd_journal_commit_seconds_count 3",
		`pixd_journal_sync_seconds_bucket{le="0.002"} 0`, `pixd_journal_commit_seconds_bucket{le="0.002"} 0`, `pixd_journal_sync_seconds_bucket{le="+Inf"} 3`,
		`pixd_journal_batch_records_bucket{le="4"} 0`, `pixd_journal_batch_records_bucket{le="8"} 3`, "pixd_journal_batch_records_sum 15")
}

// dueRows are due rows in memory.
type dueRows struct {
	layout.Rows
	keys [][]byte
	err  error
	read int
}

func (r *dueRows) Scan(lo, hi []byte, visit layout.Visit) error {
	for _, k := range r.keys {
		if bytes.Compare(k, lo) >= 0 && bytes.Compare(k, hi) < 0 {
			r.read++
			if more, err := visit(k, make([]byte, 8)); err != nil || !more {
				return err
			}
		}
	}
	return r.err
}

func (r *dueRows) due(kind layout.DueKind, at pix.Millis) {
	r.keys = append(r.keys, layout.DueKey(kind, at, 1, layout.EntityID{byte(len(r.keys))}))
}

func TestState(t *testing.T) {
	rows := &dueRows{}
	s := &State{
		Rows: rows, Now: func() pix.Millis { return 1000 }, Accounts: func() int { return 7 }, Waiting: func() uint64 { return 8 },
		Free: func() (uint64, error) { return 9, nil },
	}
	for kind, times := range map[layout.DueKind][]pix.Millis{
		layout.DueTransfer: {999, 1000, 1001}, layout.DueSending: {5}, layout.DueQueued: {1, 2}, layout.DueApproval: {1, 2, 3, 4},
		layout.DueDoubt: {1, 2, 3, 4, 5}, layout.DueCase: {1, 2, 3, 4, 5, math.MaxInt64 - 1},
	} {
		for _, at := range times {
			rows.due(kind, at)
		}
	}
	all := []string{
		"pixd_accounts_in_memory 7", "pixd_journal_entries_waiting 8", "pixd_disk_free_bytes 9",
		`pixd_transfers_waiting{for="settlement"} 3`, `pixd_transfers_waiting{for="sending"} 1`, `pixd_transfers_waiting{for="capacity"} 2`,
		`pixd_transfers_waiting{for="approval"} 4`, `pixd_transfers_waiting{for="doubt"} 5`, "pixd_transfers_orphaned 2", "pixd_med_cases_waiting 6",
	}
	shows(t, text(t, s), all...)
	read := rows.read
	shows(t, text(t, s), all...)
	if rows.read != read {
		t.Errorf("asked twice within a second, %d rows are read again", rows.read-read)
	}
	s.counted = time.Now().Add(-countEvery)
	rows.due(layout.DueApproval, 5)
	shows(t, text(t, s), `pixd_transfers_waiting{for="approval"} 5`)

	// What ended long ago is passed over, also where it left its traces; a row that was written late is found.
	hour := pix.Millis(time.Hour / time.Millisecond)
	s.Now = func() pix.Millis { return 10 * hour }
	rows.keys = nil
	rows.due(layout.DueQueued, 5*hour)
	s.counted = time.Time{}
	shows(t, text(t, s), `pixd_transfers_waiting{for="capacity"} 1`)
	rows.due(layout.DueQueued, 4*hour+1)
	rows.due(layout.DueQueued, 4*hour-1)
	s.counted = time.Time{}
	shows(t, text(t, s), `pixd_transfers_waiting{for="capacity"} 2`)
	s.counted, s.whole = time.Time{}, time.Now().Add(-wholeEvery)
	shows(t, text(t, s), `pixd_transfers_waiting{for="capacity"} 3`)

	// Transfers that were sent are all due at the same distance: a count begins a little before the first.
	rows.due(layout.DueTransfer, 11*hour)
	s.counted, s.whole = time.Time{}, time.Time{}
	shows(t, text(t, s), `pixd_transfers_waiting{for="settlement"} 1`)
	s.wide = time.Now()
	for _, at := range []pix.Millis{11*hour - lateSent - 1, 11*hour - lateSent, 12 * hour} {
		rows.due(layout.DueTransfer, at)
	}
	s.counted = time.Time{}
	shows(t, text(t, s), `pixd_transfers_waiting{for="settlement"} 3`, "pixd_transfers_orphaned 0")
	s.counted, s.wide = time.Time{}, time.Now().Add(-lateEvery) // one that has left doubt
	shows(t, text(t, s), `pixd_transfers_waiting{for="settlement"} 4`)

	s.counted, rows.err = time.Time{}, errors.New("disk")
	s.Free = func() (uint64, error) { return 0, errors.New("disk") }
	got := text(t, s)
	shows(t, got, "pixd_accounts_in_memory 7")
	if strings.Contains(got, "pixd_transfers") || strings.Contains(got, "pixd_disk") {
		t.Errorf("what cannot be read is shown:\n%s", got)
	}
}

// TestStateCountsOnly checks that no more rows are counted than the text says.
func TestStateCountsOnly(t *testing.T) {
	rows := &dueRows{}
	for i := range mostCounted + 10 {
		rows.due(layout.DueQueued, pix.Millis(i))
	}
	s := &State{Rows: rows, Now: func() pix.Millis { return 1 }, Accounts: func() int { return 0 }, Waiting: func() uint64 { return 0 }, Free: func() (uint64, error) { return 0, nil }}
	shows(t, text(t, s), `pixd_transfers_waiting{for="capacity"} 100000`)
	if rows.read != mostCounted {
		t.Errorf("%d rows read", rows.read)
	}
}

// TestPools checks the figures of pools, whose only label is the pool's name.
func TestPools(t *testing.T) {
	shows(t, text(t, Pools{
		"lists":    func() fair.Counts { return fair.Counts{InUse: 3, Waiting: 2, Refused: 1} },
		"receipts": func() fair.Counts { return fair.Counts{Refused: 7} },
	}),
		`pixd_pool_in_use{pool="lists"} 3`, `pixd_pool_waiting{pool="lists"} 2`, `pixd_pool_refused_total{pool="lists"} 1`,
		`pixd_pool_in_use{pool="receipts"} 0`, `pixd_pool_waiting{pool="receipts"} 0`, `pixd_pool_refused_total{pool="receipts"} 7`,
	)
}

func TestSchemeCallsTake(t *testing.T) {
	s := NewSchemeCalls(&slowAnswer{})
	_, _ = s.Submit(t.Context(), scheme.Payment{})
	shows(t, text(t, s),
		`pixd_scheme_call_duration_seconds_count{call="submit"} 1`, `pixd_scheme_call_duration_seconds_bucket{call="submit",le="0.01"} 0`,
		`pixd_scheme_call_duration_seconds_count{call="ask"} 0`, `pixd_scheme_calls_total{call="submit",outcome="answered"} 1`)
}

type slowAnswer struct{ scheme.Unassigned }

func (*slowAnswer) Submit(context.Context, scheme.Payment) (scheme.State, error) {
	time.Sleep(20 * time.Millisecond)
	return scheme.State{}, nil
}

func TestCountingAllocatesNothing(t *testing.T) {
	var m Traffic
	h := m.Count(func(*fasthttp.RequestCtx) {})
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	if n := testing.AllocsPerRun(100, func() { h(&ctx) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCount(b *testing.B) {
	var m Traffic
	h := m.Count(func(*fasthttp.RequestCtx) {})
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	for b.Loop() {
		h(&ctx)
	}
}
