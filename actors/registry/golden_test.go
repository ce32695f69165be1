package registry

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pixd/actors/cbormap"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew: a stored format may only grow")

// goldenRecords is one record of every kind, with every field that the kind can have.
func goldenRecords() []Record {
	threshold := pix.Amount(7)
	account := &Account{
		ID: 7, Active: true, CreatedAt: 1772366400000,
		Opening: &ledger.Settings{
			Name: "Açaí", Document: "12ABC34501DE35", City: "RECIFE", CashInFee: ledger.Fee{Fixed: 1, BPS: 2},
			CashOutFee: ledger.Fee{Fixed: 3, BPS: 4}, CashOutCeiling: 5, ApprovalThreshold: &threshold,
			BlockCNPJOut: true, AuthorizedCNPJs: []string{"00000000000191"}, RepeatWindow: ledger.MaxRepeatWindow,
		},
	}
	key := &APIKey{
		ClientID: "cli_1", Account: 7, SecretHash: [32]byte{1, 2, 3}, Permissions: AllPermissions,
		Whitelist: []string{"127.0.0.1", "10.0.0.0/8"}, ExpiresAt: 1772366400001, Signing: true, Active: true,
		CreatedAt: 1772366400000,
	}
	pix := &PixKey{
		Key: "ana@example.com", Type: pix.KeyEmail, Account: 7, CreatedAt: 1772366400000, Registered: true,
	}
	register := &EndToEndReservation{EndToEnd: "E99999004202603011200abcdefghijk", Account: 7}
	operator := &Operator{Name: "ana", Role: Admin, TokenHash: [32]byte{4, 5, 6}, CreatedAt: 1772366400000, RevokedAt: 1772366400002}
	action := &Action{
		Number: 299, Operator: "ana", Role: Admin, At: 1772366400000, RequestID: "req-1", Method: "PATCH",
		Path: "/admin/accounts/acc_1?x=y", Body: `{"approval_threshold":1}`, Status: 200,
	}
	approval := &FirstApproval{Payout: [16]byte{1, 2, 3}, Operator: "ana", At: 1772366400000}
	bodies := map[RecordKind]Record{
		AccountRegistered: {Account: account}, AccountChanged: {Account: account},
		APIKeyMade: {APIKey: key}, APIKeyChanged: {APIKey: key},
		PixKeyReserved: {PixKey: pix}, PixKeyRegistered: {PixKey: pix},
		EndToEndReserved: {EndToEnd: register}, PixKeyRemoved: {PixKey: pix}, PixKeyUnlisted: {PixKey: pix},
		OperatorAdded: {Operator: operator}, OperatorRevoked: {Operator: operator}, ActionBegun: {Action: action},
		ActionEnded: {Action: action}, FirstApproved: {Approval: approval}, FirstApprovalOver: {Approval: approval},
	}
	var out []Record
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		r, ok := bodies[k]
		if !ok {
			panic("no golden record of " + k.String())
		}
		r.Kind, r.Seq, r.Time = k, 300, 1772366400201
		out = append(out, r)
	}
	return out
}

// TestGolden checks the bytes of every record kind and its rows against golden files. If
// they differ, the engine can no longer read stores that were written before.
func TestGolden(t *testing.T) {
	for _, r := range goldenRecords() {
		golden(t, r.Kind.String()+".golden", fmt.Sprintf("kind %d\nbody %x\n", r.Kind, r.Encode()))
		for _, row := range Project(&r) {
			golden(t, r.Kind.String()+".row.golden", fmt.Sprintf("key %x\nvalue %x\n", row.Key, row.Value))
		}
		back := Record{Kind: r.Kind, Seq: r.Seq, Time: r.Time}
		if err := back.Decode(r.Encode()); err != nil {
			t.Errorf("%v: %v", r.Kind, err)
		}
		if !reflect.DeepEqual(back, r) {
			t.Errorf("%v: came back as %+v, was %+v", r.Kind, back, r)
		}
	}
}

// TestGoldenIsWhole checks that no field of a golden record is empty, because TestGolden
// does not check the bytes of an empty field.
func TestGoldenIsWhole(t *testing.T) {
	for _, r := range goldenRecords() {
		for _, entry := range []any{r.Account, r.APIKey, r.PixKey, r.EndToEnd, r.Operator, r.Action, r.Approval} {
			v := reflect.ValueOf(entry)
			if v.IsNil() {
				continue
			}
			for f, value := range v.Elem().Fields() {
				if f.IsExported() && f.Tag.Get("cbor") != "-" && value.IsZero() {
					t.Errorf("%v: %s is empty", r.Kind, f.Name)
				}
			}
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: a stored format has changed\n got %s\nwant %s", name, got, want)
	}
}

// TestDecodeNeverGuesses checks that Record.Decode returns an error for unknown kinds,
// unknown fields and damaged bodies.
func TestDecodeNeverGuesses(t *testing.T) {
	good := goldenRecords()[0]
	body := good.Encode()
	newer, err := cbormap.Encoding.Marshal(map[int]any{1: map[int]any{1: 7}, 99: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind RecordKind
		body []byte
	}{
		"kind 0":      {0, body},
		"a ledger's":  {RecordKind(ledger.PayoutFailed), body},
		"newer kind":  {FirstApprovalOver + 1, body},
		"newer field": {AccountRegistered, newer},
		"cut":         {AccountRegistered, body[:len(body)-1]},
		"trailing":    {AccountRegistered, append(append([]byte{}, body...), 0)},
		"empty":       {AccountRegistered, nil},
	} {
		r := Record{Kind: c.kind}
		if err := r.Decode(c.body); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
}
