package sim

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
)

// TestBook checks that the simulator's book counts exactly the payments that have settled.
func TestBook(t *testing.T) {
	w := newHarness(t)
	w.expect("GET", "/sim/book", "", 200, `{"at":"2026-09-21T14:13:20.000Z","participants":[],"accounts":[]}`)
	w.expect("POST", "/sim/payments", `{"pix_key":"`+evp+`","amount":50,"end_to_end_id":"`+e2e+`","paid_at":"2026-09-01T00:00:00Z","payer":{"ispb":"60701190"}}`, 201, "")
	returned := w.payout("returned@pix.test", 7)
	w.payout("reject-ac03@pix.test", 100)
	w.payout("silent@pix.test", 100)
	w.expect("GET", "/sim/book", "", 200, `{"at":"2026-09-21T14:13:20.000Z","oldest_open":"2026-09-21T14:13:20.000Z","participants":[`+
		`{"ispb":"60701190","sent":50,"received":0,"returned_by":0,"returned_to":0,"messages":1},`+
		`{"ispb":"99999004","sent":0,"received":50,"returned_by":0,"returned_to":0,"messages":1}],`+
		`"accounts":[{"account_id":"acc_aaaaaaaaaaaao","sent":0,"received":50,"returned_by":0,"returned_to":0}]}`)
	w.expect("GET", "/sim/book/"+returned.EndToEnd, "", 200, `{"kind":"payout","id":"`+returned.Tx.String()+`","transaction_id":"`+returned.Tx.Public(pix.TxPayout)+`","end_to_end_id":"`+
		returned.EndToEnd+`","return_id":null,"account_id":"acc_aaaaaaaaaaaao","pix_key":"returned@pix.test","amount":7,"status":"pending","reason":null,"return_code":null,`+
		`"created_at":"2026-09-21T14:13:20.000Z","final_at":null,"returned_amount":0,"returns":[]}`)
	w.at += 2000
	w.expect("GET", "/sim/book", "", 200, `{"at":"2026-09-21T14:13:22.000Z","oldest_open":"2026-09-21T14:13:20.000Z","participants":[`+
		`{"ispb":"60701190","sent":50,"received":0,"returned_by":0,"returned_to":0,"messages":1},`+
		`{"ispb":"99999004","sent":7,"received":50,"returned_by":0,"returned_to":7,"messages":3},`+
		`{"ispb":"99999005","sent":0,"received":7,"returned_by":7,"returned_to":0,"messages":2}],`+
		`"accounts":[{"account_id":"acc_aaaaaaaaaaaao","sent":7,"received":50,"returned_by":0,"returned_to":7}]}`)
	w.expect("GET", "/sim/book/"+e2e, "", 200, `{"kind":"payment","id":null,"transaction_id":null,"end_to_end_id":"`+e2e+
		`","return_id":null,"account_id":"acc_aaaaaaaaaaaao","pix_key":"`+evp+`","amount":50,"status":"settled","reason":null,"return_code":null,"created_at":"2026-09-01T00:00:00.000Z"`)
	w.expect("GET", "/sim/book/"+returned.EndToEnd, "", 200, `{"kind":"payout"`)
	w.expect("GET", "/sim/book/nobody", "", 404, "no such payment")
}

// TestKnownRejected checks that a rejected payment is shown with the reason of its rejection.
func TestKnownRejected(t *testing.T) {
	w := newHarness(t)
	p := w.payout("reject-ac03@pix.test", 100)
	w.at += 1000
	var got Payment
	if err := json.Unmarshal([]byte(w.expect("GET", "/sim/book/"+p.EndToEnd, "", 200, "{")), &got); err != nil ||
		got.Status != "rejected" || got.Reason == nil || *got.Reason != "AC03" || got.FinalAt == nil || *got.FinalAt != w.at.String() {
		t.Errorf("%+v %v", got, err)
	}
}

