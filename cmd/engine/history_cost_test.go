package engine

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
)

var historyOf = flag.Int("history.n", 0, "how many of each kind of thing the account with a history has; 0: 3,000, and 600 with -short")

// historic is an account of which everything is over but a little, and a count of what is read
// of the journal.
type historic struct {
	*harness
	reads atomic.Int64

	id                           ledger.AccountID
	payment                      *ledger.Transaction
	open                         *ledger.Case
	webhook                      hook
	oldest, oldestRef, oldestE2E string
	waiting                      string // the event of the delivery that waits since the last
}

// withHistory makes an account that has had n of each kind of thing.
func withHistory(t *testing.T, n int) *historic {
	h := &historic{}
	h.harness = newHarness(t, vfs.NewMem(), insecure, func(c *Config) {
		c.readFault = func() error { h.reads.Add(1); return nil }
		c.RateLimit = 0
	})
	h.id, _ = ledger.ParseAccountID(h.ID)
	h.money(n)
	h.webhook = h.hooks("http://127.0.0.1:1/hook", `"pix.med.closed"`)
	h.people(n) // each case that ends leaves a delivery that waits
	h.payment = h.do(ledger.ReceivePayment{EndToEnd: paidUnder(1_000_000), Amount: 100_000, Key: "k"}).Tx
	h.do(ledger.OpenCase{Infraction: "open", EndToEnd: paidUnder(1_000_000), Amount: 100, Situation: "SCAM"})
	h.open = h.do(ledger.OpenCase{Infraction: "open2", EndToEnd: paidUnder(1_000_000), Amount: 100, Situation: "SCAM"}).Case
	h.do(ledger.CreateCharge{Amount: 100, ExternalID: "newest", Key: ledger.Key{Type: ledger.KeyEVP, Value: "00000000-0000-4000-8000-000000000000"}})
	settled(t, h.Store)
	h.becomes("all wait", 20*time.Second, func() bool {
		all := h.deliveries(h.webhook.ID, fmt.Sprintf("?per_page=1&page=%d", n))
		if len(all) == 1 {
			h.waiting = all[0].Event
		}
		return len(all) == 1
	})
	return h
}

func paidUnder(n int) string { return fmt.Sprintf("E99999003202603011200%011d", n) }

func (h *historic) do(c ledger.Command) ledger.Answer {
	a, err := h.Accounts.Do(h.id, c)
	if err != nil || a.Refusal != nil {
		h.t.Errorf("%T: %v %+v", c, err, a.Refusal)
	}
	return a
}

// each calls fn n times from some goroutines.
func (h *historic) each(n int, fn func(i int)) {
	var work sync.WaitGroup
	next := atomic.Int64{}
	for range 32 {
		work.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				fn(i)
			}
		})
	}
	work.Wait()
}

// money makes transactions: credits, charges under one external id, payments, payouts that have
// settled, equal payouts that were rejected, and refunds.
func (h *historic) money(n int) {
	h.do(ledger.Credit{Kind: ledger.TxTED, Amount: 1 << 45})
	key := ledger.Key{Type: ledger.KeyEVP, Value: "00000000-0000-4000-8000-000000000000"}
	h.each(n, func(i int) {
		h.do(ledger.Credit{Kind: ledger.TxTED, Amount: 10, Reference: fmt.Sprint("ref", i)})
		h.do(ledger.CreateCharge{Amount: 100, ExternalID: "shop", Key: key})
		tx := h.do(ledger.ReceivePayment{EndToEnd: paidUnder(i), Amount: 1000, Key: "k"}).Tx
		if i == 1 {
			h.oldest, h.oldestE2E = tx.Public(), tx.EndToEnd
		}
		for _, to := range []string{fmt.Sprintf("settle-now+%d@pix.test", i), "settle-now@pix.test"} { // of the second only one moves money
			h.do(ledger.RequestPayout{Amount: 10_000, Key: ledger.Key{Type: ledger.KeyEmail, Value: to}, ExternalID: fmt.Sprint("out-", i)})
		}
		h.do(ledger.RequestRefund{Original: paidUnder(i), Amount: 100, Reason: "MD06"})
	})
	h.oldestRef = "out-1"
}

// people makes cases that were withdrawn, and subscriptions that were removed.
func (h *historic) people(n int) {
	h.each(n, func(i int) {
		infraction := fmt.Sprint("i", i)
		h.do(ledger.OpenCase{Infraction: infraction, EndToEnd: paidUnder(i), Amount: 100, Situation: "SCAM"})
		h.do(ledger.CancelCase{Infraction: infraction, EndToEnd: paidUnder(i)})
	})
	for range n {
		s := h.do(ledger.Subscribe{URL: "https://merchant.example/hook", Events: 1, Secret: make([]byte, 32)}).Subscription
		h.do(ledger.EndSubscription{ID: s.ID})
	}
}

