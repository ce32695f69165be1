package admin

import (
	"io"
	"math/big"
	"net"
	"strings"
	"testing"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"pixd/actors/audit"
	"pixd/actors/clock"
	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/docs/openapi/openapitest"
	"pixd/httpapi/control"
)

// fakeNodes is a Cluster of two nodes.
type fakeNodes struct{ refuse error }

func (n fakeNodes) Status() ClusterStatus {
	why := "it differs"
	return ClusterStatus{ID: "c1", Node: "a", Owner: &why, Log: ClusterLog{Position: 7}, Nodes: []NodeStatus{{Node: "a", Role: "owner"}, {Node: "b", Role: "standby", Err: &why}}}
}

func (n fakeNodes) Handover(string) (ClusterStatus, error)     { return n.Status(), n.refuse }
func (n fakeNodes) Leave(string) (ClusterStatus, error)        { return n.Status(), n.refuse }
func (n fakeNodes) Join(string, string) (ClusterStatus, error) { return n.Status(), n.refuse }

// auditReport is a report in which everything is said.
func auditReport() *audit.Report {
	text, sum := "received", pix.Amount(7)
	return &audit.Report{
		At: testNow.String(), Book: audit.Compared, Balance: big.NewInt(1), Pending: big.NewInt(2), MEDHeld: big.NewInt(3),
		Differences: []audit.ReportedDifference{{Account: "acc_7", Kind: "book", Transaction: &text, Field: &text, Engine: &sum, Scheme: &sum}},
		Rows:        []audit.ReportedAccount{{ID: "acc_7", Differences: 1}},
	}
}

// whole is a fixture with every part of the operator API.
func whole(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.options.Clock = clock.New(clock.Sources{Wall: func() pix.Millis { return testNow }, Elapsed: func() pix.Millis { return 0 }}, 0)
	f.options.Clock.Stated(testNow + 7)
	f.options.Cluster, f.options.Snapshots = fakeNodes{}, &fakeSnapshots{checking: &SnapshotCheck{StartedAt: 1, Stage: "records"}, checked: &SnapshotCheck{StartedAt: 1, FinishedAt: 2, Err: "e"}, running: &SnapshotRun{StartedAt: 1, Base: "b", Stage: "packing"}, last: &SnapshotRun{StartedAt: 1, FinishedAt: 2, Path: "p", Err: "e"}}
	f.options.Metrics = func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
		ctx.SetBodyString("pixd_up 1\n")
	}
	f.options.Audit = func() (any, error) { return auditReport(), nil }
	f.options.BeginAudit = func() (AuditRun, error) { return AuditRun{StartedAt: 1, Stage: "book"}, nil }
	f.options.AuditRuns = func() (running, last *AuditRun) {
		return &AuditRun{StartedAt: 3, Stage: "records", Accounts: 1, OfAccounts: 2, Records: 5}, &AuditRun{StartedAt: 1, FinishedAt: 2, Report: auditReport()}
	}
	f.handler = New(f.options)
	return f
}

// TestEveryRoute checks that each route needs the operators' token but the probes, and that an address
// that tries others is limited.
func TestEveryRoute(t *testing.T) {
	f := whole(t)
	for i, operation := range contract.Operations() {
		method, path, _ := strings.Cut(operation, " ")
		guarded := strings.HasPrefix(path, "/admin")
		path = strings.NewReplacer("{", "", "}", "").Replace(path)
		from := &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(i)), Port: 1}
		for try := range 7 {
			var req fasthttp.Request
			req.Header.SetMethod(method)
			req.SetRequestURI(path)
			var ctx fasthttp.RequestCtx
			ctx.Init(&req, from, nil)
			f.handler(&ctx)
			hold(t, path, &ctx.Request, &ctx.Response)
			want := map[bool]int{true: 401, false: 429}[try < 5]
			if status := ctx.Response.StatusCode(); guarded && status != want || !guarded && (status == 401 || status == 429) {
				t.Errorf("%s, without the token, for the time %d: %d", operation, try+1, status)
			}
		}
	}
}

