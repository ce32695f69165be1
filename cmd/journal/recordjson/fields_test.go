package recordjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
)

// field is a value within a record that can be changed.
type field struct {
	path  string
	value reflect.Value
}

// fields fills every field of a record, at any depth, and collects them.
type fields struct {
	n   int64
	all []field
}

// fill gives a value, and all that is in it, a content that is not zero.
func (f *fields) fill(path string, v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.Struct:
		for s, inner := range v.Fields() {
			if s.IsExported() && s.Tag.Get("cbor") != "-" {
				f.fill(path+"."+s.Name, inner)
			}
		}
		return
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(path, v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Type().Elem().Name() == "uint8" {
			v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, f.n))
			break
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(path+"[0]", v.Index(0))
	case reflect.Array:
		v.Index(1).SetUint(uint64(f.n % 256))
		v.Index(15).SetUint(1)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64, reflect.Int:
		v.SetInt(1772366400000 + f.n)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Uint64, reflect.Uint32, reflect.Uint16:
		v.SetUint(uint64(f.n))
	default:
		panic(path + " is of a type that this test does not know")
	}
	f.all = append(f.all, field{path, v})
}

// other returns a value of the same type that is neither the same nor zero.
func other(v reflect.Value) reflect.Value {
	o := reflect.New(v.Type()).Elem()
	o.Set(v)
	switch v.Kind() {
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			o.SetBytes(bytes.Replace(v.Bytes(), []byte("n"), []byte("m"), 1))
		}
	case reflect.Array:
		o.Index(1).SetUint(v.Index(1).Uint() ^ 64)
	case reflect.String:
		o.SetString("other " + v.String())
	case reflect.Int64, reflect.Int:
		o.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint64, reflect.Uint32, reflect.Uint16:
		o.SetUint(v.Uint() + 1)
	}
	return o
}

// fullRecords returns a record of either form with every field filled, and their fields.
func fullRecords() (*ledger.Record, *registry.Record, []field) {
	f := &fields{}
	l, r := &ledger.Record{}, &registry.Record{}
	f.fill("ledger", reflect.ValueOf(l).Elem())
	f.fill("registry", reflect.ValueOf(r).Elem())
	return l, r, f.all
}

// TestKnownFields checks that no record has a field that is not in the list of those that were
// judged: a field that is new is shown at once, unless its name is a secret's. Before -golden adds
// it to the list, see that nobody may authenticate himself with it and that it names no person to
// whom it must not be shown.
func TestKnownFields(t *testing.T) {
	_, _, all := fullRecords()
	var got strings.Builder
	for _, f := range all {
		fmt.Fprintln(&got, f.path)
	}
	path := filepath.Join("testdata", "fields.golden")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(string(want), "\n")
	for one := range strings.Lines(got.String()) {
		if one = strings.TrimSuffix(one, "\n"); !slices.Contains(known, one) {
			t.Errorf("%s is new: may everybody who reads a dump see it?", one)
		}
	}
	if got.String() != string(want) {
		t.Error("the list of fields is not what the records have")
	}
}

// TestFormless checks that bytes and enumerations without a form of their own are not shown: nobody
// knows what they may show.
func TestFormless(t *testing.T) {
	type unnamed uint8
	for _, v := range []any{[]byte{}, [32]byte{}, unnamed(0), struct{ A []byte }{}, map[string]string{}, new(any)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a %T has a form", v)
				}
			}()
			writerOf(reflect.TypeOf(v))
		}()
	}
}

// TestSecretNames checks that a field with the name of a secret is masked, whatever it holds.
func TestSecretNames(t *testing.T) {
	v := struct {
		Name, Token  string
		ClientSecret []byte
		HMAC         [32]byte
		Password     *string
		URL          string
	}{"a", "b", []byte("c"), [32]byte{1}, new(string), "https://a.example/?d"}
	l := &line{b: []byte("[")}
	writerOf(reflect.TypeOf(v))(l, "", reflect.ValueOf(&v).Elem())
	const want = `[{"name":"a","token":"***","client_secret":"***","hmac":"***","password":"***","url":"https://a.example/?***"}`
	if string(l.b) != want {
		t.Errorf("%s", l.b)
	}
}

