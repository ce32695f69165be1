package registry

import (
	"testing"

	"pixd/actors/pix"
)

// TestRenewedOperator checks that a revoked operator who gets a new token has neither the old token nor a first approval
// that was given with it.
func TestRenewedOperator(t *testing.T) {
	d := newDesk(t)
	now := pix.Millis(7)
	d.now = func() pix.Millis { now++; return now }
	if _, err := d.Add("ana", Writer, "first token"); err != nil {
		t.Fatal(err)
	}
	payout := pix.TxID{1}
	if first, err := d.Approve(payout, "ana"); first != nil || err != nil {
		t.Fatal(first, err)
	}
	if _, err := d.Revoke("ana"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Add("ana", Writer, "second token"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if d.WithToken("first token") != nil || d.WithToken("second token") == nil {
			t.Error("the first token is valid again, or the second is not")
		}
		d.again()
	}
	if first, err := d.Approve(payout, "bia"); first != nil || err != nil {
		t.Errorf("the approval by the first token stands: %+v %v", first, err)
	}
}
