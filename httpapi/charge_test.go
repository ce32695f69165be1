package httpapi

import (
	"strings"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/qr"
)

// awaitTable draws the code of a charge until package qr has a table for it, which is when an
// image allocates nothing any more. It fails the test where there is none within ten seconds.
func awaitTable(t testing.TB, charge *ledger.Transaction) {
	text, err := chargeCode(charge)
	if err != nil {
		t.Fatal(err)
	}
	room := make([]byte, 0, 4096)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if testing.AllocsPerRun(100, func() { _, err = qr.AppendImage(room, text) }) < 1 && err == nil {
			return
		}
	}
	t.Errorf("no table for %q, %v", text, err)
}

// TestChargesHaveTables checks that charges' codes are drawn from tables, also where their texts
// are longest and shortest.
func TestChargesHaveTables(t *testing.T) {
	if !timed {
		t.Skip("the race detector allocates too")
	}
	charge := ledger.Transaction{
		ID: itemID, Kind: pix.TxCharge, Amount: pix.MaxAmount, Description: strings.Repeat("a", 140),
		Charge: ledger.ChargePart{
			Key:          pix.Key{Value: strings.Repeat("k", 65) + "@example.com"},
			MerchantName: strings.Repeat("Ana ", 10), MerchantCity: strings.Repeat("Rio ", 10),
		},
	}
	for range 2 {
		awaitTable(t, &charge)
		charge.Amount, charge.Description = pix.UnitsPerCentavo, ""
	}
}
