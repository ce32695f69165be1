package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// counted is an account that is credited by one base unit at a time and otherwise only read. So each
// balance says at which moment it was true.
type counted struct {
	n       *nodes
	s       shop
	client  *http.Client
	begun   atomic.Int64 // credits that may have happened
	certain atomic.Int64 // credits that were confirmed
	answers atomic.Int64 // balances that were read
	begin   int64        // the balance before
}

func newCounted(n *nodes) *counted {
	c := &counted{n: n, client: &http.Client{Timeout: 8 * time.Second}, s: n.proc[n.standby()].shop()}
	c.begin, _ = c.s.balance(n.proc[n.owner()])
	return c
}

// run credits the account and reads its balance at every node until over is closed.
func (c *counted) run(work *sync.WaitGroup, over <-chan struct{}) {
	for _, name := range c.n.names {
		work.Go(func() { c.readsAt(name, over) })
	}
	work.Go(func() {
		for i := int64(1); ; i++ {
			c.begun.Store(i)
			if !c.credit(i, over) {
				return
			}
			c.certain.Store(i)
		}
	})
}

// credit adds a base unit, at one node or the next, until that is confirmed. It returns false once over is closed.
func (c *counted) credit(i int64, over <-chan struct{}) bool {
	for at := int(i); ; at++ {
		node := c.n.names[at%len(c.n.names)]
		r, err := newRequest("POST", "http://"+c.n.at[node].operator+"/admin/accounts/"+c.s.ID+"/credits",
			fmt.Appendf(nil, `{"amount":1,"type":"internal","reference":"count-%d"}`, i), "Authorization", "Bearer "+token)
		if err != nil {
			c.n.t.Error(err)
			return false
		}
		status, _, err := do(c.client, r)
		select {
		case <-over:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if err == nil && status/100 == 2 {
			return true
		}
	}
}

func (c *counted) readsAt(node string, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(10 * time.Millisecond):
		}
		_ = c.read(node)
	}
}

// read reads the balance at a node. One that was not true at any moment between the request and its
// answer fails the test.
func (c *counted) read(node string) error {
	from := c.certain.Load()
	r, err := c.s.request("http://"+c.n.at[node].merchant, "/balance", "", "")
	if err != nil {
		return err
	}
	status, got, err := do(c.client, r)
	to := c.begun.Load()
	if err != nil {
		return err
	}
	var b struct{ Balance int64 }
	if status != http.StatusOK || json.Unmarshal(got, &b) != nil {
		return fmt.Errorf("%d %s", status, got)
	}
	c.answers.Add(1)
	if is := b.Balance - c.begin; is < from || is > to {
		c.n.t.Errorf("node %s answered the balance after %d credits; %d were confirmed before the request, and %d had begun at the answer", node, is, from, to)
	}
	return nil
}
