package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestRefuses checks that settings which are not allowed end the program with one line and
// exit status 1, and that it makes no folder.
func TestRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := taken.Addr().String()
	const secrets = "PIXD_ADMIN_TOKEN=" + token + " PIXD_SCHEME_SECRET=0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		env, args, want string
	}{
		{"", "serve --listen " + busy + " --admin-listen 127.0.0.1:0", "merchant API: listen tcp4 " + busy + ": bind: address already in use"},
		{"", "serve --listen 127.0.0.1:0 --admin-listen " + busy, "operator API: listen tcp4 " + busy + ": bind: address already in use"},
		{"", "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --data-dir " + file + "/data", "data folder: mkdir " + file + ": not a directory"},
		{"", "serve --no-such-flag", "unknown flag: --no-such-flag"},
		{"", "serve extra", `unknown command "extra" for "pixd serve"`},
		{"", "fly", `unknown command "fly" for "pixd"`},
		{"PIXD_SIM_SETTLE_DELAY=soon", "serve", "PIXD_SIM_SETTLE_DELAY: "},
		{"PIXD_ISPB=12", "serve", `--ispb "12": 8 digits or capital letters`},
		{"", "serve --ispb 1234567x", `--ispb "1234567x": 8 digits or capital letters`},
		{"", "sim --ispb 1a2b3c4d", `--ispb "1a2b3c4d": 8 digits or capital letters`},
		{"", "serve --sim-settle-delay -1s", "--sim-settle-delay -1s: 0 or longer"},
		{"", "serve --scheme-timeout 0", "--scheme-timeout 0s: longer than 0"},
		{"", "serve --scheme http://127.0.0.1", "--scheme http://127.0.0.1: PIXD_SCHEME_SECRET: the secret shared with the scheme must have at least 32 bytes, and has 0"},
		{"PIXD_SCHEME_SECRET=0123456789abcdef0123456789abcde", "serve --scheme http://127.0.0.1", "at least 32 bytes, and has 31"},
		{"PIXD_SCHEME_SECRET=0123456789abcdef0123456789abcdef", "serve --scheme 127.0.0.1:8090", `--scheme: "127.0.0.1:8090" is no URL such as http://127.0.0.1:8090`},
		{"PIXD_SCHEME=simulator", "serve", `--scheme: "simulator" is no URL`},
		{"", "serve --scheme-listen 127.0.0.1:0", "it goes with --scheme URL"},
		{"PIXD_SCHEME_SECRET=0123456789abcdef0123456789abcdef", "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --scheme http://127.0.0.1 --scheme-listen " + busy, "scheme's notices: listen tcp4 " + busy},
		{secrets, "serve --scheme http://127.0.0.1 --scheme-listen 0.0.0.0:0", "--scheme-listen 0.0.0.0:0: without TLS, by --scheme-tls-cert and --scheme-tls-key or the operator API's certificate, it takes loopback addresses only"},
		{secrets, "serve --scheme http://127.0.0.1 --scheme-listen [::]:0 --tls-cert " + file + " --tls-key " + file, "--scheme-listen [::]:0: without TLS"},
		{secrets, "serve --scheme http://127.0.0.1 --scheme-listen 127.0.0.1:0 --scheme-tls-cert " + file, "--scheme-tls-cert and --scheme-tls-key go together"},
		{secrets, "serve --scheme http://127.0.0.1 --scheme-tls-cert " + file + " --scheme-tls-key " + file, "--scheme-tls-cert and --scheme-tls-key are for --scheme-listen, which is not given"},
		{secrets, "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --scheme http://127.0.0.1 --scheme-listen 0.0.0.0:0 --scheme-tls-cert " + file + " --scheme-tls-key " + file, "--scheme-tls-cert " + file + ", --scheme-tls-key " + file + ": tls: "},
		{"", "serve --demo --scheme http://127.0.0.1", "--demo pays in the simulator in this process"},
		{"PIXD_ADMIN_TOKEN=" + token, "sim", "PIXD_SCHEME_SECRET: the secret shared with the scheme must have at least 32 bytes, and has 0"},
		{"PIXD_SCHEME_SECRET=0123456789abcdef0123456789abcdef", "sim", "PIXD_ADMIN_TOKEN is empty"},
		{"PIXD_ADMIN_TOKEN=" + token + " PIXD_SCHEME_SECRET=0123456789abcdef0123456789abcdef", "sim --engine nowhere", `--engine: "nowhere" is no URL`},
		{"PIXD_ADMIN_TOKEN=" + token + " PIXD_SCHEME_SECRET=0123456789abcdef0123456789abcdef", "sim --listen " + busy, "simulator: listen tcp4 " + busy},
		{"PIXD_ADMIN_TOKEN=fifteen-letters", "serve", "PIXD_ADMIN_TOKEN: an operators' token must have at least 16 characters, and this one has 15"},
		{"PIXD_ADMIN_TOKEN=fifteen-letters", "serve --demo", "PIXD_ADMIN_TOKEN: an operators' token must have at least 16 characters"},
		{"PIXD_ADMIN_TOKEN=fifteen-letters", "sim", "PIXD_ADMIN_TOKEN: an operators' token must have at least 16 characters, and this one has 15"},
		{"", "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --ispb-table /none", "--ispb-table: open /none: no such file or directory"},
		{"", "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --ispb-table " + file, "--ispb-table: " + file + ": no line names the columns ISPB and Nome_Reduzido"},
		{"", "serve --scheme-ca " + file, "--scheme-ca is for an https --scheme, which is sim"},
		{secrets, "serve --scheme http://127.0.0.1 --scheme-ca " + file, "--scheme-ca is for an https --scheme, which is http://127.0.0.1"},
		{secrets, "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --scheme https://127.0.0.1 --scheme-ca /none", "--scheme-ca: open /none: no such file or directory"},
		{secrets, "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --scheme HTTPS://127.0.0.1 --scheme-ca " + file, "--scheme-ca: " + file + " holds no certificate in PEM"},
		{secrets, "sim --engine-ca " + file, "--engine-ca is for an https --engine, which is http://127.0.0.1:8081"},
		{secrets, "sim --listen 127.0.0.1:0 --engine https://127.0.0.1 --engine-ca /none", "--engine-ca: open /none: no such file or directory"},
		{secrets, "sim --listen 127.0.0.1:0 --engine https://127.0.0.1 --engine-ca " + file, "--engine-ca: " + file + " holds no certificate in PEM"},
		{secrets, "sim --listen 127.0.0.1:0 --tls-cert cert.pem", "--tls-cert and --tls-key go together"},
		{secrets, "sim --listen 127.0.0.1:0 --tls-cert " + file + " --tls-key " + file, "--tls-cert " + file + ", --tls-key " + file + ": tls: "},
		{secrets, "sim --listen 0.0.0.0:0", "--listen 0.0.0.0:0: without --tls-cert and --tls-key the simulator takes loopback addresses only"},
		{"", "sim --settle-delay -1s", "--settle-delay -1s: 0 or longer"},
		{"", "sim pay", "[qr-code pix-key]"},
		{"", "sim fly", `unknown command "fly" for "pixd sim"`},
		{"", "serve --trusted-proxy 10.0.0.1", "not a CIDR"},
		{"", "serve --admin-listen 0.0.0.0:0", "loopback addresses only"},
		{"", "serve --demo --listen 0.0.0.0:0", "--demo takes a loopback --listen"},
		{"", "serve --demo --listen :0", "--demo takes a loopback --listen"},
		{"", "serve --demo --trusted-proxy 10.0.0.0/8", "--demo takes a loopback --listen"},
		{"", "serve --tls-cert cert.pem", "--tls-cert and --tls-key go together"},
		{"", "serve --tls-key key.pem", "--tls-cert and --tls-key go together"},
		{"PIXD_ADMIN_TLS_KEY=key.pem", "serve", "--admin-tls-cert and --admin-tls-key go together"},
		{"", "serve --tls-cert no-cert.pem --tls-key no-key.pem", "--tls-cert no-cert.pem, --tls-key no-key.pem: open no-cert.pem: no such file"},
		{"", "serve --admin-tls-cert " + file + " --admin-tls-key " + file, "--admin-tls-cert " + file + ", --admin-tls-key " + file + ": tls: "},
		{"", "serve --demo --tls-cert c --tls-key k", "--demo prints requests in plain HTTP"},
		{"", "serve --demo --admin-tls-cert c --admin-tls-key k", "--demo prints requests in plain HTTP"},
		{"", "serve --min-free-disk much", "not a size such as 1GiB"},
		{"PIXD_MIN_FREE_DISK=-1", "serve", "not a size such as 1GiB"},
		{"", "serve --connections-per-ip -1", "--connections-per-ip -1: 0 (no limit) or more"},
		{"", "serve --log-level loud", "--log-level"},
		{"", "serve --log-format xml", "--log-format"},
		{"", "journal verify", "pixd: wal: open "},
		{"", "journal dump", "pixd: wal: open "},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		args := strings.Fields(c.args)
		if (args[0] == "serve" || args[0] == "journal" || c.args == "sim" || strings.HasPrefix(c.args, "sim --")) && !strings.Contains(c.args, "--data-dir") {
			args = append(args, "--data-dir", dir)
		}
		code, out, errs := run(t, strings.Fields(c.env), args...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "pixd: ") || !strings.Contains(errs, c.want) {
			t.Errorf("%s pixd %s: exit %d\n%s%s", c.env, c.args, code, out, errs)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s pixd %s: the data folder was made", c.env, c.args)
		}
	}
}