// TestMovements checks that the pages list every movement once, oldest first, even if the
// simulator is restarted between two pages, and that movements which settle meanwhile come
// last.
func TestMovements(t *testing.T) {
	w := newHarness(t)
	var want []string
	ids := map[string]pix.TxID{}
	for n := range 5 {
		p := w.payout("settle-now@pix.test", 10)
		want, ids[p.EndToEnd] = append(want, p.EndToEnd), p.Tx
		if n == 2 {
			w.at += 10
		}
	}
	late := w.payout("ana@example.com", 10)
	read := func(query string) (got []Movement, next *string) {
		t.Helper()
		var page movements
		if err := json.Unmarshal([]byte(w.expect("GET", "/sim/book/movements?"+query, "", 200, `{"data":[`)), &page); err != nil {
			t.Fatal(err)
		}
		return page.Data, page.Next
	}
	var got []string
	query := "limit=2"
	for range 10 {
		page, next := read(query)
		for _, m := range page {
			if m.Kind != "payout" || m.Amount != 10 || m.ReturnID != nil || m.AccountID != "acc_aaaaaaaaaaaao" || m.Counterparty != "99999005" {
				t.Errorf("%+v", m)
			}
			if tx, ok := ids[m.EndToEndID]; ok && (*m.ID != tx.String() || *m.TransactionID != tx.Public(pix.TxPayout)) {
				t.Errorf("%s: id %s, transaction %s", m.EndToEndID, *m.ID, *m.TransactionID)
			}
			got = append(got, m.EndToEndID)
		}
		if next == nil {
			break
		}
		query = "limit=2&cursor=" + url.QueryEscape(*next)
		if len(got) == 2 {
			w.close()
			w.open()
			want = append(want, w.payout("settle-now@pix.test", 10).EndToEnd)
		}
		if len(got) == 4 {
			w.at += 1000
			want = append(want, late.EndToEnd)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if page, _ := read("since=2026-09-21T14:13:20.010Z"); len(page) != 4 || page[0].EndToEndID != want[3] {
		t.Errorf("since: %+v", page)
	}
	if page, _ := read("since=2026-09-21T14:13:21.011Z"); len(page) != 0 {
		t.Errorf("since: %+v", page)
	}
	w.expect("POST", "/sim/returns", `{"end_to_end_id":"`+late.EndToEnd+`"}`, 201, "")
	if page, _ := read("since=" + w.at.String()); len(page) != 2 || page[1].Kind != "return" || page[1].ReturnID == nil || *page[1].ID != late.Tx.String() || *page[1].TransactionID != late.Tx.Public(pix.TxPayout) {
		t.Errorf("returned: %+v", page)
	}
	w.expect("POST", "/sim/payments", `{"pix_key":"`+evp+`","amount":50,"end_to_end_id":"`+e2e+`"}`, 201, "")
	if page, _ := read("since=" + w.at.String()); len(page) != 3 || page[2].Kind != "payment" || page[2].ID != nil || page[2].TransactionID != nil {
		t.Errorf("paid: %+v", page)
	}
	for limit, want := range map[int]int{1: 1, 1000: 9} {
		if page, _ := read(fmt.Sprint("limit=", limit)); len(page) != want {
			t.Errorf("limit %d: %d movements", limit, len(page))
		}
	}
	for query, says := range map[string]string{
		"limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "since=yesterday": "since", "since=": "since",
		"cursor=x": "cursor", "cursor=00": "cursor", "cursor=ffffffffffffffffffffffffffffffff": "cursor",
	} {
		w.expect("GET", "/sim/book/movements?"+query, "", 400, says)
	}
}

// TestWindow checks where a list of movements begins and how many it has where the query does not say so.
func TestWindow(t *testing.T) {
	for query, want := range map[string]struct {
		since pix.Millis
		limit int
	}{
		"": {0, 100}, "limit=7": {0, 7}, "since=1970-01-01T00:00:05Z": {5000, 100}, "since=1970-01-01T00:00:05-01:00&limit=1000": {3_605_000, 1000},
	} {
		var q fasthttp.Args
		q.Parse(query)
		if since, limit, err := window(&q); since != want.since || limit != want.limit || err != nil {
			t.Errorf("%q: since %d, %d movements, %v", query, since, limit, err)
		}
	}
}
