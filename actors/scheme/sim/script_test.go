package sim

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestScript checks the outcome that each key chooses.
func TestScript(t *testing.T) {
	for _, c := range []struct {
		kind pix.KeyType
		key  string
		want outcome
	}{
		{pix.KeyEmail, "ana@example.com", outcome{}},
		{pix.KeyEmail, "settle-now@pix.test", outcome{now: true}},
		{pix.KeyEmail, "settle-now+17@pix.test", outcome{now: true}},
		{pix.KeyEmail, "settle-now@example.com", outcome{}},
		{pix.KeyEmail, "settle-now@pix.test.example.com", outcome{}},
		{pix.KeyEmail, "settle-now-or-never@pix.test", outcome{}},
		{pix.KeyEmail, "reject-ac03@pix.test", outcome{reason: "AC03"}},
		{pix.KeyEmail, "reject-ac03+a+b@pix.test", outcome{reason: "AC03"}},
		{pix.KeyEmail, "reject-@pix.test", outcome{}},
		{pix.KeyEmail, "not-found@pix.test", outcome{lookup: ledger.RefuseKeyNotFound}},
		{pix.KeyEmail, "blocked@pix.test", outcome{lookup: ledger.RefuseKeyBlocked}},
		{pix.KeyEmail, "lookup-failed@pix.test", outcome{lookup: ledger.RefuseLookupFailed}},
		{pix.KeyEmail, "provider-rejected@pix.test", outcome{submit: ledger.RefuseProvider}},
		{pix.KeyEmail, "provider-unknown@pix.test", outcome{submit: ledger.RefuseProviderOther}},
		{pix.KeyEmail, "provider-schema-error@pix.test", outcome{submit: ledger.RefuseProviderSchema}},
		{pix.KeyEmail, "owner-12345678000195@pix.test", outcome{owner: "12345678000195"}},
		{pix.KeyEmail, "owner-123@pix.test", outcome{}},
		{pix.KeyEmail, "silent@pix.test", outcome{silent: true}},
		{pix.KeyEmail, "silent+1@pix.test", outcome{silent: true}},
		{pix.KeyEmail, "returned@pix.test", outcome{returned: true}},
		{pix.KeyEmail, "client-limited@pix.test", outcome{limit: ledger.RefuseRateLimited}},
		{pix.KeyEmail, "client-limited-3@pix.test", outcome{limit: ledger.RefuseRateLimited, times: 3}},
		{pix.KeyEmail, "client-limited-3+5@pix.test", outcome{limit: ledger.RefuseRateLimited, times: 3}},
		{pix.KeyEmail, "bucket-exhausted+x@pix.test", outcome{limit: ledger.RefuseBucket}},
		{pix.KeyEmail, "bucket-exhausted-12@pix.test", outcome{limit: ledger.RefuseBucket, times: 12}},
		{pix.KeyEmail, "bucket-exhausted-0@pix.test", outcome{}},
		{pix.KeyEmail, "client-limited-@pix.test", outcome{}},
		{pix.KeyEmail, "client-limited3@pix.test", outcome{}},
		{pix.KeyEmail, "client-limited--3@pix.test", outcome{}},
		{pix.KeyEmail, "client-limited-many@pix.test", outcome{}},
		{pix.KeyEVP, "settle-now@pix.test", outcome{}}, // the key is not an e-mail, so it chooses nothing
		{pix.KeyPhone, "+5511999999999", outcome{}},
	} {
		if got := script(pix.Key{Type: c.kind, Value: c.key}); got != c.want {
			t.Errorf("%v %s: %+v, want %+v", c.kind, c.key, got, c.want)
		}
	}
}

// TestOwner checks that a key which states a document has an owner with that document, and
// that any other key has a made-up owner with a valid CPF, the same each time.
func TestOwner(t *testing.T) {
	for _, c := range []struct {
		key                  pix.Key
		name, document, ispb string
	}{
		{pix.Key{Type: pix.KeyCPF, Value: "12345678909"}, "Pessoa Simulada", "12345678909", recipientISPB},
		{pix.Key{Type: pix.KeyCNPJ, Value: "12345678000195"}, "Empresa Simulada LTDA", "12345678000195", recipientISPB},
		{pix.Key{Type: pix.KeyEmail, Value: "owner-00000000000191@pix.test"}, "Empresa Simulada LTDA", "00000000000191", recipientISPB},
		{pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}, "Pessoa Simulada", "32355348065", recipientISPB},
	} {
		if got := owner(c.key, script(c.key)); got != (pix.Party{Name: c.name, Document: c.document, ISPB: c.ispb}) {
			t.Errorf("%s belongs to %+v", c.key.Value, got)
		}
	}
}

// TestCheckDigits checks cpf against documents whose digits are known.
func TestCheckDigits(t *testing.T) {
	for base, want := range map[uint64]string{
		123456789: "12345678909", 111444777: "11144477735", 0: "00000000000", 529982247: "52998224725",
		999999999: "99999999999", 10: "00000001082", 6: "00000000604", // the modulo 11 remainder is ten, so the check digit is zero
	} {
		if got := cpf(base); got != want {
			t.Errorf("%09d: %s, want %s", base, got, want)
		}
	}
}
