package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// operates runs a command against the engine, as an operator does.
func (p *process) operates(args ...string) (code int, out, errs string) {
	p.t.Helper()
	return run(p.t, []string{"PIXD_ADMIN=" + p.operator, "PIXD_ADMIN_TOKEN=" + token}, args...)
}

// reported runs a command, which must succeed without warnings, and returns its output.
func (p *process) reported(args ...string) string {
	p.t.Helper()
	code, out, errs := p.operates(args...)
	if code != 0 || errs != "" {
		p.t.Fatalf("pixd %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// read runs a command with --json, which must succeed, and decodes its output into a value.
func (p *process) read(into any, args ...string) {
	p.t.Helper()
	out := p.reported(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		p.t.Fatalf("%s: %v", out, err)
	}
}

// same compares a text with a pattern, in which {} stands for any word and the spaces after
// it.
func same(t *testing.T, got, want string) {
	t.Helper()
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimPrefix(want, "\n")), `\{\}`, `[^ \n]+ *`)
	if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAccountCommands creates, changes and shows accounts from the command line.
func TestAccountCommands(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	if got := p.reported("account", "list"); got != "no accounts\n" {
		t.Errorf("%q", got)
	}
	made := p.reported("account", "create", "--name", "Loja \x1b[31mAurora", "--document", "12.345.678/0001-95", "--city", "Recife",
		"--active=false", "--cash-in-fixed", "7", "--cash-out-fixed", "100", "--cash-out-bps", "25", "--cash-out-ceiling", "50000000",
		"--block-cnpj-out", "--authorized-cnpj", "12ABC34501DE35, 00000000000191", "--authorized-cnpj", "12345678000195",
		"--repeat-window", "90s", "--approval-threshold", "10000000")
	same(t, made, `
account             acc_{}
name                Loja \x1b[31mAurora
document            12345678000195
city                Recife
state               inactive
balance             0 (0.00 BRL)
available           0 (0.00 BRL)
pending             0 (0.00 BRL)
med held            0 (0.00 BRL)
cash-in fee         7 (0.0007 BRL)
cash-out fee        100 (0.01 BRL) + 25 bps (0.25 %)
cash-out ceiling    50000000 (5,000.00 BRL)
approval threshold  10000000 (1,000.00 BRL)
block cnpj out      yes
authorized cnpjs    00000000000191,12345678000195,12ABC34501DE35
repeat window       1m30s
created             {}Z
`)
	id := strings.Fields(made)[1]
	if got := p.reported("account", "show", id); got != made {
		t.Errorf("shown\n%s\nmade\n%s", got, made)
	}
	var before, after map[string]any
	p.read(&before, "account", "show", id)
	p.read(&after, "account", "set", id, "--cash-in-bps", "5", "--active", "--authorized-cnpj", "", "--block-cnpj-out=false",
		"--approval-threshold", "none")
	for name, want := range map[string]string{
		"fees":   "map[cash_in:map[bps:5 fixed:7] cash_out:map[bps:25 fixed:100]]",
		"active": "true", "authorized_cnpjs": "[]", "block_cnpj_out": "false", "approval_threshold": "<nil>",
	} {
		if got := fmt.Sprint(after[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		before[name] = after[name]
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("what was not given changed:\n%v\n%v", before, after)
	}
	p.made("/admin/accounts/"+id+"/credits", `{"amount":123456789012,"type":"ted","reference":"r"}`, nil)
	same(t, p.reported("account", "list"), `
ACCOUNT            NAME                 DOCUMENT        STATE        BALANCE              BRL    AVAILABLE BRL  PENDING BRL  CREATED
acc_{}Loja \x1b[31mAurora  12345678000195  active  123456789012  12,345,678.9012  12,345,678.9012         0.00  {}Z
`)
	for name, value := range map[string]string{"PIXD_CITY": "Olinda", "PIXD_ACTIVE": "false"} {
		code, out, errs := run(t, []string{"PIXD_ADMIN=" + p.operator, "PIXD_ADMIN_TOKEN=" + token, name + "=" + value}, "account", "set", id)
		if want := map[string]string{"PIXD_CITY": "Olinda", "PIXD_ACTIVE": "inactive"}[name]; code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d\n%s%s", name, code, out, errs)
		}
	}
}

// TestKeyCommands creates, changes and revokes API keys from the command line.
func TestKeyCommands(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	code, made, errs := p.operates("key", "create", "--account", s.ID, "--permission", "pix:read,pix:write", "--permission", "account:read",
		"--ip", "127.0.0.1,10.0.0.1/8", "--ip", "x\x1b[2J", "--expires-at", "2199-12-31T21:00:00-03:00")
	if want := "pixd: warning: ip_whitelist entry \"10.0.0.1/8\" can never match\npixd: warning: ip_whitelist entry \"x\\x1b[2J\" can never match\n"; code != 0 || errs != want {
		t.Errorf("exit %d, %s", code, errs)
	}
	same(t, made, `
client id      cli_{}
client secret  sk_{}
account        `+s.ID+`
state          active
permissions    pix:write,pix:read,account:read
addresses      127.0.0.1,10.0.0.1/8,x\x1b[2J
signing        yes
expires        2200-01-01T00:00:00Z
last used      never
created        {}Z

The secret is shown this once: keep it now. The engine has its hash alone.
`)
	words := strings.Fields(made)
	key := shop{ID: s.ID, Client: words[2], Secret: words[5]}
	if status, got, err := key.ask(p.merchant, "/balance", "", ""); err != nil || status != 200 {
		t.Errorf("%d %s %v", status, got, err)
	}
	var reads struct {
		ClientID string `json:"client_id"`
		Signing  bool
	}
	p.read(&reads, "key", "create", "--account", s.ID, "--permission", "*", "--ip", "127.0.0.1", "--no-signing")
	if reads.ClientID == "" || reads.Signing {
		t.Errorf("%+v", reads)
	}
	list := p.reported("key", "list", "--account", s.ID)
	same(t, list, `
CLIENT ID                       STATE   SIGNING  LAST USED             EXPIRES               CREATED               ADDRESSES                      PERMISSIONS
cli_{}active  yes      never                 never                 {}127.0.0.1                      *
cli_{}active  yes      {}2200-01-01T00:00:00Z  {}127.0.0.1,10.0.0.1/8,x\x1b[2J  pix:write,pix:read,account:read
cli_{}active  no       never                 never                 {}127.0.0.1                      *
`)
	if strings.Contains(list, "sk_") || strings.Contains(list, "Z  never  never") {
		t.Error(list)
	}
	changed := p.reported("key", "set", key.Client, "--expires-at", "never", "--permission", "account:read", "--ip", "127.0.0.1")
	if !strings.Contains(changed, "expires      never\n") || !strings.Contains(changed, "permissions  account:read\n") || !strings.Contains(changed, "addresses    127.0.0.1\n") {
		t.Error(changed)
	}
	if got := p.reported("key", "set", key.Client, "--expires-at", "2001-01-01T00:00:00Z"); !strings.Contains(got, "state        expired\n") {
		t.Error(got)
	}
	if got := p.reported("key", "set", key.Client, "--ip", ""); !strings.Contains(got, "addresses    none: it works from nowhere\n") {
		t.Error(got)
	}
	if got := p.reported("key", "revoke", key.Client); !strings.Contains(got, "state        revoked\n") {
		t.Error(got)
	}
	if status, got, err := key.ask(p.merchant, "/balance", "", ""); err != nil || status != 401 {
		t.Errorf("revoked: %d %s %v", status, got, err)
	}
}

// TestListCommands checks that a list command shows all pages unless a page is asked for, and
// that the output of one page ends with the command for the next page.
func TestListCommands(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	for n := range 203 {
		p.made("/admin/accounts", fmt.Sprintf(`{"name":"<Loja> %d","document":"12345678909"}`, n), nil)
	}
	if got := p.reported("account", "list"); strings.Count(got, "\n") != 204 || strings.Contains(got, "more:") {
		t.Error(got)
	}
	var all struct {
		Data []struct{ Name string }
		Next *string `json:"next_cursor"`
	}
	p.read(&all, "account", "list")
	if len(all.Data) != 203 || all.Data[202].Name != "<Loja> 202" || all.Next != nil {
		t.Errorf("%d accounts, next %v", len(all.Data), all.Next)
	}
	p.read(&all, "account", "list", "--limit", "2", "--cursor", "200")
	if len(all.Data) != 2 || all.Data[0].Name != "<Loja> 200" || all.Next == nil || *all.Next != "202" {
		t.Errorf("%+v", all)
	}
	page := p.reported("account", "list", "--limit", "2")
	for n := 2; n <= 4; n += 2 {
		_, more, ok := strings.Cut(page, "\n\nmore: pixd ")
		if want := fmt.Sprintf("account list --limit 2 --cursor %d\n", n); !ok || more != want {
			t.Fatalf("%s, want %s", page, want)
		}
		if page = p.reported(strings.Fields(more)...); !strings.Contains(page, fmt.Sprintf("<Loja> %d ", n)) {
			t.Error(page)
		}
	}
	if got := p.reported("account", "list", "--cursor", "202"); strings.Count(got, "\n") != 2 {
		t.Error(got)
	}
	if out, raw := p.reported("account", "list", "--limit", "1", "--json"), p.get("/admin/accounts?limit=1"); out != raw+"\n" {
		t.Errorf("--json prints\n%s\nthe API answers\n%s", out, raw)
	}
}

func (p *process) get(path string) string {
	p.t.Helper()
	status, got, err := p.operate("GET", path, "")
	if err != nil || status != 200 {
		p.t.Fatalf("%s: %d %s %v", path, status, got, err)
	}
	return string(got)
}

// TestOperatorRefusals checks that an impossible request ends in one line with exit status
// 1.
func TestOperatorRefusals(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	s := p.shop()
	for _, c := range []struct{ args, want string }{
		{"account show acc_none", `no account "acc_none" (404)`},
		{"account show a/../b", `no account "a%2F..%2Fb" (404)`},
		{"account show", "name the account to show, as `pixd account list` has it"},
		{"account show ..", `".." is no id`},
		{"account show a b", `"b" is one word too many`},
		{"account fly", `unknown command "fly" for "pixd account"`},
		{"account create", `required flag(s) "document", "name" not set`},
		{"account create --name x", `required flag(s) "document" not set`},
		{"account create --name x --document 1", "document must be a CPF (11 digits) or a CNPJ (14 characters) (400)"},
		{"account create --name \xff --document 12345678909", "--name is not in UTF-8"},
		{"account create x", `"x" is one word too many`},
		{"account set " + s.ID, "nothing to change: give a setting, such as --active=false (pixd account set --help has them all)"},
		{"account set " + s.ID + " --active false", `"false" stands alone: a switch takes its value with a =, such as --active=false`},
		{"account set --name x", "name the account to change, as `pixd account list` has it"},
		{"account set acc_none --name x", `no account "acc_none" (404)`},
		{"account set " + s.ID + " --approval-threshold soon", `--approval-threshold "soon": base units, such as 10000000, or none`},
		{"account set " + s.ID + " --approval-threshold -5", "approval_threshold must be null or an amount in base units (400)"},
		{"account set " + s.ID + " --cash-out-bps 10001", "fees.cash_out: fixed must be 0 to 99999999999900 base units and bps 0 to 10000 (400)"},
		{"account set " + s.ID + " --cash-out-ceiling 1.50", `invalid argument "1.50" for "--cash-out-ceiling" flag: strconv.ParseInt: parsing "1.50": invalid syntax`},
		{"account set " + s.ID + " --repeat-window 13h", "repeat_window must be from 1m to 12h (400)"},
		{"account set " + s.ID + " --authorized-cnpj x", "authorized_cnpjs must hold CNPJs of 14 characters (400)"},
		{"account list --limit 0", "limit must be an integer from 1 to 200 (400)"},
		{"account list --limit 201", "limit must be an integer from 1 to 200 (400)"},
		{"account list --cursor next", "cursor must be a next_cursor of this list (400)"},
		{"account list --colour", "unknown flag: --colour"},
		{"approve", "name the payout, by its transaction_id"},
		{"approve PIXOUT", `no payout "PIXOUT" (404)`},
		{"approve PIXOUT --operator x", `no payout "PIXOUT" (404)`},
		{"decline PIXOUT --operator \xff", "--operator is not in UTF-8"},
		{"decline PIXOUT x --operator x", `"x" is one word too many`},
		{"key create", `required flag(s) "account", "ip", "permission" not set`},
		{"key create --account acc_none --permission * --ip 127.0.0.1", `no account "acc_none" (404)`},
		{"key create --account " + s.ID + " --permission pix:eat --ip 127.0.0.1", `permissions: unknown permission "pix:eat" (400)`},
		{"key create --account " + s.ID + " --permission , --ip 127.0.0.1", `permissions must be a list with at least one permission, or ["*"] (400)`},
		{"key create --account " + s.ID + " --permission * --ip 127.0.0.1 --expires-at soon", "expires_at must be an ISO 8601 time, such as 2026-01-31T12:00:00Z (400)"},
		{"key list", `required flag(s) "account" not set`},
		{"key list --account acc_none", `no account "acc_none" (404)`},
		{"key set " + s.Client, "nothing to change: give --permission, --ip or --expires-at"},
		{"key set cli_none --ip 127.0.0.1", `no API key "cli_none" (404)`},
		{"key revoke", "name the key to revoke, as `pixd key list` has it"},
		{"key revoke cli_none", `no API key "cli_none" (404)`},
		{"pix-key create", `required flag(s) "account" not set`},
		{"pix-key create --account acc_none", `no account "acc_none" (404)`},
		{"pix-key create --account ..", `--account: ".." is no id`},
		{"pix-key create --account " + s.ID + " --key 11987654321", "--key may be a CPF or a phone: give --type cpf or --type phone"},
		{"pix-key create --account " + s.ID + " --key 123", `--key "123" fits no type of key: cpf, cnpj, email, phone or evp`},
		{"pix-key create --account " + s.ID + " --type phone", "key is required (400)"},
		{"pix-key create --account " + s.ID + " --type pix", "key_type must be cpf, cnpj, email, phone or evp (400)"},
		{"pix-key create --account " + s.ID + " --key 123 --type cpf", "key must be a key of the type cpf (400)"},
		{"pix-key create --account " + s.ID + " x", `"x" is one word too many`},
		{"pix-key list", `required flag(s) "account" not set`},
		{"pix-key list --account acc_none", `no account "acc_none" (404)`},
		{"pix-key fly", `unknown command "fly" for "pixd pix-key"`},
		{"account list --admin 127.0.0.1:8081", `--admin "127.0.0.1:8081": a URL such as http://127.0.0.1:8081 or https://pixd.example:8081`},
		{"account list --admin http://u:p@127.0.0.1", "a URL such as"},
		{"account list --admin ftp://127.0.0.1", "a URL such as"},
		{"account list --admin " + p.operator + "/admin", "a URL such as"},
		{"account list --admin " + p.merchant, p.merchant + " answers 404 Not Found: it may be no operator API"},
		{"account list --admin http://127.0.0.1:1", "no engine answers at http://127.0.0.1:1: connect: connection refused"},
		{"account list --admin-ca x", "--admin-ca is for an https --admin, which is " + p.operator},
		{"account list --admin https://127.0.0.1:1 --admin-ca /none", "--admin-ca: open /none: no such file or directory"},
		{"account list --token-file /none", "operators' token: open /none: no such file or directory"},
	} {
		code, out, errs := p.operates(strings.Split(c.args, " ")...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "pixd: ") || !strings.Contains(errs, c.want) {
			t.Errorf("pixd %s: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
	p.end(syscall.SIGKILL)
	if code, _, errs := p.operates("account", "list"); code != 1 || errs != "pixd: no engine answers at "+p.operator+": connect: connection refused\n" {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestOperatorToken checks in which places a command looks for the token, and that the token
// is never shown.
func TestOperatorToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, filepath.Join(dir, "pixd-data"), "--demo") // with --demo start gives the engine no token, so the engine makes one
	made := filepath.Join(dir, "pixd-data", "admin.token")
	files := map[string]string{"wrong": "not-the-token\n", "empty": "\n", "two": "not-the-token twice\n"}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, at, env, file, want string
	}{
		{"the default place", dir, "", "", ""},
		{"a file", "/", "", made, ""},
		{"a file, before the environment", "/", "not-the-token", made, ""},
		{"nowhere", "/", "", "", "no operators' token: set PIXD_ADMIN_TOKEN, or name <data-dir>/admin.token with --token-file"},
		{"the environment, before the default place", dir, "not-the-token", "", "the operator API refuses the token from PIXD_ADMIN_TOKEN (401)"},
		{"a wrong file", dir, "", "wrong", "the operator API refuses the token from wrong (401): where PIXD_ADMIN_TOKEN is set for the engine, as in /etc/pixd/pixd.env, it counts and no file does; set it here too"},
		{"an empty file", dir, "", "empty", "operators' token: empty is empty"},
		{"another file", dir, "", "two", "operators' token: two holds no token, which is one word"},
		{"another word", dir, "not-the-token\x1b", "", "operators' token: PIXD_ADMIN_TOKEN holds no token, which is one word"},
	} {
		code, out, errs := runAt(t, c.at, []string{"PIXD_ADMIN=" + p.operator, "PIXD_ADMIN_TOKEN=" + c.env, "PIXD_TOKEN_FILE=" + c.file}, "account", "list")
		if c.want == "" && (code != 0 || errs != "") || c.want != "" && (code != 1 || errs != "pixd: "+c.want+"\n") {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out, errs)
		}
	}
}

// TestLastUsedAcrossProcesses checks that times of use survive a clean end of the process,
// and a kill of the next process.
func TestLastUsedAcrossProcesses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir)
	s, revoked := p.shop(), p.shop()
	for _, k := range []shop{s, revoked} {
		if status, got, err := k.ask(p.merchant, "/balance", "", ""); err != nil || status != 200 {
			t.Fatalf("%d %s %v", status, got, err)
		}
	}
	p.reported("key", "revoke", revoked.Client)
	used := func(s shop) string {
		var l struct {
			Data []struct {
				LastUsedAt string `json:"last_used_at"`
			}
		}
		p.read(&l, "key", "list", "--account", s.ID)
		return l.Data[0].LastUsedAt
	}
	want := []string{used(s), used(revoked)}
	if at, err := time.Parse(time.RFC3339, want[0]); err != nil || time.Since(at).Abs() > time.Minute {
		t.Errorf("last used at %q", want[0])
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM} {
		p.end(signal)
		p = start(t, dir)
		if got := []string{used(s), used(revoked)}; got[0] != want[0] || got[1] != want[1] {
			t.Errorf("after %v: last used at %v, was %v", signal, got, want)
		}
	}
}