// costly is one request, whose cost must not follow the history.
type costly struct {
	method, path, body string
	want               int // status
	// bound is the stated bound of what it reads, where that follows the history up to it.
	bound int64
}

// requests are the merchant's requests, each about the newest or the oldest thing.
func (h *historic) requests() []costly {
	get := func(path string, bound int64) costly { return costly{"GET", path, "", 200, bound} }
	post := func(path, body string, want int) costly { return costly{"POST", path, body, want, 0} }
	return []costly{
		get("/balance", 0), get("/statement", 0), get("/statement?page=7", 0), get("/transactions", 0), get("/transactions?page=7", 0),
		get("/transactions?date_from=2020-01-01", 0), get("/transactions/"+h.oldest, 0), get("/transactions/tag/"+h.oldest, 0),
		get("/transactions/e2e/"+h.oldestE2E, 0), get("/transactions/"+h.oldest+"/receipt", 0), get("/transactions/ref/"+h.oldestRef, 0),
		get("/transactions/ref/newest", 0), get("/transactions/ref/shop", 2*1000+200), get("/transactions?external_id=shop", 0), get("/transactions?external_id=newest", 0),
		get("/pix/keys", 0), get("/med", 0), get("/med/"+h.open.ID.String(), 0), get("/webhooks", 0), get("/webhooks/"+h.webhook.ID+"/deliveries", 0),
		get("/webhooks/"+h.webhook.ID+"/deliveries?status=dead", 0),
		post("/pix/cash-in", `{"amount":100,"external_id":"shop"}`, 200),
		post("/pix/cash-out", `{"amount":100,"external_id":"again","pix_key":"settle-now@pix.test"}`, 202),
		post("/pix/cash-out", `{"amount":300,"pix_key":"settle-now@pix.test"}`, 200),
		post("/pix/refund", fmt.Sprintf(`{"amount":1,"original_transaction_id":%q}`, h.payment.Public()), 202),
		post("/pix/refund", fmt.Sprintf(`{"amount":1,"original_transaction_id":%q}`, h.oldest), 202),
		post("/med/"+h.open.ID.String()+"/defense", `{"justification":"it was delivered"}`, 200),
		post("/webhooks", `{"events":["pix.received"],"url":"http://127.0.0.1:1/other"}`, 200),
		post("/webhooks/"+h.webhook.ID+"/deliveries/"+h.waiting+"/retry", `{}`, 202),
		post("/cpf/validate", `{"cpf":"12345678909"}`, 200),
	}
}

// cost makes a request and returns how often the journal was read for it; of a read, which changes
// nothing, the least of three times, because the engine's own rounds read too.
func (h *historic) cost(r *costly) int64 {
	h.t.Helper()
	cost := h.once(r)
	if r.method == "GET" {
		cost = min(cost, h.once(r), h.once(r))
	}
	return cost
}

func (h *historic) once(r *costly) int64 {
	h.t.Helper()
	settled(h.t, h.Store)
	before := h.reads.Load()
	var status int
	var got string
	if r.method == "GET" {
		status, got = h.get(r.path)
	} else {
		status, got, _ = h.post(r.path, r.body)
	}
	cost := h.reads.Load() - before
	if status != r.want {
		h.t.Errorf("%s %s %s: %d %s", r.method, r.path, r.body, status, got)
	}
	return cost
}

// background is what the engine's own rounds may read while a request is answered.
const background = 150

// TestCostWithHistory checks that no request's cost follows what is over: each request reads at
// most twice as much of the journal on an account with thousands of transactions, equal external
// ids, equal payouts, cases and removed subscriptions as on one with a hundred of each, or at most
// the bound that is stated for it. With -history.n=200000 it takes the better part of an hour.
func TestCostWithHistory(t *testing.T) {
	n := *historyOf
	if n == 0 {
		if n = 3000; testing.Short() {
			n = 600
		}
	}
	few, many := withHistory(t, 100), withHistory(t, n)
	all := many.requests()
	for i, r := range few.requests() {
		path, _, _ := strings.Cut(r.path, "?")
		least, most := few.cost(&r), many.cost(&all[i])
		if most > 2*least+background && most > r.bound {
			t.Errorf("%s %s: %d reads with a hundred of each, %d with %d", r.method, path, least, most, n)
		}
		t.Logf("%-4s %-60s %5d reads, with %d of each %5d", r.method, r.path, least, n, most)
	}
}