// TestAnswersOfOthers checks the paths whose answers other packages give: the clock, snapshots, nodes and
// metrics.
func TestAnswersOfOthers(t *testing.T) {
	f := whole(t)
	for _, v := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/admin/clock", "", 200},
		{"POST", "/admin/clock", `{"operator":"Ana"}`, 200},
		{"POST", "/admin/clock", `{}`, 400},
		{"GET", "/admin/snapshots?limit=2", "", 200},
		{"GET", "/admin/snapshots", "", 200},
		{"GET", "/admin/snapshots?limit=0", "", 400},
		{"POST", "/admin/snapshots", `{"base":"auto"}`, 202},
		{"POST", "/admin/snapshots", `{"base":7}`, 400},
		{"GET", "/admin/cluster", "", 200},
		{"POST", "/admin/cluster/handover", `{"to":"b"}`, 202},
		{"POST", "/admin/cluster/handover", `{"to":7}`, 400},
		{"POST", "/admin/cluster/nodes", `{"node":"d","url":"http://127.0.0.1:1"}`, 201},
		{"POST", "/admin/cluster/nodes", `{}`, 400},
		{"DELETE", "/admin/cluster/nodes/c", "", 200},
		{"GET", "/admin/audit", "", 200},
		{"POST", "/admin/audit", "", 202},
		{"GET", "/admin/audit/run", "", 200},
	} {
		if status, got := f.send(v.method, v.path, v.body); status != v.status {
			t.Errorf("%s %s %s: %d %s", v.method, v.path, v.body, status, got)
		}
	}
	for status, refusal := range map[int]error{409: control.Refuse(409, "x"), 404: control.Missing("x"), 503: control.Refuse(503, "x")} {
		f.options.Cluster, f.options.Snapshots = fakeNodes{refusal}, &fakeSnapshots{refuse: refusal}
		f.handler = New(f.options)
		f.expect("POST", "/admin/snapshots", "", status, problem(status, "x"))
		if status == 503 {
			continue
		}
		f.expect("DELETE", "/admin/cluster/nodes/c", "", status, problem(status, "x"))
		if status == 409 {
			f.expect("POST", "/admin/cluster/handover", "", status, problem(status, "x"))
			f.expect("POST", "/admin/cluster/nodes", `{"node":"d","url":"http://127.0.0.1:1"}`, status, problem(status, "x"))
		}
	}
}

// TestNoNodes checks what an engine that is alone answers to whoever asks for nodes.
func TestNoNodes(t *testing.T) {
	f := newFixture(t)
	f.expect("GET", "/admin/cluster", "", 404, problem(404, "no such path"))
	f.expect("POST", "/admin/cluster/handover", `{"to":"b"}`, 404, problem(404, "no such path"))
	f.expect("POST", "/admin/cluster/nodes", `{"node":"d","url":"http://127.0.0.1:1"}`, 404, problem(404, "no such path"))
	f.expect("DELETE", "/admin/cluster/nodes/c", "", 404, problem(404, "no such path"))
}

// richHistory has of each kind one in which everything is said.
type richHistory struct{ History }

func everything() *ledger.Transaction {
	other := pix.NewTxID(testNow, [10]byte{9})
	return &ledger.Transaction{
		ID: pix.NewTxID(testNow, [10]byte{8}), Kind: pix.TxPayout, Status: pix.StatusRejected, Amount: 7, EndToEnd: "E9999900420260921132000000000001", ExternalID: "o-1",
		ReasonCode: "DUPL", CreatedAt: testNow, BookedAt: testNow, Counterparty: pix.Party{Name: "Zé", Document: "12345678000195", ISPB: "60701190"},
		Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyEmail, Value: "z@x.br"}, DuplicateOf: &other},
	}
}

