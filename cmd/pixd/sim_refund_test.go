package main

import (
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/router"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/httpapi"
	"pixd/httpapi/control"
	"pixd/httpapi/signed"
)

// listener stands in for an engine: it takes signed notices of every kind, and acknowledges
// each when it comes for the second time.
type listener struct {
	t     *testing.T
	url   string
	mu    sync.Mutex
	times map[scheme.Notice]int
}

func realTime() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }

func newListener(t *testing.T) *listener {
	t.Helper()
	secret, err := provider.NewSecret(schemeWord)
	if err != nil {
		t.Fatal(err)
	}
	port, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{t: t, url: "http://" + port.Addr().String(), times: map[scheme.Notice]int{}}
	r, log := router.New(), slog.New(slog.DiscardHandler)
	r.POST(provider.PathNotices, signed.Handle(provider.NewGuard(secret, provider.ToEngine, realTime, nil), log, l.take))
	server := httpapi.NewServer(r.Handler, httpapi.ServerOptions{Name: "test", Log: log})
	go func() { _ = server.Serve(httpapi.Limit(port, httpapi.ConnectionOptions{Log: log})) }()
	t.Cleanup(func() { _ = port.Close() })
	return l
}

func (l *listener) take(body []byte, end func(bool)) (int, any, error) {
	n, err := provider.ReadNotice(body)
	if err != nil {
		l.t.Errorf("%s: %v", body, err)
	}
	l.mu.Lock()
	l.times[n]++
	acknowledged := l.times[n] > 1
	l.mu.Unlock()
	end(acknowledged)
	if !acknowledged {
		return 0, nil, control.Refuse(fasthttp.StatusUnprocessableEntity, "not yet")
	}
	return fasthttp.StatusOK, provider.Done{}, nil
}

// hears waits until a notice has come n times.
func (l *listener) hears(want scheme.Notice, n int) {
	l.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		times := l.times[want]
		l.mu.Unlock()
		if times >= n {
			return
		}
		if time.Now().After(end) {
			l.t.Fatalf("%+v came %d times, want %d", want, times, n)
		}
	}
}

// TestSimRefundsAndReports checks refunds, infractions and their withdrawal against a real
// `pixd sim`: commands and signed requests on one side, signed notices on the other. A notice
// that was not acknowledged comes again after the simulator was killed.
func TestSimRefundsAndReports(t *testing.T) {
	t.Parallel()
	l, dir := newListener(t), t.TempDir()
	p := &pair{t: t, sim: launchSim(t, dir, "127.0.0.1:0", l.url).awaitReady()}
	s := shop{ID: pix.AccountID(7).String(), Key: "00000000-0000-4000-8000-000000000007"}
	p.sim.knows(s)
	paid := p.paidBefore(s, 91*24*time.Hour)
	reported := p.report(l, paid)
	late, fraud := p.refund(paid, "MD06"), p.refund(paid, "FR01")
	outcome := func(of scheme.Refund) scheme.Notice {
		n := scheme.Notice{Kind: scheme.RefundSettled, Tx: of.Tx, EndToEnd: of.EndToEnd, Account: 7}
		if of.Reason == "MD06" {
			n.Kind, n.Reason = scheme.RefundRejected, "DT05"
		}
		return n
	}
	l.hears(outcome(late), 1)
	l.hears(outcome(fraud), 1)
	p.sim.end(syscall.SIGKILL)
	p.sim = launchSim(t, dir, "127.0.0.1:0", l.url).awaitReady()
	l.hears(outcome(late), 2)
	l.hears(outcome(fraud), 2)
	l.hears(reported, 2)
	fresh := p.refund(p.paidBefore(s, 89*24*time.Hour), "MD06")
	l.hears(outcome(scheme.Refund{Tx: fresh.Tx, EndToEnd: fresh.EndToEnd}), 2)
	p.showsRefunds(paid, late, fraud)
}

