package account

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// many sends the same request n times at once, each from its own goroutine.
func (w *harness) many(n int, c func() ledger.Command) <-chan response {
	answers := make(chan response, n)
	for range n {
		go func() {
			a, err := w.Do(1, c())
			answers <- response{answer: a, err: err}
		}()
	}
	return answers
}

// replaysOf counts the replays among n answers about one payout. It fails the test where an
// answer has another body than "accepted style 0".
func replaysOf(t *testing.T, answers <-chan response, n int) (replays int) {
	t.Helper()
	for range n {
		r := <-answers
		if r.err != nil || r.answer.Stored == nil || string(r.answer.Stored.Body) != "accepted style 0" {
			t.Fatalf("answered %+v", r)
		}
		if r.answer.Replay {
			replays++
		}
	}
	return replays
}

// TestOneKeyThroughPanic checks that, when the account panics once while it renders the
// first answer, and many requests wait under the same idempotency key, there is still one
// payout and every request gets the same body.
func TestOneKeyThroughPanic(t *testing.T) {
	const many = 20
	w := newHarness(t, Limits{})
	var panicked atomic.Bool
	w.deps.Config.Renderer = rendering(func(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) {
		if a.Tx != nil && a.Tx.Kind == pix.TxPayout && panicked.CompareAndSwap(false, true) {
			panic("for the test")
		}
		return renderForTest(a, s)
	})
	w.fund(1, 10_000)
	w.scheme.hold(false)
	answers := w.many(many, func() ledger.Command { return payoutTo(1, under(1)) })
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	w.eventually("all requests", func() bool { return w.entry(1).inWork.Load() == many })
	w.scheme.release()
	replays := replaysOf(t, answers, many)
	if got := w.totals(1); !panicked.Load() || replays != many-1 || w.scheme.submits.Load() != 1 || got.Held != 100 {
		t.Errorf("panicked %v, %d replays, %d submits, %+v", panicked.Load(), replays, w.scheme.submits.Load(), got)
	}
}

// TestOneKeyTimesOut checks that requests which wait for an earlier request under the same
// key end with ErrWaited in time and start no payout of their own. Once the earlier request
// has its answer, repeats are replays of that answer.
func TestOneKeyTimesOut(t *testing.T) {
	const many = 20
	w := newHarness(t, Limits{SchemeTimeout: 20 * time.Millisecond, JoinGrace: 50 * time.Millisecond, LastGrace: 10 * time.Second})
	w.fund(1, 10_000)
	w.scheme.hold(false)
	first := w.begin(1, payoutTo(1, under(1)))
	w.eventually("the submit", func() bool { return w.scheme.submits.Load() == 1 })
	joined := w.many(many, func() ledger.Command { return payoutTo(1, under(1)) })
	for range many {
		if r := <-joined; !errors.Is(r.err, ledger.ErrWaited) {
			t.Errorf("who joined: %+v", r)
		}
	}
	w.scheme.release()
	if r := <-first; r.err != nil || r.answer.Replay || string(r.answer.Stored.Body) != "accepted style 0" {
		t.Errorf("the first: %+v", r)
	}
	again := w.many(many, func() ledger.Command { return payoutTo(1, under(1)) })
	for range many {
		if r := <-again; r.err != nil || !r.answer.Replay || string(r.answer.Stored.Body) != "accepted style 0" {
			t.Errorf("who came back: %+v", r)
		}
	}
	if got := w.totals(1); w.scheme.submits.Load() != 1 || got.Held != 100 {
		t.Errorf("%d submits, %+v", w.scheme.submits.Load(), got)
	}
}
