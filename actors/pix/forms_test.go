package pix

import (
	"slices"
	"strings"
	"testing"
)

// TestTxids checks the form of a txid: 1 to 35 letters and digits of ASCII.
func TestTxids(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "a": true, "z": true, "A": true, "Z": true, "0": true, "9": true, "`": false, "{": false, "@": false, "[": false, "/": false, ":": false,
		"aZ09": true, "a-b": false, "a b": false, "é": false, strings.Repeat("x", 35): true, strings.Repeat("x", 36): false,
	} {
		if IsTxid(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// TestFormsOfIDs checks that an id comes back from its form, and that no other string is taken for one: without the
// prefix, with another, longer, shorter, in capitals, or with bits in its last character that an id does not have.
func TestFormsOfIDs(t *testing.T) {
	account, subscription := AccountID(1), NewSubscriptionID(1, 7, [4]byte{1, 2, 3, 4})
	event, transaction := EventID{1, 15: 9}, NewTxID(1_700_000_000_000, [10]byte{1, 9: 2})
	if subscription.Account() != account || subscription.Number() != 7 || [4]byte(subscription[12:]) != [4]byte{1, 2, 3, 4} {
		t.Errorf("%x", subscription)
	}
	for form, parse := range map[string]func(string) (same, ok bool){
		account.String():      func(s string) (bool, bool) { id, ok := ParseAccountID(s); return id == account, ok },
		subscription.String(): func(s string) (bool, bool) { id, ok := ParseSubscriptionID(s); return id == subscription, ok },
		event.String():        func(s string) (bool, bool) { id, ok := ParseEventID(s); return id == event, ok },
	} {
		if same, ok := parse(form); !ok || !same {
			t.Errorf("%s is none, or another", form)
		}
		prefix, rest, _ := strings.Cut(form, "_")
		for _, other := range []string{"", rest, "xyz_" + rest, form + "a", form[:len(form)-1], prefix + "_", prefix + "_" + strings.ToUpper(rest), form + "aaaaaaaa", form[:len(form)-1] + "b"} {
			if _, ok := parse(other); ok {
				t.Errorf("%q is taken for %s", other, form)
			}
		}
	}
	form := transaction.String()
	if id, ok := ParseTxID(strings.ToUpper(form)); !ok || id != transaction {
		t.Errorf("%s in capitals is none", form)
	}
	for i, c := range form {
		if other := form[:i] + "_" + form[i+1:]; c == '-' {
			if _, ok := ParseTxID(other); ok {
				t.Errorf("%s is taken for a UUID", other)
			}
		}
	}
	for _, other := range []string{"", form[:35], form + "0", form[1:], strings.ReplaceAll(form, "-", ""), form[:35] + "g"} {
		if _, ok := ParseTxID(other); ok {
			t.Errorf("%q is taken for a UUID", other)
		}
	}
}

// TestEventKinds checks that each kind but that of the test event can be subscribed to, by its name, and that a set of
// kinds has those that were put into it.
func TestEventKinds(t *testing.T) {
	all := EventKinds()
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = k.String()
	}
	if want := []string{ // a set of kinds is stored by this order
		"pix.received", "pix.charge.paid", "pix.completed", "pix.payout.confirmed", "pix.payout.rejected", "pix.payout.failed", "pix.payout.queued",
		"pix.return.received", "pix.payout.returned", "pix.refund.requested", "pix.refund.completed", "pix.refund.failed", "pix.med.closed",
	}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	var every, others EventMask
	for i, k := range all {
		if got, ok := ParseEventKind(k.String()); !ok || got != k {
			t.Errorf("%v comes back as %v, %v", k, got, ok)
		}
		if every = every.With(k); i%2 == 1 {
			others = others.With(k)
		}
	}
	if !slices.Equal(every.Kinds(), all) || EventMask(0).Kinds() != nil {
		t.Errorf("%v", every.Kinds())
	}
	for i, k := range all {
		if in := i%2 == 1; others.Has(k) != in || slices.Contains(others.Kinds(), k) != in {
			t.Errorf("%v: in the set %v", k, !in)
		}
	}
	for _, name := range []string{"", "pix.test", "pix", "pix.Received", "pix.received "} {
		if k, ok := ParseEventKind(name); ok {
			t.Errorf("%q is taken for %v", name, k)
		}
	}
}

// TestMovedMoney checks the statuses in which a transaction has moved money.
func TestMovedMoney(t *testing.T) {
	for s := TxStatus(0); s < 32; s++ {
		if want := s == StatusCompleted || s == StatusSettled; s.MovedMoney() != want {
			t.Errorf("%v: %v", s, !want)
		}
	}
}

// TestDocumentOfAKey checks which keys are documents.
func TestDocumentOfAKey(t *testing.T) {
	for of, want := range map[KeyType]string{KeyCPF: "x", KeyCNPJ: "x", KeyPhone: "", KeyEmail: "", KeyEVP: "", KeyNone: ""} {
		if got := (Key{Type: of, Value: "x"}).Document(); got != want {
			t.Errorf("%v: %q", of, got)
		}
	}
}

// TestCNPJs checks the form of a CNPJ: twelve digits or capital letters, and two digits.
func TestCNPJs(t *testing.T) {
	for s, want := range map[string]bool{
		"AZ09AZ09AZ0912": true, "12345678000195": true, "az09AZ09AZ0912": false, "AZ09AZ09AZ[912": false, "AZ09AZ09AZ@912": false,
		"AZ09AZ09AZ0[12": false, "AZ09AZ09AZ09Z1": false, "AZ09AZ09AZ091Z": false, "AZ09AZ09AZ091": false, "AZ09AZ09AZ09123": false, "": false,
	} {
		if IsCNPJ(s) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}
