package admin

import (
	"errors"
	"fmt"
	"testing"

	"pixd/actors/alerts"
	"pixd/actors/pix"
)

func TestAlerts(t *testing.T) {
	f := newFixture(t)
	var asked string
	var fails error
	f.options.Alerts = func(since pix.Millis, newest bool, after string, limit int) ([]alerts.Alert, string, error) {
		asked = fmt.Sprint(int64(since), " ", newest, " ", after, " ", limit)
		return []alerts.Alert{
			{ID: "alr_a", Kind: "low_disk", Message: `little "disk"`, At: 1_790_000_000_000},
			{ID: "alr_b", Kind: "quarantine", Account: "acc_7", Transaction: "PIXOUT7", Message: "x", At: 1_790_000_000_001},
		}, "1790000000001/alr_b", fails
	}
	f.handler = New(f.options)
	const body = `{"data":[{"id":"alr_a","kind":"low_disk","account_id":null,"transaction_id":null,"message":"little \"disk\"","created_at":"2026-09-21T14:13:20.000Z"},` +
		`{"id":"alr_b","kind":"quarantine","account_id":"acc_7","transaction_id":"PIXOUT7","message":"x","created_at":"2026-09-21T14:13:20.001Z"}],"next_cursor":"1790000000001/alr_b"}`
	for query, want := range map[string]string{
		"":                                      "0 false  50",
		"?since=2026-09-21T14:13:20Z&limit=7":   "1790000000000 false  7",
		"?cursor=1790000000001/alr_b&limit=200": "0 false 1790000000001/alr_b 200",
		"?since=2026-09-21T11:13:20.5-03:00&cursor=&unknown=else": "1790000000500 false  50",
		"?order=newest&cursor=1790000000001/alr_b":                "0 true 1790000000001/alr_b 50",
		"?order=oldest": "0 false  50",
	} {
		if f.expect("GET", "/admin/alerts"+query, "", 200, body); asked != want {
			t.Errorf("%s asks for %q, want %q", query, asked, want)
		}
	}
	for query, want := range map[string]string{
		"?since=yesterday":        "since",
		"?since=5":                "since",
		"?limit=0":                "limit",
		"?limit=201":              "limit",
		"?cursor=5":               "cursor",
		"?order=up":               "order",
		"?cursor=1790000000001/b": "cursor",
	} {
		f.expect("GET", "/admin/alerts"+query, "", 400, `{"error":{"status":400,"message":"`+want+` must be…`)
	}
	fails = errors.New("gone")
	f.expect("GET", "/admin/alerts", "", 500, `{"error":{"status":500,"message":"internal error"}}`)
}
