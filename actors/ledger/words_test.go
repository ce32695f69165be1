package ledger

import (
	"testing"

	"pixd/actors/pix"
)

func TestFee(t *testing.T) {
	for _, c := range []struct {
		fee    Fee
		amount pix.Amount
		want   pix.Amount
	}{
		{Fee{}, 10_000, 0},
		{Fee{Fixed: 350}, 10_000, 350},
		{Fee{BPS: 100}, 10_000, 100},
		{Fee{BPS: 1}, 4_999, 0},    // 0.4999
		{Fee{BPS: 1}, 5_000, 1},    // 0.5 rounds up
		{Fee{BPS: 1}, 14_999, 1},   // 1.4999
		{Fee{BPS: 99}, 10_050, 99}, // 99.495
		{Fee{BPS: 10_000}, pix.MaxAmount, pix.MaxAmount},
		{Fee{pix.MaxAmount, 10_000}, pix.MaxAmount, 2 * pix.MaxAmount},
	} {
		if got := c.fee.Of(c.amount); got != c.want {
			t.Errorf("%+v of %d: %d, want %d", c.fee, c.amount, got, c.want)
		}
	}
}

func TestAvailableIsNeverNegative(t *testing.T) {
	for _, c := range []struct {
		totals Totals
		want   pix.Amount
	}{
		{Totals{Balance: 10, Held: 3, MEDHeld: 2}, 5},
		{Totals{Balance: 10, Held: 3, MEDHeld: 9}, 0},
		{Totals{Balance: -4}, 0},
	} {
		if got := c.totals.Available(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.totals, got, c.want)
		}
	}
}

// TestReturnText checks the description of a return with each of the codes that have words, and with others.
func TestReturnText(t *testing.T) {
	for code, want := range map[string]string{
		"MD06": "Returned by agreement between the parties",
		"BE08": "Returned because of fraud",
		"FR01": "Returned because fraud was reported at the receiving side",
		"SL02": "Returned because of a settlement error",
		"AC03": "Return from counterparty (AC03)",
		"":     "Return from counterparty ()",
	} {
		if got := returnText(code); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}
