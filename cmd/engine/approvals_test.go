package engine

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/registry"
)

// TestFirstApprovalsForgotten checks that the first approval of a payout whose time ran out is forgotten, and that of one
// that waits is kept.
func TestFirstApprovalsForgotten(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem(), func(c *Config) { c.ApprovalBy, c.ApprovalTTL = 2, 3*time.Second })
	if status, got := w.operate("PATCH", "/admin/accounts/"+w.ID, `{"approval_threshold":10000}`); status != 200 {
		t.Fatal(status, got)
	}
	approved := func(key string) (id string, first func() *registry.FirstApproval) {
		id = w.paidOut(`{"amount":1100,"pix_key":"` + key + `@example.com"}`).TransactionID
		if status, got := w.operate("POST", "/admin/payouts/"+id+"/approve", `{"operator":"ana"}`); status != 202 {
			t.Fatal(status, got)
		}
		o, err := w.History.Anyone(id)
		if err != nil || o == nil {
			t.Fatal(o, err)
		}
		return id, func() *registry.FirstApproval { return w.Operators.FirstApproval(o.Tx.ID) }
	}
	over, ofOver := approved("over")
	w.becoming(over, "failed")
	_, ofWaiting := approved("waiting")
	if ofOver() == nil || ofWaiting() == nil {
		t.Fatal("no first approvals")
	}
	asked := 0
	if err := w.Operators.ForgetApprovals(func(pix.TxID) (bool, error) { asked++; return true, io.ErrUnexpectedEOF }); asked != 2 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of two that cannot be read %d are asked for: %v", asked, err)
	}
	if err := w.forgetApprovals(); err != nil || ofOver() != nil || ofWaiting() == nil {
		t.Errorf("%v: of the one whose time is over %v, of the one that waits %v", err, ofOver(), ofWaiting())
	}
}