// TestEveryField checks that a change of any field of any record changes its line, and that
// only secrets do not show what they are.
func TestEveryField(t *testing.T) {
	l, r, all := fullRecords()
	lines := func() string { return string(AppendRegistry(AppendLedger(nil, 1, l), 1, "registry", r)) }
	full := lines()
	var secret []string
	for _, f := range all {
		if f.value.Kind() == reflect.Uint8 && strings.HasSuffix(f.path, ".Kind") && strings.Count(f.path, ".") == 1 {
			continue // kinds are in the golden lines
		}
		was := reflect.New(f.value.Type()).Elem()
		was.Set(f.value)
		f.value.SetZero()
		if lines() == full {
			t.Errorf("%s is not shown", f.path)
		}
		o := other(was)
		if f.value.Set(o); !reflect.DeepEqual(o.Interface(), was.Interface()) && lines() == full {
			secret = append(secret, f.path)
		}
		f.value.Set(was)
	}
	if want := []string{"ledger.Body.Subscription.Secret", "ledger.Body.Subscription.Former[0].Secret", "registry.APIKey.SecretHash", "registry.Operator.TokenHash"}; !slices.Equal(secret, want) {
		t.Errorf("the content is not shown of %q", secret)
	}
	if len(all) < 180 || lines() != full {
		t.Errorf("only %d fields were tried", len(all))
	}
}

// TestZeroFields checks that a record without content shows none, and that a threshold of 0,
// which is not the same as none, is shown.
func TestZeroFields(t *testing.T) {
	const want = `{"stream":"acc_aaaaaaaaaaaao","sequence":1,"time":"1970-01-01T00:00:00.000Z","kind":"credited"}` + "\n"
	r := ledger.Record{Account: 7, Seq: 1, Kind: ledger.Credited}
	if got := string(AppendLedger(nil, 0, &r)); got != want {
		t.Errorf("%s", got)
	}
	r.Tx, r.Settings, r.Claim, r.Stored, r.Row, r.Case = &ledger.Transaction{}, &ledger.Settings{}, &ledger.Claim{}, &ledger.Stored{}, &layout.EndToEndRow{}, &ledger.Case{}
	if got := string(AppendLedger(nil, 0, &r)); got != want {
		t.Errorf("%s", got)
	}
	r.Settings.ApprovalThreshold = new(pix.Amount)
	if got := string(AppendLedger(nil, 0, &r)); !strings.Contains(got, `"body":{"settings":{"approval_threshold":0}}}`) {
		t.Errorf("%s", got)
	}
}

// TestUnknownValues checks that values without a name are shown as numbers.
func TestUnknownValues(t *testing.T) {
	r := ledger.Record{Account: 7, Seq: 1, Kind: 63, Body: ledger.Body{
		Tx: &ledger.Transaction{ID: pix.TxID{1}, Kind: 99, Status: 99}, DueWasKind: 99, Events: []pix.EventKind{99},
		Subscription: &ledger.Subscription{Events: 1<<31 | 1<<1, Status: 99},
	}}
	got := string(AppendLedger(nil, 0, &r))
	for _, want := range []string{`"kind":"kind 63"`, `"kind":99`, `"status":"99"`, `"due_kind_was":99`, `"type":"99"`, `"events":["pix.received","31"]`, `"status":99`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	k := registry.Record{Kind: registry.APIKeyMade, APIKey: &registry.APIKey{Permissions: registry.StatementRead << 1}}
	if got := string(AppendRegistry(nil, 0, "registry", &k)); !strings.Contains(got, `"permissions":["512"]`) {
		t.Errorf("%s", got)
	}
}

// names collects the names of all members in a JSON value.
func names(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			into[name] = true
			if name != "answer" {
				names(inner, into)
			}
		}
	case []any:
		for _, inner := range v {
			names(inner, into)
		}
	}
}

// TestDocumented checks that docs/formats.md explains the name of every member, and every name
// of a value that stands nowhere else.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## The dump\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/formats.md has no section about the dump")
	}
	l, r, _ := fullRecords()
	all := map[string]bool{}
	for line := range bytes.Lines(AppendRegistry(AppendLedger(nil, 1, l), 1, "registry", r)) {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		names(v, all)
	}
	for _, table := range [][]string{txKinds[1:], dueKinds[1:], buckets[1:], approvals[1:], styles[1:], subscriptionStatuses[1:]} {
		for _, name := range table {
			all[name] = true
		}
	}
	for name := range all {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("`%s` is not explained", name)
		}
	}
	if len(all) < 130 {
		t.Errorf("only %d names", len(all))
	}
}
