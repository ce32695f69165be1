package simulation

import (
	"fmt"

	"pixd/actors/account"
	"pixd/actors/ledger"
)

// people are the clients and operators: what they ask, and what they were told.
type people struct {
	asked    []*request                 // waiting
	answers  []answer                   // everything that was ever said of a transaction
	kept     map[string]*kept           // what was said under an idempotency key
	credited map[string]bool            // references of credits, and whether that was confirmed
	times    map[string][]ledger.Millis // when each key was asked under
	unsure   map[string]bool            // keys that were asked under while the clock was doubted
	reads    []ledger.Account           // what reads showed
	replays  []replay
	numbers  int
	entries
}

// request is a command on its way, and how to make it again.
type request struct {
	account ledger.AccountID
	make    func() ledger.Command
	key     string // idempotency key; empty: none
	at      ledger.Millis
	asked   *account.Asked
	verdict *verdict // of a payout: what it must come to; nil: that is not known
	joins   bool     // its key was asked under before
	other   bool     // with another body
	atOnce  bool     // and while the first was perhaps worked on
	renewed bool     // under an own end-to-end id that another payout had before it was renewed
}

// answer is what a client holds.
type answer struct {
	account ledger.AccountID
	tx      ledger.Transaction
	refused bool
}

func newPeople() people {
	return people{entries: newEntries(), kept: map[string]*kept{}, times: map[string][]ledger.Millis{}, unsure: map[string]bool{}, credited: map[string]bool{}}
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

// payout asks for one; few amounts and keys, so that many repeat.
func (l *life) payout() {
	id := l.someone()
	pix := l.someKey()
	amount := 10_000 * ledger.Amount(1+l.rng.IntN(5))
	own := ""
	if l.odds(8) { // accounts are after the same ones: the registry keeps them apart
		own = ledger.EndToEnd(ispb, l.clock, fmt.Sprintf("own%08d", l.rng.IntN(8)))
		if !l.ownID(id, own) {
			return
		}
	}
	key := ""
	if l.odds(2) {
		l.numbers++
		key = fmt.Sprintf("p%d", l.numbers)
	}
	c := ledger.RequestPayout{Amount: amount, Key: pix, EndToEnd: own}
	l.details(&c)
	l.ask(&request{account: id, key: key, make: func() ledger.Command {
		c := c
		c.Claim = l.claim(key)
		return c
	}})
}

func (l *life) someone() ledger.AccountID { return ledger.AccountID(1 + l.rng.IntN(int(l.known))) }

func (l *life) charge() { l.chargeOf(l.someone()) }

func (l *life) chargeOf(id ledger.AccountID) {
	key := ""
	if l.odds(2) {
		l.numbers++
		key = fmt.Sprintf("c%d", l.numbers)
	}
	l.ask(&request{account: id, key: key, make: func() ledger.Command {
		return ledger.CreateCharge{Amount: 5_000, Key: ledger.Key{Type: ledger.KeyEVP, Value: keyOf(id)}, Claim: l.claim(key)}
	}})
}

// credit brings money, once however often it is asked.
func (l *life) credit(id ledger.AccountID, amount ledger.Amount) {
	l.numbers++
	reference := fmt.Sprintf("%d %d %d", id, amount, l.numbers)
	l.credited[reference] = false
	l.creditAgain(reference)
}

func (l *life) creditAgain(reference string) {
	var id ledger.AccountID
	var amount ledger.Amount
	var n int
	if _, err := fmt.Sscan(reference, &id, &amount, &n); err != nil {
		l.fail("%v", err)
	}
	l.ask(&request{account: id, make: func() ledger.Command {
		return ledger.Credit{Kind: ledger.TxTED, Amount: amount, Reference: reference}
	}})
}

// creditOtherwise asks for a credit under a reference that was used for another amount.
func (l *life) creditOtherwise() {
	for reference, done := range sorted(l.credited) {
		var id ledger.AccountID
		var amount ledger.Amount
		if _, err := fmt.Sscan(reference, &id, &amount); err != nil || !done || l.odds(2) {
			continue
		}
		l.count("asked: another amount under a reference")
		l.ask(&request{account: id, make: func() ledger.Command {
			return ledger.Credit{Kind: ledger.TxTED, Amount: amount + 1, Reference: reference}
		}})
		return
	}
}

// again repeats a request that has a key: one that waits, or one of long ago.
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
		for _, kind := range [...]string{"p", "c", "k"} {
			if k := l.kept[fmt.Sprint(kind, 1+l.rng.IntN(l.numbers))]; k != nil {
				if kind != "k" && l.odds(4) && l.answered(k.request.key) {
					l.ask(l.otherwise(k.request))
					continue
				}
				l.ask(l.perhapsRecalled(k.request))
			}
		}
	}
}

const day = ledger.Millis(24 * 3_600_000)

// clocksDiffer is how far engine time may be off without being doubted, at one end of
// a span and at the other.
const clocksDiffer = ledger.Millis(125_000)

// idle asks what changes nothing: its answer is kept under its key all the same.
func (l *life) idle() {
	l.numbers++
	key, said := fmt.Sprintf("k%d", l.numbers), 0
	l.ask(&request{account: l.someone(), key: key, make: func() ledger.Command {
		said++ // another answer each time: the first is the one that counts
		return ledger.KeepAnswer{Claim: l.claim(key), Stored: ledger.Stored{Code: 200, Body: fmt.Append(nil, key, " ", said)}}
	}})
}

// perhapsRecalled is the request again, or only the question what it was answered.
func (l *life) perhapsRecalled(r *request) *request {
	if !l.odds(3) {
		return r
	}
	recall := *r
	recall.make = func() ledger.Command { return ledger.Recall{Claim: l.claim(r.key)} }
	return &recall
}

// recalledNothing: a key that was answered less than a day ago is known.
func (l *life) recalledNothing(r *request) {
	if l.answered(r.key) {
		l.fail("%v: nothing is known of %s, which was answered", r.account, r.key)
	}
}
