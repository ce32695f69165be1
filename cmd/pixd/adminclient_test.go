package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pixd/cmd/terminal"
)

// asks runs a command against a server that the test plays.
func asks(t *testing.T, at string, args ...string) (code int, out, errs string) {
	t.Helper()
	return run(t, []string{"PIXD_ADMIN=" + at, "PIXD_ADMIN_TOKEN=" + token}, args...)
}

// answering is a server that always gives the same answer.
func answering(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s
}

// TestStrangeAnswers checks that a command ends with one error line, whatever the server
// answers.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		args   string
		want   string
	}{
		{200, "<html>", "account list", "HOST answers 200 without JSON: it is no operator API"},
		{200, "[]", "account list", "HOST answers no list"},
		{200, "{}", "account list", "HOST answers no list"},
		{200, `{"data":[7],"next_cursor":null}`, "account list", "entry 1 of the list: json: "},
		{200, `{"data":[],"next_cursor":"1"}`, "account list", "the list does not go on: its next_cursor is the one that was sent"},
		{200, "7", "account show acc_x", "HOST answers no account: json: "},
		{200, "7", "decline x --operator y", "HOST answers no payout: json: "},
		{200, "7", "key revoke cli_x", "HOST answers no API key: json: "},
		{502, "<html>", "account list", "HOST answers 502 Bad Gateway: it may be no operator API"},
		{799, "", "account list", "HOST answers 799 with an unknown status: it may be no operator API"},
		{302, "", "account list", "HOST answers 302 Found: it may be no operator API"},
		{503, `{"error":{"status":503,"message":"not\n\u001b[31m now"}}`, "account list", `not;  \x1b[31m now (503)`},
	} {
		s := answering(t, c.status, c.body)
		code, out, errs := asks(t, s.URL, strings.Fields(c.args)...)
		want := "pixd: " + strings.ReplaceAll(strings.ReplaceAll(c.want, "HOST", s.URL), ";  ", "; ")
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, want) {
			t.Errorf("%d %s: exit %d\n%s%s\nwant %s", c.status, c.body, code, out, errs, want)
		}
	}
}

// TestRedirect checks that a command does not send its token to the target of a redirect.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	if code, _, _ := asks(t, s.URL, "account", "list"); code != 1 || asked.Load() {
		t.Errorf("exit %d, followed %v", code, asked.Load())
	}
}

// TestLostAnswer checks that, when the answer to a change is lost, the error does not say
// that the change was not made.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	for args, want := range map[string]string{
		"account list": "no answer from HOST: EOF",
		"account create --name x --document 12345678909": "no answer from HOST, so look whether the change was made before you try again: EOF",
	} {
		code, _, errs := asks(t, s.URL, strings.Fields(args)...)
		if want = "pixd: " + strings.ReplaceAll(want, "HOST", s.URL) + "\n"; code != 1 || errs != want {
			t.Errorf("%s: exit %d, %swant %s", args, code, errs, want)
		}
	}
}

