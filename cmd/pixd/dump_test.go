package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pixd/httpapi"
	"pixd/wal"
)

// subscribed subscribes to webhooks with an idempotency key, and returns the answer. With
// camel, its keys are camelCase.
func (s shop) subscribed(p *process, key string, camel bool) (answer map[string]any) {
	p.t.Helper()
	body := []byte(`{"events":["pix.completed"],"url":"https://127.0.0.1/hook?token=tokenofthereceiver"}`)
	signed, err := httpapi.Sign([]byte(s.Secret), body, camel)
	if err != nil {
		p.t.Fatal(err)
	}
	headers := []string{"Authorization", "ApiKey " + s.Client + ":" + s.Secret, "hmac", signed, "Content-Type", "application/json", "Idempotency-Key", key}
	if camel {
		headers = append(headers, "X-Key-Case", "camelCase")
	}
	for range 2 { // the second answer is the stored one
		status, got, err := send("POST", p.merchant+"/api/external/webhooks", body, headers...)
		if err != nil || status != 200 || json.Unmarshal(got, &answer) != nil || !strings.HasPrefix(fmt.Sprint(answer["secret"]), "whsec_") {
			p.t.Fatal(status, string(got), err)
		}
	}
	return answer
}

// addWebhook adds a webhook's secret in every form that the engine handles.
func (h *hunt) addWebhook(name, secret string) {
	h.t.Helper()
	text := strings.TrimPrefix(secret, "whsec_")
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != 32 || text == secret {
		h.t.Fatalf("secret %q: %v", secret, err)
	}
	h.secrets[name] = []byte(strings.TrimRight(text, "="))
	h.secrets[name+", raw"] = raw
	h.secrets[name+", hex"] = []byte(hex.EncodeToString(raw))
	h.secrets[name+", text in base64"] = within64([]byte(secret))
}

// TestDumpHidesSecrets checks that the dump of a journal in which every kind of secret is has
// none of them in any form, and has everything else of the answers that contain them.
func TestDumpHidesSecrets(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	h := newHunt(t)
	p := start(t, dir, "--webhook-allow-insecure")
	s := p.shop()
	h.add("shop", s)
	hash := h.known["shop's hash"]
	delete(h.known, "shop's hash")
	h.secrets["hash"], h.secrets["hash, hex"], h.secrets["hash, base64"] = hash, []byte(hex.EncodeToString(hash)), within64(hash)
	var ids []string
	for _, camel := range []bool{false, true} {
		name := fmt.Sprint("webhook, camel case ", camel)
		answer := s.subscribed(p, name, camel)
		h.addWebhook(name, fmt.Sprint(answer["secret"]))
		ids = append(ids, fmt.Sprint(answer["id"]))
	}
	h.secrets["receiver's token"] = []byte("tokenofthereceiver")
	if status, got, err := s.ask(p.merchant, "/pix/cash-out", `{"amount":100,"pix_key":"settle-now@pix.test"}`, "pay"); err != nil || status != 200 {
		t.Fatal(status, string(got), err)
	}
	secret, ok, err := journaled(t, p, dir)
	if err != nil || !ok || len(secret) != 32 {
		t.Fatal(ok, err)
	}
	h.secrets["secret of end-to-end ids"], h.secrets["secret of end-to-end ids, hex"] = secret, []byte(hex.EncodeToString(secret))
	code, out, errs := run(t, nil, "journal", "dump", "--data-dir", dir)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d %s", code, errs)
	}
	h.look("printed pixd journal dump", []byte(out))
	h.found("printed", "shop's client id")
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	for i, id := range ids {
		created := []string{"created_at", "createdAt"}[i]
		for _, want := range []string{
			`"subscription":{"id":"` + id + `","url":"https://127.0.0.1/hook?***","events":["pix.completed"],"secret":"***","status":"active"`,
			`"id":"` + id + `","secret":"***","url":"https://127.0.0.1/hook?***","worked":true}}`, `"` + created + `":"20`,
		} {
			if !strings.Contains(out, want) {
				t.Errorf("the dump has no %s:\n%s", want, out)
			}
		}
	}
	if n := strings.Count(out, `"***"`); n != 5 { // of the API key, the two webhooks, and their two answers
		t.Errorf("%d secrets are masked", n)
	}
}

// journaled ends the process and returns the secret of end-to-end ids, a named value.
func journaled(t *testing.T, p *process, dir string) (secret []byte, ok bool, err error) {
	t.Helper()
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	store, err := wal.Open(wal.Options{Dir: filepath.Join(dir, "journal"), ReadOnly: true})
	if err != nil {
		return nil, false, err
	}
	secret, ok, err = store.Get(wal.MetaKey("e2e-secret"))
	return secret, ok, errors.Join(err, store.Close())
}

