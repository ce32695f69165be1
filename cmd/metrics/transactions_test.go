package metrics

import (
	"strings"
	"testing"

	"pixd/actors/account"
)

// TestTransactions checks that every kind and outcome is shown from the start, each once.
func TestTransactions(t *testing.T) {
	got := text(t, Transactions{new(account.Moves)})
	shows(t, got,
		`pixd_transactions_total{kind="payout",outcome="asked"} 0`, `pixd_transactions_total{kind="payout",outcome="refused"} 0`,
		`pixd_transactions_total{kind="payout",outcome="settled"} 0`, `pixd_transactions_total{kind="payout",outcome="rejected"} 0`,
		`pixd_transactions_total{kind="payout",outcome="failed"} 0`, `pixd_transactions_total{kind="payout",outcome="returned"} 0`,
		`pixd_transactions_total{kind="payment",outcome="settled"} 0`, `pixd_transactions_total{kind="credit",outcome="settled"} 0`,
		`pixd_transactions_total{kind="refund",outcome="asked"} 0`, `pixd_transactions_total{kind="refund",outcome="settled"} 0`,
		`pixd_transactions_total{kind="refund",outcome="failed"} 0`,
	)
	if n := strings.Count(got, "\npixd_transactions_total{"); n != 11 {
		t.Errorf("%d series", n)
	}
}
