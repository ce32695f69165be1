package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

var (
	webhookSecret = "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	otherSecret   = "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{8}, 32))
)

// startListen starts `pixd listen` on a free port and returns it with the URL that it prints.
func startListen(t *testing.T, env []string, flags ...string) (p *process, url string) {
	t.Helper()
	p = &process{t: t, cmd: exec.Command(theBinary(), append([]string{"listen", "--listen", "127.0.0.1:0"}, flags...)...), ready: make(chan struct{}), exited: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), env...)
	p.begin()
	for range 1000 {
		if m := regexp.MustCompile(`subscribe to (http://127\.0\.0\.1:[0-9]+/) `).FindStringSubmatch(p.words()); m != nil {
			return p, m[1]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no URL:\n%s", p.words())
	return nil, ""
}

// sealed returns the headers of a webhook sent at the time given, as the engine sends them.
func sealed(t *testing.T, secret, id, body string, at time.Time) []string {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := w.Sign(id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"webhook-id", id, "webhook-timestamp", strconv.FormatInt(at.Unix(), 10), "webhook-signature", signature}
}

// posted sends a webhook and checks the status of its answer.
func posted(t *testing.T, url, body string, want int, headers ...string) {
	t.Helper()
	if status, _, err := send("POST", url, []byte(body), headers...); err != nil || status != want {
		t.Errorf("%d (%v), want %d", status, err, want)
	}
}

const stamp = `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ`

// TestListen checks what is printed of webhooks that are verified or not, and the count at the
// end.
func TestListen(t *testing.T) {
	t.Parallel()
	p, url := startListen(t, []string{"PIXD_LISTEN_SECRET=" + otherSecret + "," + webhookSecret}, "--status", "503")
	body := `{"id":"evt_a","type":"pix.received","sequence":7,"data":{"list":[1],"none":{}}}`
	now := time.Now()
	posted(t, url, body, 503, sealed(t, webhookSecret, "evt_a", body, now)...)
	posted(t, url+"any/path", body, 503, sealed(t, otherSecret, "evt_a", body, now)...)
	posted(t, url, body+" ", 503, sealed(t, webhookSecret, "evt_\x1b", body, now)[2:]...)
	posted(t, url, body+" ", 503, sealed(t, webhookSecret, "evt_b", body, now)...)
	posted(t, url, body, 503, sealed(t, webhookSecret, "evt_a", body, now.Add(-6*time.Minute))...)
	if status, _, err := send("GET", url, nil); err != nil || status != 405 {
		t.Errorf("GET: %d (%v)", status, err)
	}
	posted(t, url, strings.Repeat(" ", 1<<20+1), 413)
	if code := p.end(syscall.SIGINT); code != 0 || !strings.HasSuffix(p.words(), "\npixd: a webhook of more than 1048576 bytes was refused\nreceived 5, verified 2\n") {
		t.Errorf("exit %d\n%s", code, p.words())
	}
	shown := regexp.QuoteMeta("{\n  \"id\": \"evt_a\",\n  \"type\": \"pix.received\",\n  \"sequence\": 7,\n  \"data\": {\n    \"list\": [\n      1\n    ],\n    \"none\": {}\n  }\n}\n\n")
	want := ""
	for _, first := range []string{
		"evt_a  verified", "evt_a  verified", "evt_a  NOT VERIFIED: missing required headers", "evt_b  NOT VERIFIED: no matching signature found",
		"evt_a  NOT VERIFIED: message timestamp too old",
	} {
		want += stamp + "  pix[.]received  sequence 7  " + first + "\n" + shown
	}
	if got := p.out.String(); !regexp.MustCompile("^" + want + "$").MatchString(got) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if all := p.words() + p.out.String(); strings.Contains(all, "whsec_") {
		t.Errorf("a secret is printed:\n%s", all)
	}
}

// TestListenJSON checks the lines of --json: with and without a secret, and of a body that is
// no JSON.
func TestListenJSON(t *testing.T) {
	t.Parallel()
	body := "{\"id\":\"evt_a\",\n\t\"type\":\"pix.completed\",\"sequence\":3,\"data\":{\"a\":\"<\u202e>\"}}"
	for _, v := range []struct {
		env, flags []string
		want       []map[string]any
		end        string
	}{
		{nil, nil, []map[string]any{
			{"verified": nil, "reason": nil, "type": "pix.completed", "id": "evt_a", "sequence": 3.0, "status": 200.0},
			{"verified": nil, "reason": nil, "type": "", "id": "", "sequence": 0.0, "status": 200.0, "body": "\"\x1b[2J\ufffd"},
		}, "received 2"},
		{[]string{"PIXD_SECRET=" + webhookSecret}, []string{"--status", "204"}, []map[string]any{
			{"verified": true, "reason": nil, "type": "pix.completed", "id": "evt_a", "sequence": 3.0, "status": 204.0},
			{"verified": false, "reason": "missing required headers", "status": 204.0},
		}, "received 2, verified 1"},
	} {
		p, url := startListen(t, v.env, append(v.flags, "--json")...)
		status := int(v.want[0]["status"].(float64))
		posted(t, url, body, status, sealed(t, webhookSecret, "evt_a", body, time.Now())...)
		posted(t, url, "\"\x1b[2J\xff", status)
		if code := p.end(syscall.SIGTERM); code != 0 || !strings.HasSuffix(p.words(), "\n"+v.end+"\n") {
			t.Errorf("exit %d\n%s", code, p.words())
		}
		lines := strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
		if len(lines) != len(v.want) || strings.ContainsAny(p.out.String(), "\x1b\u202e") || !utf8.ValidString(p.out.String()) {
			t.Fatalf("%q", lines)
		}
		for i, line := range lines {
			var got map[string]any
			if err := json.Unmarshal([]byte(line), &got); err != nil || len(got) != 8 || !regexp.MustCompile("^"+stamp+"$").MatchString(got["received_at"].(string)) {
				t.Fatalf("%s: %v", line, err)
			}
			for name, value := range v.want[i] {
				if got[name] != value {
					t.Errorf("%s is %v, not %v", name, got[name], value)
				}
			}
			if data, object := got["body"].(map[string]any); i == 0 && (!object || data["data"].(map[string]any)["a"] != "<\u202e>") {
				t.Errorf("body %v", got["body"])
			}
		}
	}
}

// TestListenRefuses checks flags that are refused, and that no error shows a secret.
func TestListenRefuses(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, "--listen 0.0.0.0:0: without --any-address only loopback addresses, such as 127.0.0.1:9099"},
		{[]string{"--listen", ":0"}, "--listen :0: without --any-address only loopback addresses, such as 127.0.0.1:9099"},
		{[]string{"--status", "199"}, "--status 199: an HTTP status from 200 to 599"},
		{[]string{"--status", "600"}, "--status 600: an HTTP status from 200 to 599"},
		{[]string{"--secret", webhookSecret + ",whsec_hidden!"}, "--secret: number 2 is no webhook secret, which is whsec_ and base64"},
		{[]string{"--secret", "whsec_"}, "--secret: number 1 is no webhook secret, which is whsec_ and base64"},
		{[]string{"more"}, `"more" is one word too many`},
		{[]string{"--listen", "127.0.0.1:99999", "--any-address"}, "--listen 127.0.0.1:99999: listen tcp: address 99999: invalid port"},
	} {
		code, out, errs := run(t, nil, append([]string{"listen"}, v.args...)...)
		if code != 1 || out != "" || errs != "pixd: "+v.want+"\n" {
			t.Errorf("%v: exit %d\n%s%s", v.args, code, out, errs)
		}
	}
	f := listenFlags{listen: "0.0.0.0:0", anyAddress: true, status: 200}
	if _, err := f.receiver(nil); err != nil {
		t.Errorf("--any-address: %v", err)
	}
}