func (richHistory) Anyone(id string) (*ledger.Owned, error) {
	tx := everything()
	if id == "refund" {
		tx.Kind, tx.Status, tx.Refund = pix.TxRefund, pix.StatusSettled, ledger.RefundPart{Original: tx.ID, OriginalEndToEnd: tx.EndToEnd, OriginalAmount: 9, Code: "FR01", Case: &pix.CaseID{1}}
	}
	return &ledger.Owned{Account: 7, Tx: tx}, nil
}

func (h richHistory) Life(id string) (*ledger.Life, error) {
	o, _ := h.Anyone(id)
	payment, refund := *o.Tx, *o.Tx
	payment.Kind, payment.Status, refund.Kind, refund.ID = pix.TxReceipt, pix.StatusCompleted, pix.TxRefund, pix.NewTxID(testNow, [10]byte{7})
	declined := *o.Tx
	declined.Payout.Decision, declined.Payout.Operator = ledger.Declined, "ana"
	k, _ := h.AnyCase(id)
	body := ledger.Body{Totals: ledger.Totals{Events: 2}, Tx: &declined, Events: []pix.EventKind{pix.EventPayoutFailed, pix.EventCompleted}}
	r := &ledger.Record{Account: 7, Seq: 3, Time: testNow, Kind: ledger.PayoutFailed, Body: body}
	status := &layout.DeliveryStatus{Why: "w", Attempts: []layout.Attempt{{At: testNow + 9, Status: 500}, {At: testNow + 1, Err: "timeout"}}}
	return &ledger.Life{
		Owned: *o, Original: &payment, Complete: true,
		Records: []*ledger.Record{
			{Account: 7, Seq: 2, Time: testNow - 5, Kind: ledger.CaseOpened, Body: ledger.Body{Case: k.Case}},
			r,
			{Account: 7, Seq: 4, Time: testNow + 5, Kind: ledger.RefundHeld, Body: ledger.Body{Tx: &refund, Events: []pix.EventKind{pix.EventRefundFailed}}},
		},
		Deliveries: []ledger.DeliveryItem{
			{Target: layout.Target{Account: 7, Number: 1}, Event: r.Event(0), State: layout.DeliveryDead, Status: status},
			{Target: layout.Target{Account: 7, Number: 2}, Event: r.Event(1)},
		},
	}, nil
}

func (richHistory) Booked(pix.AccountID, pix.Millis, pix.Millis) (first, last uint64, err error) {
	return 1, 1, nil
}

func (richHistory) Movements(pix.AccountID, uint64, uint64) ([]*ledger.Transaction, error) {
	tx := everything()
	tx.Kind, tx.Status, tx.ReasonCode, tx.Refunded = pix.TxReceipt, pix.StatusCompleted, "", 3
	tx.Receipt.Key, tx.Receipt.Txid = "a@b.com", "t1"
	return []*ledger.Transaction{tx}, nil
}

func (richHistory) AnyCase(string) (*ledger.OwnedCase, error) {
	return &ledger.OwnedCase{Account: 7, Case: &ledger.Case{
		ID: pix.CaseID{1}, Ordinal: 1, Infraction: "i", Original: pix.NewTxID(testNow, [10]byte{8}), EndToEnd: "E9999900420260921132000000000001", Amount: 9, Situation: "SCAM",
		Status: pix.CaseDefended, OpenedAt: testNow, DeadlineAt: testNow, AnalysisAt: testNow,
		Defense: &ledger.Defense{Justification: "j", Result: pix.Disagreed, Contact: "c", SubmittedAt: testNow},
	}}, nil
}

func (richHistory) AllDeliveries(pix.AccountID, uint32, layout.DeliveryState, []byte, int) (layout.Listed[ledger.DeliveryItem], error) {
	d := ledger.DeliveryItem{Target: layout.Target{Account: 7, Number: 3}, State: layout.DeliveryDead, Event: ledger.Event{ID: pix.EventID{15: 9}, Kind: pix.EventReceived, Sequence: 1}}
	d.Status = &layout.DeliveryStatus{Why: "the receiver has ended it", CreatedAt: testNow, Due: testNow, Attempts: []layout.Attempt{{At: testNow, Status: 500, Took: 3}, {At: testNow, Err: "timeout"}}}
	return layout.Listed[ledger.DeliveryItem]{Entries: []ledger.DeliveryItem{d}, Next: []byte{1}, Damaged: 2}, nil
}

