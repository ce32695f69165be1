package registry

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pixd/actors/pix"
)

// driver is a machine, with methods for the steps of the tests.
type driver struct {
	t *testing.T
	m *Machine
}

// take applies the records of a decision, and returns their kinds or, if the decision was
// refused, the error's text.
func (b *driver) take(records []Record, err error) string {
	b.t.Helper()
	if err != nil {
		return err.Error()
	}
	var kinds []string
	for i := range records {
		r := &records[i]
		r.Seq, r.Time = b.m.Seq+1, b.m.Time+1
		if err := b.m.Apply(r); err != nil {
			b.t.Fatal(err)
		}
		kinds = append(kinds, r.Kind.String())
	}
	return strings.Join(kinds, " ")
}

func (b *driver) register(id pix.AccountID, key string) string {
	return b.take(b.m.RegisterAccount(
		Account{ID: id, Active: true}, PixKey{Key: key, Type: pix.KeyEVP, Account: id},
	))
}

func (b *driver) pix(id pix.AccountID, key string) string {
	return b.take(b.m.ReservePixKey(PixKey{Key: key, Type: pix.KeyEmail, Account: id}))
}

// TestMachine runs one registry through a list of commands and checks the records or the
// refusal of each.
func TestMachine(t *testing.T) {
	b := &driver{t, NewMachine()}
	off := func(k *APIKey) { k.Active = false }
	for n, line := range []struct{ got, want string }{
		{b.register(1, "first"), "account.registered pix_key.reserved"},
		{b.register(1, "second"), "account acc_aaaaaaaaaaaac: exists already"},
		{b.register(2, "first"), ErrKeyTaken.Error()},
		{b.register(2, "other"), "account.registered pix_key.reserved"},
		{b.pix(3, "k"), ErrUnknownAccount.Error()},
		{b.pix(1, "k"), "pix_key.reserved"},
		{b.pix(1, "k"), ""}, // a repeat by the same account changes nothing
		{b.pix(2, "k"), ErrKeyTaken.Error()},
		{b.take(b.m.RegisteredPixKey(b.m.pixKeys["k"])), "pix_key.registered"},
		{b.take(b.m.RegisteredPixKey(b.m.pixKeys["k"])), ""},
		{b.pix(1, "k"), ""}, // after the key was registered, a repeat by the same account makes no record either
		{b.take(b.m.RegisteredPixKey(&PixKey{Key: "nobody's"})), ""},
		{b.take(b.m.SetActive(1, true)), ""},
		{b.take(b.m.SetActive(1, false)), "account.changed"},
		{b.take(b.m.SetActive(9, false)), ErrUnknownAccount.Error()},
		{b.take(b.m.MakeAPIKey(APIKey{ClientID: "cli_1", Account: 9})), ErrUnknownAccount.Error()},
		{b.take(b.m.MakeAPIKey(APIKey{ClientID: "cli_1", Account: 1, Active: true})), "api_key.made"},
		{b.take(b.m.MakeAPIKey(APIKey{ClientID: "cli_1", Account: 2})), "API key cli_1: exists already"},
		{b.take(b.m.ChangeAPIKey("cli_1", off)), "api_key.changed"},
		{b.take(b.m.ChangeAPIKey("cli_2", off)), ErrUnknownKey.Error()},
	} {
		if line.got != line.want {
			t.Errorf("line %d: %q, want %q", n+1, line.got, line.want)
		}
	}
	one := b.m.accounts[1]
	if one.Active || !slices.Equal(one.PixKeys, []string{"first", "k"}) || !slices.Equal(one.APIKeys, []string{"cli_1"}) {
		t.Errorf("the first account ended as %+v", one)
	}
	if !b.m.pixKeys["k"].Registered || b.m.apiKeys["cli_1"].Active || !slices.Equal(b.m.order, []pix.AccountID{1, 2}) {
		t.Errorf("the registry ended as %+v", b.m)
	}
}

// TestEntriesAreReplaced checks that an entry which a reader already has does not change
// when the registry changes.
func TestEntriesAreReplaced(t *testing.T) {
	b := &driver{t, NewMachine()}
	b.register(1, "first")
	b.take(b.m.MakeAPIKey(APIKey{ClientID: "cli_1", Account: 1, Active: true, Whitelist: []string{"127.0.0.1"}}))
	account, key, pix := b.m.accounts[1], b.m.apiKeys["cli_1"], b.m.pixKeys["first"]
	before := fmt.Sprintf("%+v %+v %+v", *account, key.Whitelist, *pix)
	b.pix(1, "k")
	b.take(b.m.SetActive(1, false))
	b.take(b.m.MakeAPIKey(APIKey{ClientID: "cli_2", Account: 1}))
	b.take(b.m.RegisteredPixKey(b.m.pixKeys["first"]))
	b.take(b.m.ChangeAPIKey("cli_1", func(k *APIKey) { k.Active, k.Whitelist = false, []string{"10.0.0.0/8"} }))
	if after := fmt.Sprintf("%+v %+v %+v", *account, key.Whitelist, *pix); after != before || !key.Active {
		t.Errorf("held entries changed:\n%s\n%s", before, after)
	}
}

