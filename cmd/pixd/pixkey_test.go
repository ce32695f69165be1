package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPixKeyCommands creates and lists an account's PIX keys from the command line.
func TestPixKeyCommands(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	var a struct {
		ID string `json:"account_id"`
	}
	p.made("/admin/accounts", `{"name":"Loja","document":"12345678909"}`, &a)
	for args, shown := range map[string]string{
		"":                                           "pix key  {}-{}\ntype     evp\n",
		"--key Ana@Example.com":                      "pix key  ana@example.com\ntype     email\n",
		"--key 11987654321 --type phone":             "pix key  +5511987654321\ntype     phone\n",
		"--key +5511987654322":                       "pix key  +5511987654322\ntype     phone\n",
		"--key 12345678909 --type cpf":               "pix key  12345678909\ntype     cpf\n",
		"--key 12345678000195":                       "pix key  12345678000195\ntype     cnpj\n",
		"--key 12345678000195 --type cnpj":           "pix key  12345678000195\ntype     cnpj\n", // reserving the key again has no effect and is no error
		"--key 0B6E4C1E-8f7a-4d3b-9c2a-1f2e3d4c5b6a": "pix key  0b6e4c1e-8f7a-4d3b-9c2a-1f2e3d4c5b6a\ntype     evp\n",
	} {
		got := p.reported(append([]string{"pix-key", "create", "--account", a.ID}, strings.Fields(args)...)...)
		same(t, got, "\n"+shown+"account  "+a.ID+"\nstatus   registered\ncreated  {}Z\n")
	}
	list := p.reported("pix-key", "list", "--account", a.ID)
	if lines := strings.Split(list, "\n"); len(lines) != 10 || strings.Join(strings.Fields(lines[0]), " ") != "PIX KEY TYPE STATUS CREATED" || !strings.Contains(lines[1], "  evp    registered  ") {
		t.Error(list)
	}
	if out, raw := p.reported("pix-key", "list", "--account", a.ID, "--json"), p.get("/admin/accounts/"+a.ID+"/pix-keys"); out != raw+"\n" || strings.Count(raw, `"status":"registered"`) != 8 {
		t.Errorf("--json prints\n%s\nthe API answers\n%s", out, raw)
	}
	if page := p.reported("pix-key", "list", "--account", a.ID, "--limit", "1"); !strings.HasSuffix(page, "\nmore: pixd pix-key list --account "+a.ID+" --limit 1 --cursor 1\n") {
		t.Error(page)
	}
	other := p.shop()
	if code, _, errs := p.operates("pix-key", "create", "--account", other.ID, "--key", "ana@example.com"); code != 1 || errs != "pixd: key \"ana@example.com\" belongs to another account (409)\n" {
		t.Errorf("exit %d, %s", code, errs)
	}
	p.removesKeys(t, a.ID, other.ID)
}

// removesKeys removes PIX keys of an account from the command line.
func (p *process) removesKeys(t *testing.T, id, other string) {
	t.Helper()
	got := p.reported("pix-key", "remove", "--account", id, "--key", "Ana@Example.com")
	same(t, got, "\npix key  ana@example.com\ntype     email\naccount  "+id+"\nstatus   removed\ncreated  {}Z\n")
	if out := p.reported("pix-key", "create", "--account", other, "--key", "ana@example.com"); !strings.Contains(out, "status   registered") {
		t.Error(out)
	}
	if out := p.reported("pix-key", "remove", "--account", other, "--key", "ana@example.com", "--json"); !strings.Contains(out, `"status":"removed"`) {
		t.Error(out)
	}
	for want, args := range map[string][]string{
		"pixd: account " + id + " has no PIX key \"ana@example.com\" (404)\n": {"--account", id, "--key", "ana@example.com"},
		"pixd: required flag(s) \"key\" not set\n":                            {"--account", id},
		"pixd: --key: \"\" is no id\n":                                        {"--account", id, "--key", ""},
	} {
		if code, _, errs := p.operates(append([]string{"pix-key", "remove"}, args...)...); code != 1 || errs != want {
			t.Errorf("exit %d, %q, want %q", code, errs, want)
		}
	}
}
