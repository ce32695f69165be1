package account

import (
	"fmt"
	"testing"

	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

const testHour = pix.Millis(60 * 60 * 1000)

// counting counts how often a claim is read from the store.
type counting struct {
	*memory
	asked *int
}

func (c counting) Get(key []byte) ([]byte, bool, error) {
	if key[0] == 'k' {
		*c.asked++
	}
	return c.memory.Get(key)
}

// claims is a bench whose machine has its own filters over idempotency claims.
type claims struct {
	*bench
	asked int
}

func newClaims(t *testing.T) *claims {
	c := &claims{bench: newBench(t)}
	c.ahead = 0 // while records are stamped ahead of the clock, the claims of every day are searched in the store
	c.start(hourOf(c.now))
	c.step(ledger.OpenAccount{Settings: settings()})
	return c
}

// start simulates a start of the process: a new machine over the same store. Its filter
// over claims counts as complete for the hour since and every later hour.
func (c *claims) start(since int64) {
	config := *testConfig
	config.Recent, config.Claims = NewRecent(recentSlots), keyed.NewHours(since, 1<<12)
	machine := newMachine(&config, testAccount)
	if c.machine.Opened() {
		machine.head, machine.sum = c.machine.head, c.machine.sum
	}
	c.machine = machine
}

// ask makes a request under an idempotency key, and returns whether the answer was a replay
// of an earlier one.
func (c *claims) ask(key string) (replayed bool) {
	c.t.Helper()
	claim := &ledger.Claim{}
	copy(claim.Scope[:], key)
	c.store.durable = c.store.ticket
	entry, effects, err := c.machine.Step(counting{c.store, &c.asked}, Call{
		Command: ledger.KeepAnswer{Claim: claim, Stored: ledger.Stored{Code: 200, Body: []byte(key)}},
		Now:     c.reading(), Entropy: c.draw(), Durable: c.store.durable,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.machine.Submitted(c.store.append(&entry))
	e := c.machine.outcome(entry, effects)
	if string(e.Answer.Stored.Body) != key {
		c.t.Errorf("%s was answered %s", key, e.Answer.Stored.Body)
	}
	return e.Answer.Replay
}

// TestClaimMissesCostNothing checks that, after the filters have seen all claims of a day,
// a request under a new key hardly ever reads the store, and a request under a known key
// reads it about once.
func TestClaimMissesCostNothing(t *testing.T) {
	c := newClaims(t)
	n := 0
	for range 26 {
		for range 20 {
			n++
			c.ask(fmt.Sprintf("key-%d", n))
		}
		c.now += testHour
	}
	c.asked = 0
	for range 200 {
		n++
		if c.ask(fmt.Sprintf("key-%d", n)) {
			t.Errorf("key-%d is new and was answered", n)
		}
	}
	if c.asked > 10 { // a full hour's filter sometimes says "may be there" for a key that was never added
		t.Errorf("200 new keys asked the store %d times", c.asked)
	}
	c.asked = 0
	for i := n - 100; i <= n; i++ {
		if !c.ask(fmt.Sprintf("key-%d", i)) {
			t.Errorf("key-%d was forgotten", i)
		}
	}
	if c.asked > 110 {
		t.Errorf("101 known keys asked the store %d times", c.asked)
	}
}

// forgotten makes claims in each of 24 hours and then simulates a start of the process,
// with a filter that counts as complete from the hour since(now) on. It repeats every claim
// until the claim's 24 hours are over, and returns how many repeats were not answered with
// the stored answer.
func (c *claims) forgotten(since func(now int64) int64) (lost int) {
	const perHour = 5
	key := func(h, i int) string { return fmt.Sprintf("%d/%d", h, i) }
	first := c.now
	const hours = 24
	for h := range hours {
		c.now = first + pix.Millis(h)*testHour + testHour/2
		for i := range perHour {
			c.ask(key(h, i))
		}
	}
	c.start(since(hourOf(c.now)))
	for ; c.now < first+hours*testHour+pix.Millis(24*60*60*1000); c.now += testHour / 4 {
		for h := range hours {
			for i := range perHour {
				counts := c.now-first-pix.Millis(h)*testHour-testHour/2 < pix.Millis(24*60*60*1000)
				if counts && !c.ask(key(h, i)) {
					lost++
				}
			}
		}
	}
	return lost
}

// TestClaimsAfterAStart checks that, after a start of the process, every key of the last 24
// hours is still known. It also checks that forgotten finds lost keys when a filter wrongly
// counts as complete for hours before the start.
func TestClaimsAfterAStart(t *testing.T) {
	if lost := newClaims(t).forgotten(func(now int64) int64 { return now }); lost != 0 {
		t.Errorf("%d replays were lost", lost)
	}
	if lost := newClaims(t).forgotten(func(now int64) int64 { return now - 12 }); lost == 0 {
		t.Error("a filter that trusts itself too early lost nothing: this test proves nothing")
	}
	c := newClaims(t)
	c.ask("within") // a claim made in the same hour as the start, but before it
	c.start(hourOf(c.now))
	if !c.ask("within") {
		t.Error("a key of the start's own hour was forgotten")
	}
}
