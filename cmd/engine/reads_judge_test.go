package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/scheme/sim"
)

// rest waits until nothing is under way any more.
func (r *readRun) rest(e *Engine) error {
	var open []string
	for range 1500 {
		var err error
		if open, err = underWay(e); err == nil && len(open) == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("forgotten: %s", strings.Join(open, ", "))
}

// underWay lists the due rows, the payouts in queues and the deliveries that wait.
func underWay(e *Engine) (open []string, err error) {
	note := func(what string) func(k, _ []byte) (bool, error) {
		return func(k, _ []byte) (bool, error) {
			open = append(open, fmt.Sprintf("%s %x", what, k))
			return true, nil
		}
	}
	due, afterDue := layout.AllDue()
	queues := layout.QueueRanges()
	waits, afterWaits := layout.AllPending()
	return open, errors.Join(
		e.Store.Scan(due, afterDue, note("due")),
		e.Store.Scan(queues[0][0], queues[0][1], note("queued")),
		e.Store.Scan(queues[1][0], queues[1][1], note("queued")),
		e.Store.Scan(waits, afterWaits, note("delivery")),
	)
}

// judge checks an engine at rest: the answers that were given, the accounts, and the scheme's book.
func (r *readRun) judge(e *Engine) error {
	if err := r.rest(e); err != nil {
		return err
	}
	for _, a := range r.c.sofar() {
		if err := r.ask("an answer", func() error { return a.stands(e) }); err != nil {
			return err
		}
	}
	if strings.Contains(r.log.String(), "quarantined") {
		return errors.New("an account is quarantined")
	}
	err := r.ask("audit", func() error {
		found, err := e.auditor.Make(context.Background())
		if err == nil && len(found.Differences) > 0 {
			err = fmt.Errorf("the audit found %+v", found.Differences)
		}
		return err
	})
	return errors.Join(err, r.onceOnly(e))
}

// onceOnly checks that the scheme has paid nobody twice, and has returned no more of a payment
// than was received.
func (r *readRun) onceOnly(e *Engine) error {
	paid, returned := map[string]int{}, map[string]pix.Amount{}
	page, next, err := e.Sim.Settled(context.Background(), 0, "", 10_000)
	if err != nil || next != "" {
		return fmt.Errorf("movements: %q %w", next, err)
	}
	for _, m := range page {
		switch m.Kind {
		case sim.MovedPayout:
			k, err := e.Sim.Know(context.Background(), m.EndToEnd)
			if err != nil {
				return err
			}
			if paid[k.Key]++; paid[k.Key] > 1 {
				return fmt.Errorf("%s was paid %d times", k.Key, paid[k.Key])
			}
		case sim.MovedPayment:
			returned[m.EndToEnd] -= m.Amount
		case sim.MovedRefund:
			if returned[m.EndToEnd] += m.Amount; returned[m.EndToEnd] > 0 {
				return fmt.Errorf("%d more was returned of %s than was received", returned[m.EndToEnd], m.EndToEnd)
			}
		}
	}
	return nil
}
