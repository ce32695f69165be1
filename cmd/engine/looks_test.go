package engine

import (
	"strings"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestLooksWaitForTheDisk checks that lookups, lists, balances and audits which see a commit
// that is not synced yet are answered only after the sync.
func TestLooksWaitForTheDisk(t *testing.T) {
	t.Parallel()
	fs := newHanging()
	w := newHarness(t, fs)
	w.pays()
	id, _ := pix.ParseAccountID(w.ID)
	w.becomes("at rest", soon, func() bool { return w.Store.Durable() == w.Store.Submitted() })
	newest := func() uint64 {
		seq, _, err := w.Store.Last(wal.Stream(id))
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	before := newest()
	release := fs.hang()
	go func() { _, _ = w.Accounts.Do(id, ledger.Credit{Amount: 5, Kind: pix.TxTED}) }()
	w.becomes("shown", soon, func() bool { return newest() == before+1 })
	answers := make(chan string, 4)
	go func() { _, got := w.operate("GET", "/admin/audit", ""); answers <- got }()
	go func() { _, got := w.operate("GET", "/admin/payouts?status=settled", ""); answers <- got }()
	go func() { _, got := w.operate("GET", "/admin/transactions/PIXOUT7", ""); answers <- got }()
	go func() { _, got := w.balance(); answers <- got }()
	select {
	case got := <-answers:
		t.Errorf("told before it was durable: %s", got)
		answers <- got
	case <-time.After(100 * time.Millisecond):
	}
	release()
	reported := ""
	for range 4 {
		reported += <-answers
	}
	if strings.Count(reported, `"balance":999575,`) < 2 { // the merchant's balance, once in the list and once in the audit
		t.Error(reported)
	}
}
