package ledger

import (
	"reflect"
	"testing"

	"pixd/actors/pix"
)

// partsOf lists the parts that a transaction of a kind may have.
var partsOf = map[pix.TxKind][]string{
	pix.TxCharge: {"Charge"}, pix.TxReceipt: {"Receipt"}, pix.TxTED: {"Credit"}, pix.TxInternal: {"Credit"}, pix.TxReturn: {"Return"},
	pix.TxPayout: {"Payout", "Transfer"}, pix.TxRefund: {"Refund", "Transfer"},
}

// foreignParts lists the parts that a transaction has although a transaction of its kind
// must not have them.
func foreignParts(tx *Transaction) (out []string) {
	own := map[string]bool{}
	for _, name := range partsOf[tx.Kind] {
		own[name] = true
	}
	v := reflect.ValueOf(*tx)
	for _, name := range []string{"Charge", "Receipt", "Credit", "Return", "Payout", "Transfer", "Refund"} {
		if !own[name] && !v.FieldByName(name).IsZero() {
			out = append(out, name)
		}
	}
	return out
}

// TestParts checks that every part of a transaction belongs to at least one kind of
// transaction, and that no golden record has a part of another kind. The stories
// (story_test.go) check the same of every record they make.
func TestParts(t *testing.T) {
	known := map[string]bool{}
	for _, names := range partsOf {
		for _, name := range names {
			known[name] = true
		}
	}
	of := reflect.TypeOf(Transaction{})
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Type.Kind() == reflect.Struct && f.Name != "Counterparty" && !known[f.Name] {
			t.Errorf("the part %s is of no kind", f.Name)
		}
	}
	for _, r := range goldenRecords() {
		if r.Tx == nil {
			continue
		}
		if got := foreignParts(r.Tx); got != nil {
			t.Errorf("%v of a %v has parts %v", r.Kind, r.Tx.Kind, got)
		}
	}
}