// FuzzListen checks that nothing of a webhook reaches a terminal as a command, and that each
// block and line is complete.
func FuzzListen(f *testing.F) {
	for _, s := range []string{`{"id":"a","type":"b","sequence":1}`, `{"type":5}`, `{"id":"\u001b[2J","type":"\u009b\u0007\u202e"}`, "", "\x1b]0;x\x07", "{\"a\":\"\u009b\"}", strings.Repeat("[", 99), "a\nb\r\n", `{"a":"\ud800"}`} {
		f.Add([]byte(s), "evt_1")
		f.Add([]byte(s), "\x1b[2J\xff")
	}
	f.Fuzz(func(t *testing.T, body []byte, id string) {
		for _, lines := range []bool{false, true} {
			var out bytes.Buffer
			r := receiver{out: &out, status: 200, json: lines}
			q := httptest.NewRequest("POST", "/", bytes.NewReader(body))
			q.Header["Webhook-Id"] = []string{id}
			w := httptest.NewRecorder()
			r.ServeHTTP(w, q)
			if w.Code != http.StatusOK || r.count() != "received 1" {
				t.Errorf("%d, %s", w.Code, r.count())
			}
			for _, c := range out.String() {
				if c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 || c == 0x202e {
					t.Errorf("%q contains %q", out.String(), c)
				}
			}
			s := bufio.NewScanner(&out)
			s.Buffer(nil, 1<<24)
			n := 0
			for ; s.Scan(); n++ {
				if lines && !json.Valid(s.Bytes()) {
					t.Errorf("no JSON: %s", s.Text())
				}
			}
			if lines && n != 1 {
				t.Errorf("%d lines", n)
			}
		}
	})
}