// TestHostileTexts checks that every field of an answer is printed with its control
// characters escaped, and that only key create shows a secret.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const evil = "x\\u001b]0;owned\\u0007\u009b2J\u202e"
	account := strings.ReplaceAll(`{"account_id":"E","name":"E","document":"E","city":"E","active":true,"fees":{},"authorized_cnpjs":["E"],"repeat_window":"E","created_at":"E"}`, "E", evil)
	key := strings.ReplaceAll(`{"client_id":"E","client_secret":"sk_secret","account_id":"E","permissions":["E"],"ip_whitelist":["E"],"expires_at":"E","last_used_at":"E","created_at":"E","warnings":["E"]}`, "E", evil)
	payout := strings.ReplaceAll(`{"account_id":"E","transaction_id":"E","state":"E","end_to_end_id":"E","recipient_key":"E","reason_code":"E","created_at":"E"}`, "E", evil)
	kase := strings.ReplaceAll(`{"id":"E","account_id":"E","infraction_id":"E","transaction_id":"E","end_to_end_id":"E","situation":"E","status":"E","analysis_result":"E","analysis_details":"E","refund_failed":true,"awaits_resume":true,`+
		`"defense":{"justification":"E","result":"E","contact":"E"},"opened_at":"E","deadline_at":"E","analysis_due_at":"E","defended_at":"E","closed_at":"E"}`, "E", evil)
	for args, body := range map[string]string{
		"med show x":                     kase,
		"med close x --result AGREED":    kase,
		"med refund x --operator y":      kase,
		"med resume x --operator y":      kase,
		"med list --limit 1":             `{"data":[` + kase + `],"next_cursor":"` + evil + `"}`,
		"approve x --operator y":         payout,
		"account show x":                 account,
		"account list --limit 1":         `{"data":[` + account + `],"next_cursor":"` + evil + `"}`,
		"key set x --ip 127.0.0.1":       key,
		"key list --limit 1 --account x": `{"data":[` + key + `],"next_cursor":"` + evil + `"}`,

		"key create --account x --permission * --ip 127.0.0.1 ": key,
	} {
		s := answering(t, 200, body)
		for _, form := range [][]string{nil, {"--json"}} {
			code, out, errs := asks(t, s.URL, append(strings.Fields(args), form...)...)
			for _, line := range strings.Split(out+errs, "\n") {
				if terminal.Plain(line) != line {
					t.Errorf("%s %v: %q", args, form, line)
				}
			}
			if code != 0 || !strings.Contains(out, "owned") {
				t.Errorf("%s %v: exit %d\n%s%s", args, form, code, out, errs)
			}
			if form == nil && strings.Contains(out, "sk_secret") != strings.HasPrefix(args, "key create") {
				t.Errorf("%s: %s", args, out)
			}
		}
	}
}

// TestQuarantinedIsShown checks that unknown amounts of a quarantined account are not shown
// as zero.
func TestQuarantinedIsShown(t *testing.T) {
	t.Parallel()
	s := answering(t, 200, `{"data":[{"account_id":"acc_x","name":"Ana","document":"1","city":null,"active":true,"fees":null,`+
		`"cash_out_ceiling":null,"approval_threshold":null,"block_cnpj_out":null,"authorized_cnpjs":null,"repeat_window":null,`+
		`"balance":null,"available":null,"pending":null,"med_held":null,"created_at":"2026-01-31T12:00:00.007Z","quarantined":true}],"next_cursor":null}`)
	code, out, errs := asks(t, s.URL, "account", "list")
	same(t, out, `
ACCOUNT  NAME  DOCUMENT  STATE        BALANCE  BRL  AVAILABLE BRL  PENDING BRL  CREATED
acc_x    Ana   1         quarantined        -    -              -            -  2026-01-31T12:00:00Z
`)
	if code != 0 || errs != "" {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestAdminCA checks that a self-signed certificate is trusted only if --admin-ca names it.
func TestAdminCA(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+token {
			_, _ = w.Write([]byte(`{"data":[],"next_cursor":null}`))
		}
	}))
	defer s.Close()
	ca, bad := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "bad.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := asks(t, s.URL, "account", "list", "--admin-ca", ca); code != 0 || out != "no accounts\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, _, errs := asks(t, s.URL, "account", "list")
	if want := "pixd: " + s.URL + " is not trusted (--admin-ca names a certificate that is): x509: "; code != 1 || !strings.HasPrefix(errs, want) || strings.Count(errs, "\n") != 1 {
		t.Errorf("exit %d, %s", code, errs)
	}
	if code, _, errs := asks(t, s.URL, "account", "list", "--admin-ca", bad); code != 1 || errs != "pixd: --admin-ca: "+bad+" holds no certificate in PEM\n" {
		t.Errorf("exit %d, %s", code, errs)
	}
}
