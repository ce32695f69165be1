package bench

import (
	"cmp"
	"fmt"
	"strconv"
)

// kind is a kind of request.
type kind uint8

const (
	balance kind = iota
	cashIn
	cashOut
	refund
	statement
	kinds
)

// Scenario is a load that has a name: kinds of requests and their shares.
type Scenario struct {
	Name string
	Says string // what it is, for the help text

	// pattern is the order of the kinds; each account's requests follow it, again and again.
	pattern []kind
}

// Neighbours returns the scenario that compares a modest account alone with the same beside
// a greedy one. It is loaded alone, with accounts and rates of its own.
func Neighbours() Scenario {
	return Scenario{Name: neighbours, Says: "a modest account's latencies alone and beside a greedy one, for each way of being greedy"}
}

// Scenarios returns the scenarios of the canonical workload, in its order.
func Scenarios() []Scenario {
	return []Scenario{
		{"balance", "reads of the balance", []kind{balance}},
		{"cash-in", "charges with their QR codes", []kind{cashIn}},
		{"cash-out", "payouts by key: held, accepted, settled", []kind{cashOut}},
		{"refund", "refunds of received payments, named by end-to-end id", []kind{refund}},
		{"statement", "first pages of statements, with 20 rows", []kind{statement}},
		{"mixed", "of 20 requests 8 balances, 5 cash-outs, 4 cash-ins, 2 statements, 1 refund", mixed},
	}
}

// mixed spreads the kinds evenly.
var mixed = []kind{
	balance, cashOut, cashIn, balance, statement, balance, cashOut, cashIn, balance, cashOut,
	balance, refund, cashIn, balance, cashOut, balance, statement, cashIn, cashOut, balance,
}

// FindScenario returns the scenario with a name.
func FindScenario(name string) (Scenario, error) {
	names := ""
	for _, s := range append(Scenarios(), Neighbours()) {
		if s.Name == name {
			return s, nil
		}
		names += ", " + s.Name
	}
	return Scenario{}, fmt.Errorf("--scenario %q: one of %s", name, names[2:])
}

// needs reports whether the scenario has requests of a kind.
func (s *Scenario) needs(k kind) bool {
	for _, p := range s.pattern {
		if p == k {
			return true
		}
	}
	return false
}

// of returns the kind of request i, and the place of its account among all. Requests go to the
// accounts in turn; each account's requests follow the pattern, and accounts begin at different
// places of it.
func (s *Scenario) of(i, accounts int) (k kind, account int) {
	account = i % accounts
	return s.pattern[(i/accounts+account)%len(s.pattern)], account
}

// paths are the requests' paths.
var paths = [kinds]string{
	balance: "/balance", cashIn: "/pix/cash-in", cashOut: "/pix/cash-out", refund: "/pix/refund", statement: "/statement",
}

// writes reports whether requests of a kind have a body, which is signed, and change a book.
func (k kind) writes() bool { return k == cashIn || k == cashOut || k == refund }

// prefixes begin the public identifiers of what requests make.
var prefixes = [kinds]string{cashIn: "PIXIN", cashOut: "PIXOUT", refund: "PIXRET"}

// centavos is the amount of request i: 1.00 to 10.99 BRL for charges and payouts.
func centavos(k kind, i int, payments int) int64 {
	if k == refund {
		return 100 + int64(i/payments)%partialRefunds
	}
	return 100 + int64(i%1000)
}

// appendBody appends the body of request i, in canonical form. tag makes the recipients' keys of
// a run its own, because a payout of the same amount to the same key is a repeat of the first.
func (w *work) appendBody(b []byte, k kind, i int) []byte {
	b = append(b, `{"amount":`...)
	b = strconv.AppendInt(b, centavos(k, i, max(len(w.payments), 1)), 10)
	switch k {
	case cashIn:
		return append(b, `,"description":"load test"}`...)
	case cashOut:
		b = append(b, `,"description":"load test","pix_key":"`...)
		b = append(b, w.tag...)
		b = strconv.AppendInt(b, int64(i/1000), 10)
		b = append(b, cmp.Or(w.domain, "@example.com")...)
		return append(b, `"}`...)
	default:
		b = append(b, `,"description":"load test","original_transaction_id":"`...)
		b = append(b, w.payments[i%len(w.payments)].endToEnd...)
		return append(b, `"}`...)
	}
}
