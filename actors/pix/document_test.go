package pix

import (
	"testing"
)

// TestValidCPF checks ValidCPF with valid and invalid check digits, lengths and characters.
func TestValidCPF(t *testing.T) {
	for cpf, want := range map[string]bool{
		"52998224725": true, "12345678909": true, "11144477735": true, "52998224724": false, "52998224715": false, "00000000000": false,
		"11111111111": false, "5299822472": false, "5299822472a": false, "": false,
	} {
		if ValidCPF(cpf) != want {
			t.Errorf("%s: %v", cpf, !want)
		}
	}
}