func (richHistory) Subscription(layout.Target) (*ledger.Subscription, error) {
	return &ledger.Subscription{ID: pix.NewSubscriptionID(7, 3, [4]byte{1}), Events: pix.EventMask(0).With(pix.EventReceived), CreatedAt: testNow}, nil
}

func (h richHistory) AllSubscriptions(pix.AccountID, []byte, int) (layout.Listed[*ledger.Subscription], error) {
	k, _ := h.Subscription(layout.Target{})
	return layout.Listed[*ledger.Subscription]{Entries: []*ledger.Subscription{k}, Next: []byte{1}, Damaged: 1}, nil
}

func (richHistory) Backlog(layout.Target) (pending, dead uint64, err error) { return 1, 2, nil }

func (h richHistory) AllCases(status pix.CaseStatus, after []byte, limit int) (layout.Listed[ledger.OwnedCase], error) {
	k, err := h.AnyCase("")
	return layout.Listed[ledger.OwnedCase]{Entries: []ledger.OwnedCase{*k}, Damaged: 1}, err
}

// TestEverythingSaid checks that each member of an answer can be said.
func TestEverythingSaid(t *testing.T) {
	f := whole(t)
	id := f.create()
	f.options.History = richHistory{f.options.History}
	f.handler = New(f.options)
	for _, path := range []string{
		"/admin/transactions/x", "/admin/transactions/refund", "/admin/med", "/admin/med/x", "/admin/webhook-deliveries", "/admin/webhooks",
		"/admin/webhooks?limit=1", "/admin/webhook-deliveries?limit=1&status=dead", "/admin/webhook-deliveries?webhook_id=" + pix.NewSubscriptionID(7, 3, [4]byte{1}).String(),
		"/admin/operators?cursor=", "/admin/snapshots?cursor=", id + "/api-keys?cursor=",
	} {
		if status, got := f.send("GET", path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	host := "http://" + f.serve().String()
	for _, query := range []string{"", "?from=2026-09-21&to=2026-09-22&format=json", "?format=csv"} {
		at := id + "/statement" + query
		answer := download(t, host+at)
		body, err := io.ReadAll(answer.Body)
		if err == nil {
			err = contract.Check(openapitest.Exchange{Method: "GET", URL: at, Status: answer.StatusCode, Header: answer.Header, Answer: body})
		}
		if err != nil {
			t.Error(err)
		}
	}
	f.expect("POST", "/admin/accounts", `{"name":"Ana","document":"12345678909","fees":{"cash_out":{"fixed":1,"bps":2}}}`, 201, `{…`)
	for range 2 {
		key := member(t, f.expect("POST", id+"/api-keys", `{"permissions":["pix:read"]}`, 201, `{…`), "client_id")
		k, _ := f.keys.APIKey(key)
		k.Used(testNow)
	}
	f.expect("GET", id+"/api-keys?limit=1", "", 200, `{…`)
	f.expect("GET", id+"/statement?format=xls", "", 400, problem(400, "format must be csv or json"))
	f.expect("GET", "/admin/accounts/acc_x/statement", "", 404, `{"error":{"status":404,…`)
	s := &service{Options: f.options, exports: fair.New[string](fair.Bounds{Places: 1, Share: 1})}
	if err := s.exports.Take(t.Context(), "another operator"); err != nil {
		t.Fatal(err)
	}
	r := router.New()
	s.routes(r)
	f.handler = r.Handler
	f.expect("GET", id+"/statement", "", 503, `{"error":{"status":503,…`)
}