// paidBefore runs `pixd sim pay` with a date in the past and returns the payment's end-to-end
// id.
func (p *pair) paidBefore(s shop, before time.Duration) string {
	p.t.Helper()
	var paid struct {
		EndToEnd string `json:"end_to_end_id"`
	}
	at := time.Now().Add(-before).UTC()
	out := p.paid("--pix-key", s.Key, "--amount", "500", "--paid-at", at.Format(time.RFC3339), "--json")
	if err := json.Unmarshal([]byte(out), &paid); err != nil || paid.EndToEnd[9:21] != at.Format("200601021504") {
		p.t.Fatalf("%s %v", out, err)
	}
	return paid.EndToEnd
}

// refund submits a refund of 30 base units as an engine does.
func (p *pair) refund(original, code string) scheme.Refund {
	p.t.Helper()
	secret, err := provider.NewSecret(schemeWord)
	if err != nil {
		p.t.Fatal(err)
	}
	asker, err := provider.New(provider.Options{URL: p.sim.operator, Secret: secret, Now: realTime, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		p.t.Fatal(err)
	}
	defer asker.Close()
	drawn := uuid.New()
	r := scheme.Refund{
		Tx: pix.NewTxID(realTime(), [10]byte(drawn[6:])), Account: 7, Original: original, Amount: 30, Reason: code,
		EndToEnd: "D" + pix.EndToEnd("99999004", realTime(), strings.ReplaceAll(drawn.String(), "-", "")[21:])[1:],
	}
	state, err := asker.Return(p.t.Context(), r)
	if err != nil || state.Progress == scheme.Unknown {
		p.t.Fatal(state, err)
	}
	return r
}

// report has a payer report a payment and withdraw the report, and returns the notice of the
// withdrawal.
func (p *pair) report(l *listener, paid string) scheme.Notice {
	p.t.Helper()
	var made struct {
		ID string `json:"infraction_id"`
	}
	out := p.played("infraction", paid, "--amount", "120", "--situation", "ACCOUNT_TAKEOVER", "--json")
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		p.t.Fatal(out, err)
	}
	l.hears(scheme.Notice{
		Kind: scheme.InfractionOpened, EndToEnd: paid, Account: 7, Infraction: made.ID, Amount: 120, Situation: "ACCOUNT_TAKEOVER",
	}, 2)
	p.played("infraction", "cancel", made.ID)
	n := scheme.Notice{Kind: scheme.InfractionCancelled, EndToEnd: paid, Account: 7, Infraction: made.ID}
	l.hears(n, 1)
	return n
}

// showsRefunds checks what `pixd sim book` shows of a payment and its refunds.
func (p *pair) showsRefunds(paid string, late, fraud scheme.Refund) {
	t := p.t
	t.Helper()
	public := func(r scheme.Refund) string { return r.Tx.Public(pix.TxRefund) }
	same(t, p.played("book", late.EndToEnd), `
kind            refund
transaction id  `+public(late)+`
id              `+late.Tx.String()+`
end-to-end id   `+paid+`
return id       `+late.EndToEnd+`
return code     MD06
account         `+pix.AccountID(7).String()+`
amount          30 (0.0030 BRL)
status          rejected (DT05)
created         {}Z
final           {}Z
`)
	same(t, p.played("book", paid), `
kind           payment
end-to-end id  `+paid+`
account        `+pix.AccountID(7).String()+`
pix key        00000000-0000-4000-8000-000000000007
amount         500 (0.05 BRL)
status         settled
created        {}Z
final          {}Z
returned       30 (0.0030 BRL)
return         `+fraud.EndToEnd+` of 30 (0.0030 BRL), FR01, {}Z
`)
	if got := p.played("book", "movements"); !strings.Contains(got, "Z  refund       30  "+pix.AccountID(7).String()+"  "+public(fraud)+"  "+paid+"  "+fraud.EndToEnd+"\n") ||
		strings.Contains(got, late.EndToEnd) {
		t.Error(got)
	}
}
