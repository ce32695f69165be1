package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Numbers of customers' payments in operations of other kinds: those of plain payments are below.
const (
	refundedFrom = 1_000_000_000
	reportedFrom = 2_000_000_000
)

// mixed sends the n-th operation of mixed traffic and returns its effect on the balance in the end: a customer pays; payouts
// settle, are rejected and come back; a payment is refunded in part. It returns an error if the operation may not have
// happened.
func mixed(engine, sim *process, s shop, n int64) (int64, error) {
	switch n % 6 {
	case 0:
		return once(engine, sim, s, 3*n)
	case 3:
		return 0, paysOut(engine, s, fmt.Sprintf("reject-ac03+%d@pix.test", n), n)
	case 4:
		return 0, paysOut(engine, s, fmt.Sprintf("returned+%d@pix.test", n), n)
	case 5:
		endToEnd, err := pays(sim, s, refundedFrom+n)
		if err != nil {
			return 0, err
		}
		return 500 - 200, refunds(engine, s, endToEnd, n)
	}
	return once(engine, sim, s, 3*n+1)
}

func paysOut(engine *process, s shop, key string, n int64) error {
	status, got, err := s.ask(engine.merchant, "/pix/cash-out", fmt.Sprintf(`{"amount":100,"pix_key":%q}`, key), fmt.Sprint("other-", n))
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("payout to %s: %d %s", key, status, got)
	}
	return err
}

// pays has a customer pay 500 base units, and returns the payment's end-to-end id.
func pays(sim *process, s shop, n int64) (string, error) {
	endToEnd := fmt.Sprintf("E99999003%s%011d", time.Now().UTC().Format("20060102")+"0000", n)
	status, got, err := sim.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":500,"end_to_end_id":%q}`, s.Key, endToEnd))
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("payment %d: %d %s", n, status, got)
	}
	return endToEnd, err
}

// refunds gives 200 base units of a payment back, as soon as the engine knows it.
func refunds(engine *process, s shop, endToEnd string, n int64) error {
	for range 500 {
		status, got, err := s.ask(engine.merchant, "/pix/refund", fmt.Sprintf(`{"amount":2,"original_e2e_id":%q}`, endToEnd), fmt.Sprint("refund-", n))
		switch {
		case err != nil:
			return err
		case status/100 == 2:
			return nil
		case status != http.StatusNotFound:
			return fmt.Errorf("refund of %s: %d %s", endToEnd, status, got)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%s never arrives", endToEnd)
}

// reports has a customer pay 500 base units and report the payment. It returns an error if there may be no report.
func reports(sim *process, s shop, n int64) error {
	endToEnd, err := pays(sim, s, reportedFrom+n)
	if err != nil {
		return err
	}
	status, got, err := sim.operate("POST", "/sim/infractions", fmt.Sprintf(`{"end_to_end_id":%q}`, endToEnd))
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("report of %s: %d %s", endToEnd, status, got)
	}
	return err
}

// agreesToAll closes every special-return case as agreed, and returns how many there are and how much they have refunded.
func agreesToAll(engine *process) (cases, refunded int64) {
	engine.t.Helper()
	for cursor := ""; ; {
		status, got, err := engine.operate("GET", "/admin/med?limit=100&cursor="+cursor, "")
		var l struct {
			Data []struct {
				ID       string
				Refunded int64 `json:"refunded_amount"`
			}
			Next *string `json:"next_cursor"`
		}
		if err != nil || status != http.StatusOK || json.Unmarshal(got, &l) != nil {
			engine.t.Fatalf("cases: %d %s %v", status, got, err)
		}
		for _, k := range l.Data {
			if status, got, err := engine.operate("POST", "/admin/med/"+k.ID+"/analysis", `{"result":"AGREED","details":"proven"}`); err != nil || status != http.StatusOK {
				engine.t.Fatalf("%s: %d %s %v", k.ID, status, got, err)
			}
			cases, refunded = cases+1, refunded+k.Refunded
		}
		if l.Next == nil {
			return cases, refunded
		}
		cursor = *l.Next
	}
}