// TestDumpFilters checks the flags of the dump, and that it shows control characters in
// merchants' texts escaped.
func TestDumpFilters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir)
	one, two := p.shop(), p.shop()
	p.reported("account", "set", two.ID, "--name", "Loja \x1b[31m\u202e\u009b Aurora")
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d", code)
	}
	dump := func(args ...string) []string {
		t.Helper()
		code, out, errs := run(t, nil, append([]string{"journal", "dump", "--data-dir", dir}, args...)...)
		if code != 0 || errs != "" {
			t.Fatalf("%q: exit %d %s", args, code, errs)
		}
		return slices.Collect(strings.Lines(out))
	}
	all := dump()
	with := func(what string) (some []string) {
		for _, l := range all {
			if strings.Contains(l, what) {
				some = append(some, l)
			}
		}
		return some
	}
	if got := with(`"name":"Loja \u001b[31m\u202e\u009b Aurora"`); len(got) != 1 || !strings.Contains(got[0], `"kind":"settings.changed"`) {
		t.Errorf("%s", got)
	}
	for _, stream := range []string{one.ID, two.ID, "registry"} {
		if got, want := len(dump("--account", stream)), len(with(`"stream":"`+stream+`"`)); got != want || want < 2 {
			t.Errorf("%s: %d records, want %d", stream, got, want)
		}
	}
	var last struct{ Time time.Time }
	if err := json.Unmarshal([]byte(all[len(all)-1]), &last); err != nil {
		t.Fatal(err)
	}
	const form = "2006-01-02T15:04:05.000Z07:00"
	from, east := last.Time.Format(form), last.Time.In(time.FixedZone("", 3*60*60)).Format(form)
	day, before, after := last.Time.Format(time.DateOnly), last.Time.AddDate(0, 0, -2).Format(time.DateOnly), last.Time.AddDate(0, 0, 1).Format(time.DateOnly)
	newest := len(with(`"time":"` + from + `"`))
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"--from", from}, newest},
		{[]string{"--from", east}, newest},
		{[]string{"--to", from}, len(all) - newest},
		{[]string{"--from", before, "--to", day}, len(all)},
		{[]string{"--to", before}, 0},
		{[]string{"--from", after}, 0},
		{[]string{"--from", after, "--account", one.ID}, 0},
	} {
		if got := len(dump(c.args...)); got != c.want {
			t.Errorf("%q: %d records, want %d of %d", c.args, got, c.want, len(all))
		}
	}
	for args, want := range map[string]string{
		"--account acc_aaaaaaaaaaaac":           "pixd: the journal has no record of acc_aaaaaaaaaaaac\n",
		"--account nobody":                      `pixd: "nobody" is no account's id such as acc_`,
		"--account=":                            "pixd: --account is empty\n",
		"--from=":                               "pixd: --from is empty\n",
		"--to=":                                 "pixd: --to is empty\n",
		"--from yesterday":                      "pixd: --from must be a day, such as 2026-01-31, or an ISO 8601 time",
		"--to 2026-13-01":                       "pixd: --to must be a day, such as 2026-01-31, or an ISO 8601 time",
		"--from 2026-02-01 --to 2026-01-31":     "pixd: --from must not be after to\n",
		"--since 2026-02-01":                    "pixd: unknown flag: --since\n",
		"everything":                            `pixd: unknown command "everything" for "pixd journal dump"` + "\n",
		"--data-dir " + filepath.Join(dir, "x"): "pixd: wal: open ",
	} {
		code, out, errs := run(t, nil, append([]string{"journal", "dump", "--data-dir", dir}, strings.Fields(args)...)...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
	}
}

// TestDumpReaderLeaves checks that the dump ends quietly when its reader has seen enough, and
// that another failed write is told.
func TestDumpReaderLeaves(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir)
	s := p.shop()
	for n := range 300 { // so that the dump is longer than a pipe holds
		p.made("/admin/accounts/"+s.ID+"/credits", fmt.Sprintf(`{"amount":%d,"type":"ted","description":%q}`, n+1, strings.Repeat("x", 100)), nil)
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d", code)
	}
	c := exec.Command(theBinary(), "journal", "dump", "--data-dir", dir)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !json.Valid([]byte(line)) {
		t.Errorf("%s %v", line, err)
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil || errs.String() != "" {
		t.Errorf("%v\n%s", err, errs.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "journal", "owner")); err == nil {
		t.Error("the journal was not closed")
	}
	unwritable, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unwritable.Close() }()
	c = exec.Command(theBinary(), "journal", "dump", "--data-dir", dir)
	errs.Reset()
	c.Stdout, c.Stderr = unwritable, &errs
	if err := c.Run(); err == nil || c.ProcessState.ExitCode() != 1 || errs.String() != "pixd: write /dev/stdout: bad file descriptor\n" {
		t.Errorf("%v\n%s", err, errs.String())
	}
}
