package engine

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

var historyOf = flag.Int("history.n", 0, "how many of each kind of thing the account with a history has; 0: 3,000, and 600 with -short")

// historic is an account of which everything is over but a little, and a count of what is read
// of the journal.
type historic struct {
	*harness
	reads atomic.Int64

	long                         bool // it may have too much for a filtered list
	id                           pix.AccountID
	payment                      *ledger.Transaction
	open                         *ledger.Case
	webhook, delivered, removed  hook
	oldest, oldestRef, oldestE2E string
	equalE2E                     string // the id that equal payouts share
	key                          string // an idempotency key whose answer is stored
	waiting                      string // the event of the delivery that waits since the last
}

// withHistory makes an account that has had n of each kind of thing.
func withHistory(t *testing.T, n int) *historic {
	h := &historic{long: n > 10_000}
	h.harness = newHarness(t, vfs.NewMem(), insecure, func(c *Config) {
		c.readFault = func() error { h.reads.Add(1); return nil }
		c.RateLimit = 0
	})
	h.id, _ = pix.ParseAccountID(h.ID)
	r := newReceiver(t)
	h.delivered = h.hooks(r.URL+"/paid", `"pix.received"`) // each payment that comes in leaves a delivery that was made
	h.money(n)
	h.webhook = h.hooks("http://127.0.0.1:1/hook", `"pix.med.closed"`)
	h.people(n) // each case that ends leaves a delivery that waits
	h.keys(min(n, 3000))
	h.payment = h.do(ledger.ReceivePayment{EndToEnd: paidUnder(1_000_000), Amount: 100_000, Key: "k"}).Tx
	h.do(ledger.OpenCase{Infraction: "open", EndToEnd: paidUnder(1_000_000), Amount: 100, Situation: "SCAM"})
	h.open = h.do(ledger.OpenCase{Infraction: "open2", EndToEnd: paidUnder(1_000_000), Amount: 100, Situation: "SCAM"}).Case
	h.removed = h.hooks("http://127.0.0.1:1/gone", `"pix.return.received"`)
	h.key = "the-first"
	if status, got, _ := h.post("/pix/cash-in", `{"amount":7}`, "Idempotency-Key", h.key); status != 200 {
		t.Errorf("%d %s", status, got)
	}
	h.do(ledger.CreateCharge{Amount: 100, ExternalID: "newest", Key: pix.Key{Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000000"}})
	settled(t, h.Store)
	h.becomes("all are delivered", 60*time.Second+time.Duration(n)*5*time.Millisecond, func() bool {
		return len(h.deliveries(h.delivered.ID, fmt.Sprintf("?status=delivered&per_page=1&page=%d", n))) == 1
	})
	h.becomes("all wait", 60*time.Second+time.Duration(n)*5*time.Millisecond, func() bool {
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
	h.do(ledger.Credit{Kind: pix.TxTED, Amount: 1 << 45})
	key := pix.Key{Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000000"}
	h.each(n, func(i int) {
		h.do(ledger.Credit{Kind: pix.TxTED, Amount: 10, Reference: fmt.Sprint("ref", i)})
		h.do(ledger.CreateCharge{Amount: 100, ExternalID: "shop", Key: key, Claim: claimOf(i)})
		tx := h.do(ledger.ReceivePayment{EndToEnd: paidUnder(i), Amount: 1000, Key: "k"}).Tx
		if i == 1 {
			h.oldest, h.oldestE2E = tx.Public(), tx.EndToEnd
		}
		for _, to := range []string{fmt.Sprintf("settle-now+%d@pix.test", i), "settle-now@pix.test"} { // of the second only one moves money
			a := h.do(ledger.RequestPayout{Amount: 10_000, Key: pix.Key{Type: pix.KeyEmail, Value: to}, ExternalID: fmt.Sprint("out-", i)})
			if i == 1 && a.Tx != nil {
				h.equalE2E = a.Tx.EndToEnd // in the end that of the second
			}
		}
		h.do(ledger.RequestRefund{Original: paidUnder(i), Amount: 100, Reason: "MD06"})
	})
	h.oldestRef = "out-1"
}

// claimOf is the claim of an idempotency key that was used today.
func claimOf(i int) *ledger.Claim {
	at := pix.Millis(time.Now().UnixMilli())
	c := &ledger.Claim{Bucket: uint16(at / (24 * 60 * 60 * 1000)), At: at}
	binary.BigEndian.PutUint64(c.Scope[:], uint64(i))
	return c
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

// keys makes PIX keys that were given back, and API keys that were revoked. These lie in memory, so
// that no reads of the journal show what they cost.
func (h *historic) keys(n int) {
	h.t.Helper()
	account := "/admin/accounts/" + h.ID
	var made struct {
		Key    string
		Client string `json:"client_id"`
	}
	ask := func(method, path, body string) {
		status, got := h.operate(method, path, body)
		if status/100 != 2 || method == "POST" && json.Unmarshal([]byte(got), &made) != nil {
			h.t.Fatalf("%s %s: %d %s", method, path, status, got)
		}
	}
	for range n {
		ask("POST", account+"/pix-keys", `{"key_type":"evp"}`)
		ask("DELETE", account+"/pix-keys/"+made.Key, "")
		ask("POST", account+"/api-keys", `{"permissions":["*"],"ip_whitelist":["127.0.0.1"]}`)
		ask("DELETE", "/admin/api-keys/"+made.Client, "")
	}
}

// fastest returns the least time of fifty requests of a path.
func (h *historic) fastest(path string) time.Duration {
	h.t.Helper()
	least := time.Hour
	for range 50 {
		began := time.Now()
		if status, got := h.get(path); status != 200 {
			h.t.Errorf("%s: %d %s", path, status, got)
		}
		least = min(least, time.Since(began))
	}
	return least
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

// quiet waits until what earlier requests have begun, such as deliveries, reads nothing any more.
func (h *historic) quiet() {
	for end, read := time.Now().Add(5*time.Second), int64(-1); read != h.reads.Load() && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		read = h.reads.Load()
	}
}

func (h *historic) once(r *costly) int64 {
	h.t.Helper()
	settled(h.t, h.Store)
	h.quiet()
	before := h.reads.Load()
	var status int
	var got string
	began := time.Now()
	switch {
	case r.accept != "":
		status, got, _ = h.send("GET", "http://"+h.MerchantAddr.String()+"/api/external"+r.path, "", "Authorization", "ApiKey "+h.Key+":"+h.Sec, "Accept", r.accept)
	case r.method == "GET":
		status, got = h.get(r.path)
	case r.method == "DELETE":
		status, got = h.remove(path.Base(r.path))
	case r.method == "PATCH":
		status, got = h.patched(path.Base(r.path), r.body)
	case r.key != "":
		status, got, _ = h.post(r.path, r.body, "Idempotency-Key", r.key)
	default:
		status, got, _ = h.post(r.path, r.body)
	}
	cost := h.reads.Load() - before
	if took := time.Since(began); r.within != 0 && took > r.within+time.Second {
		h.t.Errorf("%s takes %v", r.path, took)
	}
	if status != r.want && !(h.long && r.within != 0 && status == 503) {
		h.t.Errorf("%s %s %s: %d %s", r.method, r.path, r.body, status, got)
	}
	return cost
}

// background is what the engine's own rounds may read while a request is answered.
const background = 150

// TestCostWithHistory checks that no request's cost follows what is over: each request reads at
// most twice as much of the journal on an account with thousands of transactions, equal external
// ids, equal payouts, cases, idempotency keys, deliveries, removed subscriptions, PIX keys and API
// keys as on one with a hundred of each, or at most the bound that is stated for it. What is read of
// the journal is compared, and not time, which the machine's other work changes; a read that follows
// a history shows with thousands already. A filtered list may read everything, and its bound is a
// time. With -history.n=200000 it takes four minutes.
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
		least, most := few.cost(&r), many.cost(&all[i])
		if most > 2*least+background && most > r.bound && r.within == 0 {
			t.Errorf("%s %s: %d reads with a hundred of each, %d with %d", r.method, r.path, least, most, n)
		}
		t.Logf("%-4s %-60s %5d reads, with %d of each %5d", r.method, r.path, least, n, most)
	}
	for _, path := range []string{"/pix/keys", "/balance"} {
		if least, most := few.fastest(path), many.fastest(path); most > 2*least+time.Millisecond {
			t.Errorf("%s takes %v with a hundred of each, %v with %d", path, least, most, n)
		}
	}
}
