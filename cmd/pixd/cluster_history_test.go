package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// deed is something that a client did with an account: it changed what the account can spend, or read it.
type deed struct {
	what   string
	change int64 // 0: it was read
}

// history is what several clients did with one account, and when each step began and ended. A change that
// was sent again and again under one key is one step, from when it was sent first until it was confirmed.
type history struct {
	began time.Time

	whole sync.RWMutex // held for reading while a step is being done

	mu    sync.Mutex
	steps []porcupine.Operation
	start int64 // what the account could spend before the first step
	now   int64 // and after those that are confirmed
}

// never is the end of a change whose outcome is unknown: it may have happened, or may still happen.
const never = math.MaxInt64

// at is a moment, as steps have it.
func (h *history) at() int64 { return int64(time.Since(h.began)) }

// add notes a step.
func (h *history) add(client int, s deed, from, to, found int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, porcupine.Operation{ClientId: client, Input: s, Call: from, Output: found, Return: to})
	if to != never {
		h.now += s.change
	}
}

// confirm notes that a change whose outcome was unknown has happened.
func (h *history) confirm(s deed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now += s.change
}

// atOnce is how many steps are judged together, at least: the judge's memory grows with their square.
const atOnce = 4_000

// long reports whether there are enough steps to judge them.
func (h *history) long() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.steps) >= atOnce
}

// cut takes out the steps so far, if there are enough and none is being done. What comes later begins with
// what they have left.
func (h *history) cut() (start int64, steps []porcupine.Operation) {
	if !h.long() || !h.whole.TryLock() {
		return 0, nil
	}
	defer h.whole.Unlock()
	return h.rest()
}

// rest takes out the steps so far.
func (h *history) rest() (start int64, steps []porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	start, steps = h.start, h.steps
	h.start, h.steps = h.now, nil
	return start, steps
}

// linearizable returns an error where no order of the steps explains what was read: each step has one
// moment between its beginning and its end at which it happened.
func linearizable(start int64, steps []porcupine.Operation) error {
	model := porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, output any) (bool, any) {
			is := state.(int64)
			if s := input.(deed); s.change != 0 {
				return true, is + s.change
			}
			return output.(int64) == is, is
		},
		DescribeOperation: func(input, output any) string {
			s := input.(deed)
			return fmt.Sprintf("%s %+d: %v", s.what, s.change, output)
		},
	}
	result, info := porcupine.CheckOperationsVerbose(model, steps, patience)
	if result == porcupine.Ok {
		return nil
	}
	file, err := os.CreateTemp("", "history-*.html")
	if err == nil {
		draw := porcupine.Visualize //nolint:misspell // its name is American
		err = errors.Join(draw(model, info, file), file.Close())
	}
	if err != nil {
		return fmt.Errorf("%d steps: %s, and %w", len(steps), result, err)
	}
	return fmt.Errorf("%d steps: %s, as %s shows", len(steps), result, file.Name())
}

// TestHistories judges histories that are right and such as faults would leave.
func TestHistories(t *testing.T) {
	t.Parallel()
	type did struct {
		change, found, from, to int64
	}
	for name, c := range map[string]struct {
		steps []did
		right bool
	}{
		"one after the other":                     {[]did{{-100, 0, 0, 1}, {0, 900, 2, 3}, {5, 0, 4, 5}, {0, 905, 6, 7}}, true},
		"read during a payout, before it":         {[]did{{-100, 0, 0, 9}, {0, 1000, 1, 2}, {0, 900, 3, 4}}, true},
		"stale: before a payout that was over":    {[]did{{-100, 0, 0, 1}, {0, 1000, 2, 3}}, false},
		"stale: back behind what another saw":     {[]did{{-100, 0, 0, 9}, {0, 900, 1, 2}, {0, 1000, 3, 4}}, false},
		"unknown, and never seen":                 {[]did{{-100, 0, 0, never}, {0, 1000, 1, 2}, {0, 1000, 3, 4}}, true},
		"unknown, and seen much later":            {[]did{{-100, 0, 0, never}, {0, 1000, 1, 2}, {0, 900, 80, 90}}, true},
		"unknown, seen and lost again":            {[]did{{-100, 0, 0, never}, {0, 900, 1, 2}, {0, 1000, 3, 4}}, false},
		"paid twice":                              {[]did{{-100, 0, 0, 1}, {0, 800, 2, 3}}, false},
		"confirmed and lost":                      {[]did{{-100, 0, 0, 1}, {-100, 0, 2, 3}, {0, 900, 4, 5}}, false},
		"two at once, each reader saw another's":  {[]did{{-100, 0, 0, 9}, {-7, 0, 0, 9}, {0, 900, 1, 2}, {0, 893, 3, 4}}, true},
		"two at once, and readers disagree":       {[]did{{-100, 0, 0, 9}, {-7, 0, 0, 9}, {0, 900, 1, 2}, {0, 993, 3, 4}}, false},
		"a moment ago was true within the answer": {[]did{{-100, 0, 1, 2}, {0, 1000, 0, 3}}, true},
	} {
		h := &history{start: 1000}
		for i, d := range c.steps {
			h.add(i, deed{"step", d.change}, d.from, d.to, d.found)
		}
		if err := linearizable(h.rest()); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}
