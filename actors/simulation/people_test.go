package simulation

import (
	"fmt"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// people are the clients and operators: their requests, and the answers that they got.
type people struct {
	asked    []*request              // requests without an answer yet
	answers  []answer                // every answer about a transaction
	cases    []caseAnswer            // every answer about a case
	kept     map[string]*kept        // answers by idempotency key
	credited map[string]bool         // for each credit's reference, whether the credit was confirmed
	times    map[string][]pix.Millis // the simulated times of the requests with each key
	unsure   map[string]bool         // keys with a request while engine time was doubted
	reads    []ledger.Account        // heads that reads showed
	replays  []replay
	numbers  int
	entries
}

// request is one request of a client or an operator, and the function that makes its command
// again.
type request struct {
	account pix.AccountID
	make    func() ledger.Command
	key     string // idempotency key; empty: none
	at      pix.Millis
	asked   *account.Asked
	refund  *ledger.RefusalCode // the answer that a refund request must get; nil: unknown
	verdict *verdict            // the answer that a payout request must get; nil: unknown
	inTime  bool                // the request is a defence that must be taken
	joins   bool                // a request with the same key was sent before this one
	other   bool                // the request's body differs from the body of the key's first request
	atOnce  bool                // the key's first request may still have been in progress when this one was sent
	renewed bool                // the request's end-to-end id is the former id of a payout in flight or settled
}

// answer is an answer about a transaction that a client has received.
type answer struct {
	account pix.AccountID
	tx      ledger.Transaction
	refused bool
}

func newPeople() people {
	return people{entries: newEntries(), kept: map[string]*kept{}, times: map[string][]pix.Millis{}, unsure: map[string]bool{}, credited: map[string]bool{}}
}

// ask sends a request.
func (l *life) ask(r *request) {
	again := *r
	again.at = l.clock
	for _, other := range l.asked {
		if r.key != "" && other.key == r.key {
			l.count("asked: twice at once")
			break
		}
	}
	if r.key != "" {
		again.joins = len(l.times[r.key]) > 0
		l.times[r.key] = append(l.times[r.key], again.at)
		l.unsure[r.key] = l.unsure[r.key] || l.time.Doubted()
	}
	l.count(fmt.Sprintf("asked: %T", r.make()))
	l.say("%v is asked %T under %q", r.account, r.make(), r.key)
	command := again.make()
	if c, ok := command.(ledger.RequestPayout); ok {
		l.judged(&again, &c)
	}
	again.asked = l.account(r.account).Do(command)
	l.asked = append(l.asked, &again)
}

func (l *life) claim(key string) *ledger.Claim {
	if key == "" {
		return nil
	}
	c := &ledger.Claim{}
	copy(c.Scope[:], key)
	return c
}

var scripts = []string{
	"ana@example.com", "eva@example.com", "settle-now@pix.test", "reject-ac03@pix.test", "owner-12345678000195@pix.test", "silent@pix.test", "send-rate-limited@pix.test", "returned@pix.test",
	"not-found@pix.test", "lookup-failed@pix.test", "client-limited-2@pix.test", "bucket-exhausted-1@pix.test",
	"provider-rejected@pix.test", "client-limited@pix.test",
}

// payout asks for a payout. Amounts and PIX keys come from a small set, so that many payouts
// are equal.
func (l *life) payout() {
	id := l.someone()
	payTo := l.someKey()
	amount := 10_000 * pix.Amount(1+l.rng.IntN(5))
	own := ""
	if l.odds(8) { // accounts compete for a few ids: the registry gives each id to one account
		own = pix.EndToEnd(ispb, l.clock, fmt.Sprintf("own%08d", l.rng.IntN(8)))
		if !l.ownID(id, own) {
			return
		}
	}
	key := ""
	if l.odds(2) {
		l.numbers++
		key = fmt.Sprintf("p%d", l.numbers)
	}
	c := ledger.RequestPayout{Amount: amount, Key: payTo, EndToEnd: own}
	l.details(&c)
	l.ask(&request{account: id, key: key, make: func() ledger.Command {
		c := c
		c.Claim = l.claim(key)
		return c
	}})
}

func (l *life) someone() pix.AccountID { return pix.AccountID(1 + l.dice().IntN(int(l.known))) }

func (l *life) charge() { l.chargeOf(l.someone()) }

func (l *life) chargeOf(id pix.AccountID) {
	key := ""
	if l.odds(2) {
		l.numbers++
		key = fmt.Sprintf("c%d", l.numbers)
	}
	l.ask(&request{account: id, key: key, make: func() ledger.Command {
		return ledger.CreateCharge{Amount: 5_000, Key: pix.Key{Type: pix.KeyEVP, Value: keyOf(id)}, Claim: l.claim(key)}
	}})
}

// credit credits an account with an amount under a new reference. Repeats of the request must
// credit the amount once.
func (l *life) credit(id pix.AccountID, amount pix.Amount) {
	l.numbers++
	reference := fmt.Sprintf("%d %d %d", id, amount, l.numbers)
	l.credited[reference] = false
	l.creditAgain(reference)
}

func (l *life) creditAgain(reference string) {
	var id pix.AccountID
	var amount pix.Amount
	var n int
	if _, err := fmt.Sscan(reference, &id, &amount, &n); err != nil {
		l.fail("%v", err)
	}
	l.ask(&request{account: id, make: func() ledger.Command {
		return ledger.Credit{Kind: pix.TxTED, Amount: amount, Reference: reference}
	}})
}

// creditOtherwise repeats a used reference with another amount.
func (l *life) creditOtherwise() {
	for reference, done := range sorted(l.credited) {
		var id pix.AccountID
		var amount pix.Amount
		if _, err := fmt.Sscan(reference, &id, &amount); err != nil || !done || l.odds(2) {
			continue
		}
		l.count("asked: another amount under a reference")
		l.ask(&request{account: id, make: func() ledger.Command {
			return ledger.Credit{Kind: pix.TxTED, Amount: amount + 1, Reference: reference}
		}})
		return
	}
}

// again repeats a request that has a key: a request that still waits, or one that was
// answered earlier.
func (l *life) again() {
	if len(l.asked) > 0 && l.odds(2) {
		if r := l.asked[l.rng.IntN(len(l.asked))]; r.key != "" && !r.other {
			if claimsOf(r.make()) != nil && l.odds(4) {
				r = l.otherwise(r)
				r.atOnce = true
			}
			l.ask(r)
		}
		return
	}
	if l.numbers > 0 {
		for _, kind := range [...]string{"p", "c", "k", "r", "d", "w"} {
			if k := l.kept[fmt.Sprint(kind, 1+l.rng.IntN(l.numbers))]; k != nil {
				if kind != "k" && l.odds(4) && l.answered(k.request.key) {
					l.ask(l.otherwise(k.request))
					continue
				}
				later := *k.request
				later.inTime = false // the deadline may have passed, and the answer may be forgotten
				l.ask(l.perhapsRecalled(&later))
			}
		}
	}
}

const day = pix.Millis(24 * 3_600_000)

// clocksDiffer is how far, in ms, a span of engine time may differ from simulated time while
// engine time is not doubted: engine time may be wrong at both ends of the span.
const clocksDiffer = pix.Millis(125_000)

// idle sends a request with a key that changes nothing in the account. Its answer is kept
// under the key.
func (l *life) idle() {
	l.numbers++
	key, said := fmt.Sprintf("k%d", l.numbers), 0
	l.ask(&request{account: l.someone(), key: key, make: func() ledger.Command {
		said++ // each call gives another answer: only the first one is kept
		return ledger.KeepAnswer{Claim: l.claim(key), Stored: ledger.Stored{Code: 200, Body: fmt.Append(nil, key, " ", said)}}
	}})
}

// perhapsRecalled returns the request itself, or a request that only asks for the answer that
// is kept under its key.
func (l *life) perhapsRecalled(r *request) *request {
	if !l.odds(3) {
		return r
	}
	recall := *r
	recall.make = func() ledger.Command { return ledger.Recall{Claim: l.claim(r.key)} }
	return &recall
}

// recalledNothing checks that a key for which the engine found no kept answer was not
// answered less than a day ago.
func (l *life) recalledNothing(r *request) {
	if l.answered(r.key) {
		l.fail("%v: nothing is known of %s, which was answered", r.account, r.key)
	}
}