// TestLastUsed checks that a change of an API key, which replaces the key's entry, keeps
// the time of its last use.
func TestLastUsed(t *testing.T) {
	b := &driver{t, NewMachine()}
	b.register(1, "first")
	b.take(b.m.MakeAPIKey(APIKey{ClientID: "cli_1", Account: 1}))
	if at := b.m.apiKeys["cli_1"].LastUsed(); at != 0 {
		t.Errorf("used at %v before it was", at)
	}
	b.m.apiKeys["cli_1"].Used(5)
	b.take(b.m.ChangeAPIKey("cli_1", func(k *APIKey) { k.Active = true }))
	if at := b.m.apiKeys["cli_1"].LastUsed(); at != 5 {
		t.Errorf("last used at %v", at)
	}
}

// TestApplyRefuses checks that a record which does not follow the newest one, or which has
// an entry of the wrong type, is refused and changes nothing.
func TestApplyRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Record){
		"gap":           func(r *Record) { r.Seq++ },
		"repeated":      func(r *Record) { r.Seq-- },
		"earlier":       func(r *Record) { r.Time = 0 },
		"no entry":      func(r *Record) { r.PixKey = nil },
		"other entry":   func(r *Record) { r.PixKey, r.Account = nil, &Account{ID: 1} },
		"another kind":  func(r *Record) { r.Kind = APIKeyMade },
		"unknown kind":  func(r *Record) { r.Kind = PixKeyUnlisted + 1 },
		"a ledger kind": func(r *Record) { r.Kind = 1 },
	} {
		b := &driver{t, NewMachine()}
		b.register(1, "first")
		r := Record{Kind: PixKeyReserved, Seq: b.m.Seq + 1, Time: b.m.Time, PixKey: &PixKey{Key: "k", Account: 1}}
		spoil(&r)
		seq, account := b.m.Seq, *b.m.accounts[1]
		if err := b.m.Apply(&r); err == nil {
			t.Errorf("%s: applied", name)
		}
		if b.m.Seq != seq || b.m.pixKeys["k"] != nil || !reflect.DeepEqual(*b.m.accounts[1], account) {
			t.Errorf("%s: the registry changed", name)
		}
	}
}

// TestPermissions checks that names parse to a set, and that a set lists its names in the
// documented order.
func TestPermissions(t *testing.T) {
	for _, c := range []struct{ in, out, unknown string }{
		{"pix:read pix:write", "pix:write pix:read", ""},
		{"", "", ""},
		{"*", strings.Join(permissionNames, " "), ""},
		{"pix:read *", strings.Join(permissionNames, " "), ""},
		{"pix:read pix:fly", "", "pix:fly"},
		{"PIX:READ", "", "PIX:READ"},
	} {
		p, unknown, ok := ParsePermissions(strings.Fields(c.in))
		if ok != (c.unknown == "") || unknown != c.unknown || strings.Join(p.Names(), " ") != c.out {
			t.Errorf("%q: %q, unknown %q", c.in, p.Names(), unknown)
		}
	}
	p, _, _ := ParsePermissions([]string{"pix:read", "statement:read"})
	if !p.Has(PixRead) || !p.Has(PixRead|StatementRead) || p.Has(PixRead|PixWrite) {
		t.Errorf("%b has what it has not", p)
	}
	for i, name := range permissionNames {
		if got, _, _ := ParsePermissions([]string{name}); got != 1<<i {
			t.Errorf("%s is bit %b", name, got)
		}
	}
}

// TestKindTable checks that the kinds' values begin at AccountRegistered without a gap, and
// that each kind has a name of its own.
func TestKindTable(t *testing.T) {
	names := map[string]bool{}
	for i, k := range slices.Sorted(maps.Keys(kinds)) {
		if k != AccountRegistered+RecordKind(i) {
			t.Errorf("kind %d stands in the place of %d", k, AccountRegistered+RecordKind(i))
		}
		if name := k.String(); name == "" || names[name] {
			t.Errorf("kind %d is named %q", k, name)
		}
		names[k.String()] = true
		if m := NewMachine(); m.Apply(&Record{Kind: k, Seq: 1}) == nil {
			t.Errorf("%v without its entry is taken", k)
		}
	}
}

// TestReservedNumbers checks that 0 and the last 65,536 numbers are refused as account ids.
func TestReservedNumbers(t *testing.T) {
	for id, ok := range map[pix.AccountID]bool{0: false, 1: true, 1<<64 - 65_537: true, 1<<64 - 65_536: false, 1<<64 - 1: false} {
		_, err := NewMachine().RegisterAccount(Account{ID: id}, PixKey{Key: "k", Account: id})
		if ok != (err == nil) || !ok && !errors.Is(err, ErrReserved) {
			t.Errorf("account %d: %v", uint64(id), err)
		}
	}
}
