package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// greedy is the Source of an account that is greedy in one way.
type greedy struct {
	*session
	*way
	account int
	tag     string
	hook    *hook
	settled string // a transaction of which there is a receipt
}

// Request implements Source.
func (g *greedy) Request(b []byte, i int) []byte {
	r := g.next(g, i)
	if r.path == "" {
		return b // there are no more
	}
	return g.appendRequest(b, g.account, r)
}

// Answer implements Source.
func (g *greedy) Answer(i, status int, body []byte) {
	if r := g.next(g, i); r.body != "" {
		g.keep(i, g.account, r, status, body)
	}
}

func (g *greedy) load(d time.Duration) Load {
	return Load{
		Addr: g.target.addr, TLS: g.target.tls, From: g.from(1, len(g.target.from)), Connections: g.clients, Duration: d, Rate: g.rate, Source: g,
	}
}

// ways are those of being greedy, in the order in which they are measured. They leave the
// processors some room, because the generator works on the same ones: what is measured is who
// waits for whom, and no account can be kept from a saturated processor.
var ways = []way{
	{
		name: "balance polls", says: "3,000 balances a second", rate: 3000, clients: 256,
		next: func(*greedy, int) request { return request{path: paths[balance]} },
	},
	{
		name: "lists", says: "200 filtered lists a second over 20,000 transactions, half of them by one external_id that all have", rate: 200, clients: 256,
		ready: fill, next: (*greedy).list,
	},
	{
		name: "receipts", says: "200 receipts a second as PDFs", rate: 200, clients: 256,
		ready: findSettled,
		next: func(g *greedy, _ int) request {
			return request{path: "/transactions/" + g.settled + "/receipt", accept: "application/pdf"}
		},
	},
	{
		name: "slow webhooks", says: "20 subscriptions to receivers that answer 200 after 0.9 or 10 s, and 100 payouts a second", rate: 100, clients: 256,
		begin: subscribeSlow, next: (*greedy).payout,
	},
	{
		name: "equal payouts", says: "250 payouts a second of one amount to one key", rate: 250, clients: 256,
		next: func(g *greedy, _ int) request { return g.pay(100, g.tag+"@example.com") },
	},
	{
		name: "refunds at a dead provider", says: "the scheme is down for both; 100 refunds a second, each in doubt", rate: 100, clients: MostGreedy, down: true,
		world: killScheme, next: (*greedy).refund,
	},
	{
		name: "queued payouts", says: "500 payouts a second that wait for the institution's directory capacity; a fourth of the modest account's wait once", rate: 500, clients: 256, queued: true,
		next: func(g *greedy, i int) request {
			return g.pay(int64(100+i%1000), fmt.Sprintf("bucket-exhausted+%s%d@pix.test", g.tag, i/1000))
		},
	},
}

// pay returns a payout of some centavos.
func (g *greedy) pay(centavos int64, key string) request {
	return request{path: paths[cashOut], body: fmt.Sprintf(`{"amount":%d,"pix_key":"%s"}`, centavos, key), kind: cashOut, amount: 100 * centavos}
}

func (g *greedy) payout(i int) request {
	return g.pay(int64(100+i%1000), fmt.Sprintf("%s%d@example.com", g.tag, i/1000))
}

// refund refunds a part of one of the account's payments.
func (g *greedy) refund(i int) request {
	mine := g.payments[g.account+len(g.merchants)*(i/partialRefunds%(len(g.payments)/len(g.merchants)))]
	centavos := int64(100 + i%partialRefunds)
	body := fmt.Sprintf(`{"amount":%d,"original_transaction_id":"%s"}`, centavos, mine.endToEnd)
	return request{path: paths[refund], body: body, kind: refund, amount: 100 * centavos}
}

// historyLength is how many transactions the account of the lists has.
const historyLength = 20_000

// fill gives the account charges that all have one external_id.
func fill(ctx context.Context, g *greedy) error {
	charges := *g.way
	charges.next = func(g *greedy, i int) request {
		if i >= historyLength {
			return request{}
		}
		return request{path: paths[cashIn], body: `{"amount":100,"external_id":"` + g.tag + `"}`, kind: cashIn, amount: 10_000}
	}
	filler := *g
	filler.way = &charges
	l := filler.load(time.Minute)
	l.Rate, l.Connections = 0, closedConnections
	g.show(Progress{Stage: "preparing", What: "transactions"})
	if made := l.Run(ctx); made.Done < historyLength && ctx.Err() == nil {
		return fmt.Errorf("of %d charges %d were made: %s", historyLength, made.Done, showKinds(made.counts()))
	}
	return nil
}

// list returns a filtered list that finds nothing, or a page far down of one by external_id.
func (g *greedy) list(i int) request {
	if i%2 == 0 {
		return request{path: "/transactions?status=rejected"}
	}
	return request{path: fmt.Sprintf("/transactions?per_page=100&page=%d&external_id=%s", 1+i%100, g.tag)}
}

// findSettled finds the credit that the account was funded with.
func findSettled(ctx context.Context, g *greedy) error {
	var list struct{ Data []item }
	if err := g.merchantGet(ctx, &g.merchants[g.account], "/statement", &list); err != nil {
		return err
	}
	if len(list.Data) == 0 {
		return fmt.Errorf("account %s has no settled transaction", g.merchants[g.account].id)
	}
	g.settled = list.Data[0].TransactionID
	return nil
}

// subscribeSlow subscribes receivers that answer late, and returns what removes them.
func subscribeSlow(ctx context.Context, g *greedy) (func(context.Context) error, error) {
	var ids []string
	remove := func(ctx context.Context) error {
		for _, id := range ids {
			if err := g.unsubscribe(ctx, g.account, id); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range 20 {
		id, err := g.subscribeTo(ctx, g.account, g.hook.url(fmt.Sprintf("/slow?after=%dms&n=%d", []int{900, 900, 900, 10_000}[i%4], i)))
		if err != nil {
			return nil, errors.Join(err, remove(ctx))
		}
		ids = append(ids, id)
	}
	return remove, nil
}

// killScheme ends the scheme's simulator of an engine of our own; what it returns starts it again.
func killScheme(interrupted context.Context, s *session) (func(context.Context) error, error) {
	if s.second == nil {
		return nil, leftOut("the scheme is not pixbench's own, which it could end")
	}
	s.second.Kill()
	return func(ctx context.Context) error {
		if err := s.startSim(); err != nil {
			return err
		}
		if interrupted.Err() != nil {
			return nil
		}
		_, err := s.settled(ctx) // so that the next way meets no work of this one
		return err
	}, nil
}
