package scheme

import (
	"errors"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestUnassigned checks that Unassigned refuses every call, with an error that names the
// call.
func TestUnassigned(t *testing.T) {
	var s Scheme = Unassigned{}
	tx := pix.TxID{1}
	_, lookup := s.Lookup(t.Context(), Query{Tx: tx})
	_, submit := s.Submit(t.Context(), Payment{Tx: tx})
	_, refund := s.Return(t.Context(), Refund{Tx: tx})
	_, ask := s.Ask(t.Context(), tx, "")
	register := s.RegisterKey(t.Context(), pix.Key{Value: "a@example.com"}, 7)
	_, returns := s.Returns(t.Context(), 7, "E1")
	deregister := s.DeregisterKey(t.Context(), pix.Key{Value: "a@example.com"}, 7)
	_, movements := s.Movements(t.Context(), 1, "", 1)
	_, book := s.Book(t.Context())
	for want, err := range map[string]error{
		"register a key of acc_aaaaaaaaaaaao": register, "deregister a key of acc_aaaaaaaaaaaao": deregister, "look up for " + tx.String(): lookup,
		"submit " + tx.String(): submit, "ask for " + tx.String(): ask,
		"return " + tx.String(): refund, "returns of E1": returns, "list movements": movements, "read the book": book,
	} {
		var refused *Refused
		if !errors.Is(err, ErrUnassigned) || !strings.Contains(err.Error(), want) || errors.As(err, &refused) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestRefusedSaysWhy checks that the text of a *Refused names the code as merchants see it.
func TestRefusedSaysWhy(t *testing.T) {
	if got := (&Refused{ledger.RefuseKeyNotFound}).Error(); got != "scheme: refused: dict_key_not_found" {
		t.Error(got)
	}
}

// TestKindsHaveNames checks that each kind of notice has a name of its own in the protocol.
func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	all := NoticeKinds()
	if len(all) != len(kindNames)-1 || all[0] != PaymentArrived {
		t.Errorf("kinds %v", all)
	}
	for _, k := range all {
		if name := k.String(); name == "" || name == "unknown" || seen[name] {
			t.Errorf("%d is %q", k, name)
		}
		seen[k.String()] = true
	}
	if got := NoticeKind(0).String() + NoticeKind(len(kindNames)).String(); got != "unknownunknown" {
		t.Error(got)
	}
}
