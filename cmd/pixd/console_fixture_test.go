package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// console is an engine with a merchant, and operators who log in at its console.
type console struct {
	*process
	shop
	tokens map[string]string // of the operators, by their names
}

// openConsole starts an engine with a merchant, an operator olga and a viewer vera.
func openConsole(t *testing.T, flags ...string) *console {
	t.Helper()
	if browserPath() == "" {
		without(t, "no Chromium is installed, and "+browserVariable+" names none")
	}
	c := &console{tokens: map[string]string{}}
	c.process = start(t, filepath.Join(t.TempDir(), "data"), append([]string{"--webhook-allow-insecure"}, flags...)...)
	c.shop = c.process.shop()
	c.operator("olga", "operator")
	c.operator("vera", "viewer")
	return c
}

// operator makes an operator.
func (c *console) operator(name, role string) {
	c.t.Helper()
	var o struct{ Token string }
	c.made("/admin/operators", fmt.Sprintf(`{"name":%q,"role":%q}`, name, role), &o)
	c.tokens[name] = o.Token
}

// tab opens a tab in which an operator has logged in.
func (c *console) tab(name string) *tab {
	c.t.Helper()
	b := openTab(c.t, c.process.operator)
	b.logIn(c.tokens[name])
	return b
}

// asks has the operator API answer a request, which must succeed, and reads the answer.
func (c *console) asks(method, path, body string, into any) {
	c.t.Helper()
	status, got, err := c.operate(method, path, body)
	if err != nil || status >= 300 {
		c.t.Fatalf("%s %s: %d %s %v", method, path, status, got, err)
	}
	if into != nil {
		if err := json.Unmarshal(got, into); err != nil {
			c.t.Fatalf("%s: %v", got, err)
		}
	}
}

// set changes settings of the merchant's account.
func (c *console) set(body string) {
	c.t.Helper()
	c.asks("PATCH", "/admin/accounts/"+c.ID, body, nil)
}

// sends has the merchant make a request that writes, which must succeed, and returns an id of the answer.
func (c *console) sends(path, body, id string) string {
	c.t.Helper()
	status, got, err := c.ask(c.merchant, path, body, "")
	var answer map[string]any
	if err != nil || status >= 300 || json.Unmarshal(got, &answer) != nil {
		c.t.Fatalf("%s: %d %s %v", path, status, got, err)
	}
	text, _ := answer[id].(string)
	return text
}

// waiting makes payouts of 0.07 that wait for approval, and returns their ids.
func (c *console) waiting(n int) (ids []string) {
	c.t.Helper()
	c.set(`{"approval_threshold":700}`)
	for i := range n {
		ids = append(ids, c.sends("/pix/cash-out", fmt.Sprintf(`{"amount":7,"pix_key":"waits%d-%d@pix.test"}`, i, time.Now().UnixNano()), "transaction_id"))
	}
	return ids
}

// status returns the status of a transaction.
func (c *console) status(id string) string {
	c.t.Helper()
	var tx struct{ State string }
	c.asks("GET", "/admin/transactions/"+id, "", &tx)
	return tx.State
}

// paid has a payer with a name pay 1.00, and returns the payment's end-to-end id when it has arrived.
func (c *console) paid(payer string) string {
	c.t.Helper()
	var paid struct {
		EndToEnd string `json:"end_to_end_id"`
	}
	name, _ := json.Marshal(payer)
	c.made("/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":10000,"payer":{"name":%s,"document":"98765432100"}}`, c.Key, name), &paid)
	c.eventually("a payment", func() bool {
		status, _, err := c.operate("GET", "/admin/transactions/"+paid.EndToEnd, "")
		return err == nil && status == 200
	})
	return paid.EndToEnd
}

// opened returns a special-return case about a payment.
func (c *console) opened(endToEnd string) (id string) {
	c.t.Helper()
	c.made("/sim/infractions", fmt.Sprintf(`{"end_to_end_id":%q,"amount":7000,"situation":"SCAM"}`, endToEnd), nil)
	c.eventually("a case", func() bool {
		var l struct {
			Data []struct {
				ID       string
				EndToEnd string `json:"end_to_end_id"`
			}
		}
		c.asks("GET", "/admin/med?limit=200", "", &l)
		for _, k := range l.Data {
			if k.EndToEnd == endToEnd {
				id = k.ID
			}
		}
		return id != ""
	})
	return id
}

// eventually waits until something holds.
func (c *console) eventually(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(pageWait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	c.t.Fatalf("%s never came", what)
}

// subscribed subscribes a receiver that answers 503 to everything, and returns the subscription's id.
func (c *console) subscribed(query string) string {
	c.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	c.t.Cleanup(receiver.Close)
	url, _ := json.Marshal(receiver.URL + "/hook" + query)
	return c.sends("/webhooks", fmt.Sprintf(`{"events":["pix.received","pix.payout.confirmed"],"url":%s}`, url), "id")
}

// dead waits until the subscription has deliveries that are dead, and returns how many.
func (c *console) dead(webhook string) (n int) {
	c.t.Helper()
	c.eventually("a dead delivery", func() bool {
		var l struct{ Data []struct{ ID string } }
		c.asks("GET", "/admin/webhook-deliveries?status=dead&webhook_id="+webhook, "", &l)
		n = len(l.Data)
		return n > 0
	})
	return n
}

// recorded returns what is on record of an operator, the oldest first: method, path, body and status of each.
func (c *console) recorded(name string) (all []string) {
	c.t.Helper()
	var l struct {
		Data []struct {
			Method, Path, Body string
			Status             *int
		}
	}
	c.asks("GET", "/admin/actions?limit=200&operator="+name, "", &l)
	for i := len(l.Data) - 1; i >= 0; i-- {
		a := l.Data[i]
		status := 0
		if a.Status != nil {
			status = *a.Status
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", a.Method, a.Path, status, a.Body)))
	}
	return all
}

// onRecord checks how often an operator has done something: the record's entries that begin with a text.
func (c *console) onRecord(name, begin string, times int) {
	c.t.Helper()
	n, all := 0, c.recorded(name)
	for _, one := range all {
		if strings.HasPrefix(one, begin) {
			n++
		}
	}
	if n != times {
		c.t.Errorf("%s did %q %d times, want %d:\n%s", name, begin, n, times, strings.Join(all, "\n"))
	}
}
