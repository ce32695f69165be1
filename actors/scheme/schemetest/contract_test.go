// Package schemetest has the tests of the contract that every implementation of scheme.Scheme
// keeps, and runs them against each implementation there is: the simulator, the simulator behind
// the provider's protocol, and the program `pixd sim`. A new implementation needs one more body.
package schemetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// A body is one connected implementation of scheme.Scheme under test. As in the simulator, a
// recipient's key chooses a payment's outcome; payments settle within a fraction of a second.
type body struct {
	Scheme scheme.Scheme
	Now    func() pix.Millis // returns the time of the scheme's clock
	Start  func(scheme.Feed) error
	// Pay has a customer pay an amount to one of our keys, with the scheme's date at, and
	// returns the payment's end-to-end id.
	Pay func(t *testing.T, key pix.Key, amount pix.Amount, at pix.Millis) string
	// Payable reports whether the scheme knows a key, so that a customer can pay to it. It may
	// have a customer do that.
	Payable func(t *testing.T, key pix.Key) bool
	// Again ends the implementation's process without warning and starts another one on the
	// data that is durable.
	Again func(t *testing.T) body
}

// testContract runs every story of the contract, each against a new body.
func testContract(t *testing.T, create func(t *testing.T) body) {
	for _, s := range []struct {
		name string
		tell func(t *testing.T, b body)
	}{
		{"keys are registered more than once", registersTwice},
		{"a key is given back", givesBack},
		{"a payment that is refused goes back", sendsBack},
		{"the directory answers", looksUp},
		{"a payment settles", settles},
		{"a payment settles inside the call", settlesNow},
		{"a payment is rejected", rejects},
		{"the provider refuses", refuses},
		{"the same submission again answers the same", submitsAgain},
		{"many at once are one payment", submitsAtOnce},
		{"another transaction under the id is a duplicate", duplicates},
		{"a payment that never arrived is unknown", asksUnknown},
		{"notices come until acknowledged", notifiesAgain},
		{"a lost process loses nothing it answered", survives},
		{"the directory's limits are met for ever, or so many times", limits},
		{"a silent payment stays pending", staysSilent},
		{"a payment comes back", comesBack},
		{"the book has what settled, once", keepsBook},
		{"the book names the oldest notice that is open", namesOldest},
		{"the book is of one instant", bookOfOneInstant},
		{"a refund settles", refundSettles},
		{"refunds are rejected", rejectsRefunds},
		{"the same refund again is one refund", returnsAgain},
		{"another transaction under the refund's id is a duplicate", duplicatesOfRefunds},
		{"refunds may come to more than the payment", returnsMoreThanCame},
		{"a lost process loses no refund", refundsSurvive},
		{"the refunds of a payment are listed", listsReturns},
		{"movements are listed", listsMovements},
		{"a refused payment is no movement", listsNoRefused},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.tell(t, create(t))
		})
	}
}

var numbers struct {
	sync.Mutex
	n uint64
}

// payment returns a new payment to the given key, which chooses the payment's outcome.
func payment(b body, key string) scheme.Payment {
	numbers.Lock()
	numbers.n++
	n := numbers.n
	numbers.Unlock()
	now := b.Now()
	return scheme.Payment{
		Tx: pix.NewTxID(now, [10]byte{byte(n >> 8), byte(n)}), Account: 7, Amount: pix.Amount(100 * n),
		EndToEnd: pix.EndToEnd("99999004", now, fmt.Sprintf("%011d", n)),
		Key:      pix.Key{Type: pix.KeyEmail, Value: key},
	}
}

// matter is the subject of a notice: one payment or refund, or a return of a payment.
type matter struct {
	tx   pix.TxID
	back bool
}

func about(n scheme.Notice) matter { return matter{n.Tx, n.Kind == scheme.ReturnReceived} }

// inbox takes notices. It refuses the first notices about each matter, as many as refuse
// says, and acknowledges all later ones. It acknowledges customers' payments at once.
type inbox struct {
	mu     sync.Mutex
	refuse int
	got    []scheme.Notice
	times  map[matter]int
	came   chan struct{}
}

func newInbox(refuse int) *inbox {
	return &inbox{refuse: refuse, times: map[matter]int{}, came: make(chan struct{}, 1000)}
}

var errNotNow = errors.New("not now")

func (i *inbox) take(n scheme.Notice, done func(error)) {
	i.mu.Lock()
	i.got = append(i.got, n)
	i.times[about(n)]++
	refused := i.times[about(n)] <= i.refuse && n.Kind != scheme.PaymentArrived
	i.mu.Unlock()
	if refused {
		done(errNotNow)
	} else {
		done(nil)
	}
	i.came <- struct{}{}
}

const patience = 8 * time.Second

// await waits until a notice about a payment has come n times.
func (i *inbox) await(t *testing.T, p scheme.Payment, n int) scheme.Notice {
	t.Helper()
	got := i.awaitOf(t, matter{tx: p.Tx}, n)
	if got.Account != 0 && got.Account != p.Account {
		t.Errorf("a notice about %v's payment names %v", p.Account, got.Account)
	}
	return got
}

func (i *inbox) awaitOf(t *testing.T, m matter, n int) scheme.Notice {
	t.Helper()
	timeout := time.After(patience)
	for {
		i.mu.Lock()
		if i.times[m] >= n {
			for k := len(i.got) - 1; ; k-- {
				if about(i.got[k]) == m {
					defer i.mu.Unlock()
					return i.got[k]
				}
			}
		}
		i.mu.Unlock()
		select {
		case <-i.came:
		case <-timeout:
			t.Fatalf("notice %d of %+v never came", n, m)
		}
	}
}

// awaitArrival waits for the notice of a customer's payment.
func (i *inbox) awaitArrival(t *testing.T, endToEnd string) scheme.Notice {
	t.Helper()
	timeout := time.After(patience)
	for {
		i.mu.Lock()
		for _, n := range i.got {
			if n.Kind == scheme.PaymentArrived && n.EndToEnd == endToEnd {
				i.mu.Unlock()
				return n
			}
		}
		i.mu.Unlock()
		select {
		case <-i.came:
		case <-timeout:
			t.Fatalf("the notice of %s never came", endToEnd)
		}
	}
}

func (i *inbox) count(p scheme.Payment) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.times[matter{tx: p.Tx}]
}
