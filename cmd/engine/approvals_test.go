package engine

import (
	"encoding/json"
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

// TestFirstApprovalsAfterRestore checks that a first approval from before a restore does not count, and that one given
// since of a payout that waits because of the restore is not forgotten.
func TestFirstApprovalsAfterRestore(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	byTwo := func(c *Config) { c.ApprovalBy = 2 }
	w := newHarness(t, fs, byTwo)
	if status, got := w.operate("PATCH", "/admin/accounts/"+w.ID, `{"approval_threshold":10000}`); status != 200 {
		t.Fatal(status, got)
	}
	large := w.paidOut(`{"amount":1100,"pix_key":"large@example.com"}`).TransactionID
	var ana struct{ Token string }
	if status, got := w.operate("POST", "/admin/operators", `{"name":"ana","role":"operator"}`); status != 201 || json.Unmarshal([]byte(got), &ana) != nil {
		t.Fatal(status, got)
	}
	w.capacity("client_limited")
	queued := w.paidOut(`{"amount":17,"pix_key":"queued@example.com"}`).TransactionID
	w.becoming(queued, "pending")
	approve := func(w *harness, id, operator string, want int) {
		t.Helper()
		path := "http://" + w.AdminAddr.String() + "/admin/payouts/" + id + "/approve"
		token := map[string]string{"ana": ana.Token, "root": "token"}[operator]
		if status, got, _ := w.send("POST", path, `{"operator":"`+operator+`"}`, "Authorization", "Bearer "+token, "Content-Type", "application/json"); status != want {
			t.Errorf("%s: %d %s, want %d", operator, status, got, want)
		}
	}
	approve(w, large, "ana", 202)
	file := w.snap()
	w.capacity("available")
	w.stop()

	restoredAt(t, fs, file, "new")
	again := w.at(serveHarness(t, fs, from("new"), byTwo))
	approve(again, large, "root", 202)
	approve(again, queued, "root", 202)
	if err := again.forgetApprovals(); err != nil {
		t.Fatal(err)
	}
	approve(again, large, "ana", 200)
	approve(again, queued, "ana", 200)
	again.becoming(large, "settled")
	again.becoming(queued, "settled")
}
