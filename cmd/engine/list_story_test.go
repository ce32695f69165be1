package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// listed is an item of a list.
type listed struct {
	item
	Type          string
	PaymentStatus *string `json:"payment_status"`
	CompletedAt   *string `json:"completed_at"`
	BookedAt      *string `json:"booked_at"`
	CreatedAt     string  `json:"created_at"`
	ExternalID    *string `json:"external_id"`
	PayerISPB     *string `json:"payer_ispb"`
	PayerBank     *string `json:"payer_bank_name"`
}

// lists reads a page of a list.
func (w *harness) lists(path string) (all []listed) {
	w.t.Helper()
	var page struct {
		Worked bool
		Data   []listed
	}
	status, got := w.get(path)
	if status != 200 || json.Unmarshal([]byte(got), &page) != nil || !page.Worked || page.Data == nil {
		w.t.Fatalf("%s: %d %s", path, status, got)
	}
	return page.Data
}

// shows compares the transaction_ids of a page, each with its status.
func (w *harness) shows(path string, want ...string) {
	w.t.Helper()
	var got []string
	for _, i := range w.lists(path) {
		got = append(got, i.TransactionID+" "+i.Status)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("%s:\n%s\nwant\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLists checks both lists and the lookups over HTTP: what is in flight, finished, open and
// refused, under each filter, before and after a restart.
func TestLists(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	stranger := w.another()
	ted := w.lists("/statement")[0]
	if ted.Type != "ted" || ted.Status != "completed" || ted.PaymentStatus != nil {
		t.Fatalf("%+v", ted)
	}
	var open struct{ TransactionID string }
	status, got, _ := w.post("/pix/cash-in", `{"amount":700,"external_id":"order-1"}`)
	if err := json.Unmarshal([]byte(strings.ReplaceAll(got, "transaction_id", "transactionID")), &open); status != 200 || err != nil {
		t.Fatal(status, got)
	}
	paid := w.receives(20_000, `,"payer":{"name":"Ana","document":"12345678909","ispb":"60701190"}`)
	settled := w.paidOut(`{"amount":10,"pix_key":"settle-now@pix.test","external_id":"order-1"}`)
	rejected := w.becoming(w.paidOut(`{"amount":11,"pix_key":"reject-ac03@pix.test"}`).TransactionID, "rejected")
	silent := w.paidOut(`{"amount":12,"pix_key":"silent@pix.test"}`)

	flying, done := silent.TransactionID+" pending", []string{
		rejected.TransactionID + " rejected", settled.TransactionID + " settled", paid.TransactionID + " completed", ted.TransactionID + " completed",
	}
	from, to := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	check := func(w *harness) {
		t.Helper()
		all := append([]string{flying}, done...)
		w.shows("/statement", all...)
		w.shows("/statement?date_from="+from+"&date_to="+to, all...)
		w.shows("/statement?date_to=2020-01-01")
		w.shows("/statement?per_page=1", flying, done[0])
		w.shows("/statement?per_page=1&page=2", done[1])
		w.shows("/statement?per_page=2&page=3")
		w.shows("/statement?status=settled", done[1:]...)
		w.shows("/statement?status=rejected", done[0])
		w.shows("/statement?status=failed")
		w.shows("/statement?status=processing", flying)
		w.shows("/statement?type=ted", done[3])
		w.shows("/statement?type=internal")
		w.shows("/transactions", flying, done[0], done[1], done[2], open.TransactionID+" active", done[3])
		w.shows("/transactions?status=active", open.TransactionID+" active")
		w.shows("/transactions?direction=outbound", flying, done[0], done[1])
		w.shows("/transactions?direction=inbound&type=pix", done[2], open.TransactionID+" active")
		w.shows("/transactions?external_id=order-1", done[1], open.TransactionID+" active")
		w.shows("/transactions?external_id=order-2")
	}
	check(w)
	first := w.lists("/statement")[0]
	if first.CompletedAt != nil || first.BookedAt != nil || *first.PaymentStatus != "processing" {
		t.Errorf("in flight: %+v", first)
	}
	if p := w.lists("/statement")[3]; *p.PayerISPB != "60701190" || *p.PayerBank != "Itaú Unibanco" || *p.CompletedAt != *p.BookedAt {
		t.Errorf("received: %+v", p)
	}
	for path, want := range map[string]string{
		settled.ID: settled.ID, settled.TransactionID: settled.ID, "tag/" + settled.TransactionID: settled.ID, "e2e/" + settled.EndToEnd: settled.ID,
		"e2e/" + paid.EndToEnd: paid.ID, "ref/order-1": settled.ID,
	} {
		status, got := w.get("/transactions/" + path)
		if status != 200 || !strings.Contains(got, `"id":"`+want+`"`) {
			t.Errorf("%s: %d %s", path, status, got)
		}
		if status, got := stranger.get("/transactions/" + path); status != 404 || got != `{"errors":{"not_found":"transaction not found"}}` {
			t.Errorf("a stranger reads %s: %d %s", path, status, got)
		}
	}
	for _, path := range []string{"tag/" + settled.ID, "tag/" + settled.EndToEnd, "e2e/" + settled.ID, "ref/" + settled.ID, "e2e/%00", "ref/order-1%20"} {
		if status, got := w.get("/transactions/" + path); status != 404 {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	w.stop()
	check(w.at(serveHarness(t, fs)))
}

// TestPagingOverHTTP checks that a reader who pages to the end of both lists while customers
// pay misses no item and sees none twice on a page.
func TestPagingOverHTTP(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	const before, during = 60, 200
	finished := map[string]bool{}
	for range before {
		finished[w.receives(10_000, "").TransactionID] = true
	}
	var customers sync.WaitGroup
	customers.Go(func() {
		for range during {
			if status, got := w.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":100}`, w.EVP)); status != 201 {
				t.Errorf("%d %s", status, got)
				return
			}
		}
	})
	for _, list := range []string{"/statement", "/transactions"} {
		seen, again := map[string]bool{}, 0
		for page := 1; ; page++ {
			all, here := w.lists(fmt.Sprintf("%s?per_page=7&page=%d", list, page)), map[string]bool{}
			for _, i := range all {
				if here[i.TransactionID] {
					t.Errorf("%s: page %d shows %s twice", list, page, i.TransactionID)
				}
				if seen[i.TransactionID] {
					again++
				}
				here[i.TransactionID], seen[i.TransactionID] = true, true
			}
			if len(all) < 7 {
				break
			}
		}
		for id := range finished {
			if !seen[id] {
				t.Errorf("%s: %s was missed", list, id)
			}
		}
		if again > during {
			t.Errorf("%s: %d items seen again", list, again)
		}
	}
	customers.Wait()
	w.becomes("all credited", 10*time.Second, func() bool {
		return len(w.lists("/statement?per_page=100&page=3")) == before+during+1-200
	})
}