// TestInUse checks that a second process on the same folder ends with an error that names the
// first process, which goes on undisturbed.
func TestInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir)
	for _, args := range [][]string{
		{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
		{"journal", "verify", "--data-dir", dir},
		{"journal", "dump", "--data-dir", dir},
	} {
		code, _, errs := run(t, nil, args...)
		if want := fmt.Sprintf("in use by process %d", p.cmd.Process.Pid); code != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", args[0], code, errs)
		}
	}
	p.shop() // the first process still serves requests
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	if i, err := os.Stat(dir); err != nil || i.Mode().Perm() != 0o700 {
		t.Errorf("data folder: %v %v", i.Mode(), err)
	}
}

// TestOtherISPB checks that an engine does not start on a folder that was made with another
// ISPB, a setting that never changes.
func TestOtherISPB(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	start(t, dir).end(syscall.SIGTERM)
	code, _, errs := run(t, nil, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--ispb", "12345678")
	if code != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "ispb") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestDemo runs the command lines that the demo's tour prints in a shell.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir, "--demo", "--sim-settle-delay", "50ms") // the tour waits 400 ms for an outcome
	tour := p.out.until(t, "pixd sign --secret-file")
	script := "set -o pipefail\n" + tour[strings.Index(tour, "\n#"):strings.Index(tour, "\n# Sign")]
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, kind := range []string{"pix.charge.paid", "pix.payout.confirmed", "pix.refund.completed"} {
		if received := regexp.MustCompile(`(?m)^\S+Z  `+regexp.QuoteMeta(kind)+`  sequence \d+  evt_\w+  verified$`).FindAll(out, -1); len(received) != 1 {
			t.Errorf("%s was received %d times", kind, len(received))
		}
	}
	rest := string(out)
	for _, want := range []string{
		`"secret":"whsec_`,             // the webhook
		`"worked":true`, `"qr_code":"`, // the charge
		`"amount":250000`, // the charge is paid
		`"status":"completed"`, `"balance":10250000,"available":10250000,"pending":0`,
		`"worked":true`, `"end_to_end_id":"E99999004`, // the payout
		`"status":"failed","errors":[{"code":"dict_key_not_found"`, // the payout that is refused
		`"balance":`,
		`"data":[{`, `PIXRET`, `"status":"settled"`, `PIXOUT`, `"status":"settled"`, `PIXIN`, `"status":"completed"`, `"type":"ted"`, // the statement
		`"page":1,"per_page":20}`,
	} {
		i := strings.Index(rest, want)
		if i < 0 {
			t.Fatalf("%s is not in what is left of the outcome:\n%s\nall:\n%s", want, rest, out)
		}
		rest = rest[i+len(want):]
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	again := start(t, dir, "--demo", "--sim-settle-delay", "50ms")
	second := again.out.until(t, "pixd sign --secret-file")
	tourAgain(t, again, tour, second)
	if code := again.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	third := start(t, dir, "--demo")
	all := third.out.until(t, "pixd sign --secret-file")
	for _, key := range regexp.MustCompile(`(PIXD_CLIENT_ID=)(cli_\w+)`).FindAllStringSubmatch(tour+second, -1) {
		if !strings.Contains(all, "\n  "+key[2]+"  made ") || strings.Contains(all, key[0]) {
			t.Errorf("the key %s is not listed as an earlier one in:\n%s", key[2], all)
		}
	}
	if n := strings.Count(all, "  made "); n != 2 {
		t.Errorf("%d earlier keys in:\n%s", n, all)
	}
	third.end(syscall.SIGTERM)
	other := filepath.Join(t.TempDir(), "data")
	q := start(t, other)
	q.shop()
	q.end(syscall.SIGTERM)
	r := start(t, other, "--demo")
	r.end(syscall.SIGTERM)
	if got := r.out.String(); !strings.Contains(got, "has accounts already, and no demo account") || strings.Contains(got, "curl") {
		t.Errorf("a demo among other accounts printed %s", got)
	}
}

// tourAgain checks that a demo on a folder that has its account lists the keys of the tour before, and
// that the new tour's lines work: each event comes once and verified, the payout settles, and nothing was
// credited again.
func tourAgain(t *testing.T, p *process, first, tour string) {
	t.Helper()
	client := regexp.MustCompile(`cli_\w+`)
	if old := client.FindString(first); client.FindString(tour) != old || strings.Count(tour, old) != 1 {
		t.Errorf("the key %s of the first tour is not listed once in:\n%s", old, tour)
	}
	if account := regexp.MustCompile(`acc_\w+`); account.FindString(tour) != account.FindString(first) {
		t.Errorf("another account than in %s:\n%s", first, tour)
	}
	script := "set -o pipefail\n" + tour[strings.Index(tour, "\n#"):strings.Index(tour, "\n# Sign")]
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, kind := range []string{"pix.charge.paid", "pix.payout.confirmed", "pix.refund.completed"} {
		if received := regexp.MustCompile(`(?m)^\S+Z  `+regexp.QuoteMeta(kind)+`  sequence \d+  evt_\w+  verified$`).FindAll(out, -1); len(received) != 1 {
			t.Errorf("in the second tour %s was received %d times:\n%s", kind, len(received), out)
		}
	}
	if strings.Contains(string(out), "DUPL") || !strings.Contains(string(out), `"balance":10350000,`) {
		t.Errorf("the second tour: %s", out)
	}
}
