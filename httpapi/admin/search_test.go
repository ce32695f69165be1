package admin

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pixd/actors/account"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// registered adds n accounts to the registry, the first with the id from. None of them has a
// record or is in memory.
func (f *fixture) registered(from, n int, name, document string) {
	f.t.Helper()
	s := ledger.DefaultSettings()
	s.Document = document
	for i := from; i < from+n; i++ {
		s.Name = fmt.Sprintf(name, i)
		if _, err := f.keys.RegisterAccount(pix.AccountID(i), true, s, pix.Key{Type: pix.KeyEVP, Value: fmt.Sprintf("10000000-0000-4000-8000-%012x", i)}); err != nil {
			f.t.Fatal(err)
		}
	}
}

// finds returns the names of the accounts on a page of a search, and its next_cursor.
func (f *fixture) finds(text, more string) (names []string, next string) {
	f.t.Helper()
	got := f.expect("GET", "/admin/accounts?search="+url.QueryEscape(text)+more, "", 200, `{"data":[…`)
	var l struct {
		Data []Account
		Next *string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(got), &l); err != nil {
		f.t.Fatal(err)
	}
	for _, a := range l.Data {
		names = append(names, a.Name)
	}
	if l.Next != nil {
		next = *l.Next
	}
	return names, next
}

func (f *fixture) inMemory() int { return f.options.Engine.(*account.Host).InMemory() }

// TestSearch checks by what accounts are found, among thousands, that a change of the settings
// counts, and that no account but those found enters memory.
func TestSearch(t *testing.T) {
	f := newFixture(t)
	f.registered(1, 3000, "Loja %d", "12345678000195")
	f.registered(5001, 1, "Padaria São João %d", "98765432100")
	f.registered(5002, 1, "Other %d", "12ABC34501DE35")
	path := func(id int) string { return "/admin/accounts/" + pix.AccountID(id).String() }
	f.expect("PATCH", path(7), `{"name":"Açougue Beira-Mar"}`, 200, `{…`)
	f.expect("PATCH", path(5002), `{"name":"Outra","document":"11122233396"}`, 200, `{…`)
	for range 300 { // beyond the first head row
		f.expect("PATCH", path(8), `{"city":"Rio"}`, 200, `{…`)
		f.expect("PATCH", path(8), `{"city":"Recife"}`, 200, `{…`)
	}
	f.expect("PATCH", path(8), `{"name":"Sapataria"}`, 200, `{…`)
	f.expect("POST", path(9)+"/pix-keys", `{"key_type":"email","key":"loja9@x.br"}`, 201, `{…`)
	f.expect("POST", path(10)+"/pix-keys", `{"key_type":"phone","key":"11987654321"}`, 201, `{…`)
	f.expect("POST", path(11)+"/pix-keys", `{"key_type":"email","key":"gone@x.br"}`, 201, `{…`)
	f.expect("DELETE", path(11)+"/pix-keys/gone@x.br", "", 200, `{…`)
	for text, want := range map[string][]string{
		"nothing": nil, "gone@x.br": nil,
		"sao joao": {"Padaria São João 5001"}, "SÃO": {"Padaria São João 5001"}, " joão ": {"Padaria São João 5001"}, "ACOUGUE": {"Açougue Beira-Mar"},
		"beira-mar": {"Açougue Beira-Mar"}, "sapataria": {"Sapataria"},
		"987": {"Loja 987", "Loja 1987", "Loja 2987", "Padaria São João 5001"}, "987.654": {"Padaria São João 5001"},
		"12abc": nil, "111.222.333-96": {"Outra"}, "other": nil,
		pix.AccountID(70).String(): {"Loja 70"}, "10000000-0000-4000-8000-00000000000F": {"Loja 15"}, "Loja9@X.br": {"Loja 9"},
		"+5511987654321": {"Loja 10"}, "11987654321": {"Loja 10"},
	} {
		names, _ := f.finds(text, "&limit=200")
		if !slices.Equal(names, want) {
			t.Errorf("%q: %q, want %q", text, names, want)
		}
	}
	shown, next := f.finds("loja 29", "&limit=3")
	if !slices.Equal(shown, []string{"Loja 29", "Loja 290", "Loja 291"}) || next != "291" {
		t.Errorf("%q %q", shown, next)
	}
	if shown, next = f.finds("loja 29", "&limit=200&cursor="+next); len(shown) != 108 || shown[0] != "Loja 292" || next != "" {
		t.Errorf("%d %q", len(shown), next)
	}
	if names, _ := f.finds("12", "&limit=200"); len(names) != 159 { // by their names, not by their documents
		t.Errorf("%q", names)
	}
	f.refusesSearch()
}

// refusesSearch checks that only what is listed enters memory, and texts that are refused.
func (f *fixture) refusesSearch() {
	f.t.Helper()
	f.registered(10_001, 10, "Quitanda %d", "12345678909")
	was := f.inMemory()
	if names, _ := f.finds("quitanda", "&limit=4"); len(names) != 4 || f.inMemory() != was+4 {
		f.t.Errorf("%q, and %d accounts entered memory", names, f.inMemory()-was)
	}
	if names, _ := f.finds("quitan da", ""); len(names) != 0 || f.inMemory() != was+4 {
		f.t.Errorf("%q, and %d accounts entered memory", names, f.inMemory()-was)
	}
	for _, text := range []string{"", "%20", strings.Repeat("a", 101), "%FF"} {
		f.expect("GET", "/admin/accounts?search="+text, "", 400, problem(400, "search must be 1 to 100 characters"))
	}
	f.expect("GET", "/admin/accounts?search=%CC%81", "", 400, problem(400, "search must have a character that is no accent alone"))
	f.expect("GET", "/admin/accounts?search="+strings.Repeat("%C3%A9", 100), "", 200, `{"data":[],"next_cursor":null}`)
	f.expect("GET", "/admin/accounts?search=a&cursor=x", "", 400, `{"error":{…`)
}

// TestSearchBounds checks that one request reads no more than it may, and says where the search goes on.
func TestSearchBounds(t *testing.T) {
	f := newFixture(t)
	f.registered(1, searchedAccounts+1, "Loja %d", "12345678000195")
	if names, next := f.finds("loja 10001", ""); len(names) != 0 || next != fmt.Sprint(searchedAccounts) {
		t.Errorf("%q %q", names, next)
	}
	if names, next := f.finds("loja 10001", "&cursor="+fmt.Sprint(searchedAccounts)); len(names) != 1 || next != "" {
		t.Errorf("%q %q", names, next)
	}
	s := f.options.Settings
	f.options.Settings = func(id pix.AccountID) (*ledger.Settings, int, error) {
		now, _, err := s(id)
		return now, searchedRecords / 4, err
	}
	f.handler = New(f.options)
	if names, next := f.finds("nobody", ""); len(names) != 0 || next != "4" {
		t.Errorf("%q %q", names, next)
	}
}
