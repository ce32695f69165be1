package scheme

import (
	"errors"
	"strings"
	"testing"

	"pixd/actors/ledger"
)

// TestUnassigned refuses every call, and says which.
func TestUnassigned(t *testing.T) {
	var s Scheme = Unassigned{}
	tx := ledger.TxID{1}
	_, lookup := s.Lookup(t.Context(), Query{Tx: tx})
	_, submit := s.Submit(t.Context(), Payment{Tx: tx})
	_, ask := s.Ask(t.Context(), tx, "")
	register := s.RegisterKey(t.Context(), ledger.Key{Value: "a@example.com"}, 7)
	for want, err := range map[string]error{
		"register key a@example.com": register, "look up for " + tx.String(): lookup,
		"submit " + tx.String(): submit, "ask for " + tx.String(): ask,
	} {
		var refused *Refused
		if !errors.Is(err, ErrUnassigned) || !strings.Contains(err.Error(), want) || errors.As(err, &refused) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestRefusedSaysWhy in the merchants' word.
func TestRefusedSaysWhy(t *testing.T) {
	if got := (&Refused{ledger.RefuseKeyNotFound}).Error(); got != "scheme: refused: dict_key_not_found" {
		t.Error(got)
	}
}
