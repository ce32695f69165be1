package engine

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestOldItems checks that transactions of every earlier format are shown with what can be derived of them, and
// with null for what was not stored then.
func TestOldItems(t *testing.T) {
	t.Parallel()
	for _, file := range oldSnapshots(t) {
		fs := vfs.NewMem()
		var k kept
		text, err := os.ReadFile(strings.TrimSuffix(string(file), ".snap") + ".json")
		if err != nil || json.Unmarshal(text, &k) != nil {
			t.Fatal(err)
		}
		v := restoredAt(t, fs, file.put(t, fs), "data")
		clocks := newClocks()
		clocks.wall.Store(-time.Since(v.Manifest.CreatedAt).Milliseconds())
		w := &harness{t: t, ID: k.Account, Key: k.Key, Sec: k.Secret}
		w = w.at(serveHarness(t, fs, func(c *Config) { c.AcceptRestoredGap, c.Clocks = true, clocks.sources() }))
		type item struct {
			Transaction string  `json:"transaction_id"`
			Original    string  `json:"original_transaction_id"`
			Reason      string  `json:"return_reason"`
			Case        *string `json:"case_id"`
			Key         string  `json:"receiving_key"`
			Txid        *string `json:"txid"`
			Refunded    int64   `json:"refunded_amount"`
		}
		look := func(id string) (i item) {
			if status, got := w.get("/transactions/" + id); status != 200 || json.Unmarshal([]byte(got), &i) != nil {
				t.Errorf("%s: %d %s", file, status, got)
			}
			return i
		}
		refund := look(k.Refund)
		paid := look(refund.Original)
		if refund.Reason != "MD06" || refund.Case != nil || refund.Key != "" || paid.Refunded < 10_000 || paid.Key == "" || paid.Txid != nil {
			t.Errorf("%s: the refund %+v of %+v", file, refund, paid)
		}
		var all struct{ Data []item }
		if _, got := w.get("/transactions?original_transaction_id=" + paid.Transaction); json.Unmarshal([]byte(got), &all) != nil || len(all.Data) == 0 {
			t.Errorf("%s: its refunds: %s", file, got)
		}
		for _, one := range all.Data {
			if one.Original != paid.Transaction {
				t.Errorf("%s: %+v is no refund of %+v", file, one, paid)
			}
		}
		w.stop()
	}
}
