package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// judgedAccounts are accounts that are credited, pay and are read at all nodes, each by several clients. Whether
// what was read is true is judged over the history of each.
type judgedAccounts struct {
	n       *nodes
	all     []*judged
	begun   atomic.Int64 // credits of the first that may have happened
	certain atomic.Int64 // and those that were confirmed
	answers atomic.Int64 // balances that were read
	steps   atomic.Int64 // steps that were judged
	judging sync.WaitGroup

	resting atomic.Bool  // no payout begins
	paying  atomic.Int64 // payouts that are being made
}

// judged is one of them.
type judged struct {
	history
	of     *judgedAccounts
	s      shop
	client *http.Client

	openMu sync.Mutex
	open   []func(node string) error // changes whose outcome is unknown, to be sent again
}

func newJudged(n *nodes) *judgedAccounts {
	a := &judgedAccounts{n: n}
	for range 2 {
		j := &judged{of: a, s: n.proc[n.standby()].shop(), client: &http.Client{Timeout: 8 * time.Second}}
		balance, pending := j.s.balance(n.proc[n.owner()])
		j.history = history{began: time.Now(), start: balance - pending, now: balance - pending}
		a.all = append(a.all, j)
	}
	return a
}

// run uses the accounts until over is closed.
func (a *judgedAccounts) run(work *sync.WaitGroup, over <-chan struct{}) {
	for k, j := range a.all {
		client := 0
		begin := func(does func(client int, i int64)) {
			client++
			c := client
			work.Go(func() { j.repeats(c, does, over) })
		}
		for _, name := range a.n.names {
			begin(func(c int, _ int64) { _ = j.read(c, name) })
		}
		for range 2 {
			begin(func(c int, i int64) {
				a.paying.Add(1)
				defer a.paying.Add(-1)
				if !a.resting.Load() {
					j.changes(c, deed{"payout", -100}, over, j.payout(fmt.Sprint("judged-", c, "-", i)))
				}
			})
		}
		begin(func(c int, i int64) {
			if k == 0 {
				a.begun.Store(i)
			}
			if j.changes(c, deed{"credit", 1}, over, j.credit(i)) && k == 0 {
				a.certain.Store(i)
			}
		})
	}
}

// repeats does one step after the other, each a little after the one before, until over is closed. It
// judges those that are over as soon as there are many.
func (j *judged) repeats(client int, does func(client int, i int64), over <-chan struct{}) {
	for i := int64(1); ; i++ {
		rest := 20 * time.Millisecond
		if j.long() {
			rest *= 3 // so that at some moment nobody does anything
		}
		select {
		case <-over:
			return
		case <-time.After(rest):
		}
		j.whole.RLock()
		does(client, i)
		j.whole.RUnlock()
		j.judge(j.cut())
	}
}

// judge judges steps beside whatever goes on.
func (j *judged) judge(start int64, steps []porcupine.Operation) {
	if len(steps) == 0 {
		return
	}
	j.of.steps.Add(int64(len(steps)))
	j.of.judging.Go(func() {
		if err := linearizable(start, steps); err != nil {
			j.of.n.t.Errorf("account %s: no order of what was done explains what was read: %v", j.s.ID, err)
		}
	})
}

// changes sends a change, to one node after the other, until it is confirmed. It returns false where it is
// not once over is closed.
func (j *judged) changes(client int, s deed, over <-chan struct{}, send func(node string) error) bool {
	names := j.of.n.names
	for from, at := j.at(), client; ; at++ {
		if send(names[at%len(names)]) == nil {
			j.add(client, s, from, j.at(), 0)
			return true
		}
		select {
		case <-over:
			j.add(client, s, from, never, 0)
			j.openMu.Lock()
			j.open = append(j.open, func(node string) error {
				err := send(node)
				if err == nil {
					j.confirm(s)
				}
				return err
			})
			j.openMu.Unlock()
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// payout returns what sends a payout of one real.
func (j *judged) payout(key string) func(node string) error {
	return func(node string) error {
		status, got, err := j.send("http://"+j.of.n.at[node].merchant, fmt.Sprintf(`{"amount":1,"pix_key":"%s@example.com"}`, key), key)
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("%d %s", status, got)
		}
		return err
	}
}

func (j *judged) send(base, body, key string) (int, []byte, error) {
	r, err := j.s.request(base, "/pix/cash-out", body, key)
	if err != nil {
		return 0, nil, err
	}
	r.GetBody = nil
	return do(j.client, r)
}

// credit returns what sends a credit of one base unit.
func (j *judged) credit(i int64) func(node string) error {
	return func(node string) error {
		r, err := newRequest("POST", "http://"+j.of.n.at[node].operator+"/admin/accounts/"+j.s.ID+"/credits",
			fmt.Appendf(nil, `{"amount":1,"type":"internal","reference":"judged-%d"}`, i), "Authorization", "Bearer "+token)
		if err != nil {
			return err
		}
		status, got, err := do(j.client, r)
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("%d %s", status, got)
		}
		return err
	}
}

// read reads at a node what the account can spend.
func (j *judged) read(client int, node string) error {
	r, err := j.s.request("http://"+j.of.n.at[node].merchant, "/balance", "", "")
	if err != nil {
		return err
	}
	from := j.at()
	status, got, err := do(j.client, r)
	to := j.at()
	if err != nil {
		return err
	}
	var b struct{ Balance, Pending int64 }
	if status != http.StatusOK || json.Unmarshal(got, &b) != nil {
		return fmt.Errorf("%d %s", status, got)
	}
	j.of.answers.Add(1)
	j.add(client, deed{"read at " + node, 0}, from, to, b.Balance-b.Pending)
	return nil
}

// rests lets no more payouts begin, and waits until none is being made. One that is refused has held its
// amount for a moment, which no order of payouts and reads would explain.
func (a *judgedAccounts) rests() {
	a.n.t.Helper()
	a.resting.Store(true)
	a.n.waits("no payout is being made", func() (bool, string) { return a.paying.Load() == 0, fmt.Sprint(a.paying.Load(), " are") })
}

// asked reads the first account at a node, beside its other clients.
func (a *judgedAccounts) asked(node string) error {
	j := a.all[0]
	j.whole.RLock()
	defer j.whole.RUnlock()
	return j.read(9, node)
}

// settle sends again what has no outcome yet, and judges the rest.
func (a *judgedAccounts) settle(node string) {
	a.n.t.Helper()
	for _, j := range a.all {
		a.n.waits("each change has an outcome", func() (bool, string) {
			j.open = slices.DeleteFunc(j.open, func(send func(string) error) bool { return send(node) == nil })
			return len(j.open) == 0, fmt.Sprint(len(j.open), " have none")
		})
		want := j.now
		j.judge(j.rest())
		a.n.waits("a judged account has what its history says", func() (bool, string) {
			balance, pending := j.s.balance(a.n.proc[node])
			return balance == want && pending == 0, fmt.Sprintf("%d and %d pending, want %d", balance, pending, want)
		})
	}
	a.judging.Wait()
}
