package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pixd/wal"
)

// hunt searches texts for secrets, none of which may be found, and for known values, all of
// which must be found: otherwise the search does not see the texts.
type hunt struct {
	t       *testing.T
	secrets map[string][]byte // the secrets in every form, by a description of the secret and the form
	known   map[string][]byte
	seen    map[string]map[string]bool // for each kind of place, the names of the known values found there
}

func newHunt(t *testing.T) *hunt {
	return &hunt{t: t, secrets: map[string][]byte{"operators' token": []byte(token)}, known: map[string][]byte{}, seen: map[string]map[string]bool{}}
}

// add adds a credential's secret in every form that the engine handles.
func (h *hunt) add(name string, s shop) {
	h.t.Helper()
	text := strings.TrimPrefix(s.Secret, "sk_")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 32 || text == s.Secret {
		h.t.Fatalf("secret %q: %v", s.Secret, err)
	}
	pair := []byte(s.Client + ":" + s.Secret)
	for form, value := range map[string][]byte{
		"text": []byte(text), "raw": raw, "hex": []byte(hex.EncodeToString(raw)),
		"base64":         bytes.TrimRight([]byte(base64.StdEncoding.EncodeToString(raw)), "="),
		"text in base64": within64([]byte(s.Secret)),
		"credential":     bytes.TrimRight([]byte(base64.StdEncoding.EncodeToString(pair)), "="),
		// Where the credential is the beginning of a longer text, the end of its base64
		// differs.
		"credential's beginning": []byte(base64.StdEncoding.EncodeToString(pair[:len(pair)/3*3])),
	} {
		h.secrets[name+"'s secret, "+form] = value
	}
	hash := sha256.Sum256([]byte(s.Secret))
	h.known[name+"'s client id"] = []byte(s.Client)
	h.known[name+"'s hash"] = hash[:]
}

// within64 returns bytes in base64 without the last characters, which depend on the bytes
// that follow.
func within64(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b[:len(b)/3*3])) }

// leaks returns a description of each secret in a text, with the text before the secret.
func (h *hunt) leaks(content []byte) (found []string) {
	for what, secret := range h.secrets {
		if i := bytes.Index(content, secret); i >= 0 {
			found = append(found, fmt.Sprintf("%s, after %q", what, content[max(0, i-60):i]))
		}
	}
	return found
}

// look searches one text; place says where the text is from.
func (h *hunt) look(place string, content []byte) {
	h.t.Helper()
	for _, leak := range h.leaks(content) {
		h.t.Errorf("%s: %s", place, leak)
	}
	kind, _, _ := strings.Cut(place, " ")
	for what, k := range h.known {
		if bytes.Contains(content, k) {
			if h.seen[kind] == nil {
				h.seen[kind] = map[string]bool{}
			}
			h.seen[kind][what] = true
		}
	}
}

// found checks that the search of one kind of place found the known values of these names.
func (h *hunt) found(kind string, names ...string) {
	h.t.Helper()
	for _, n := range names {
		if !h.seen[kind][n] {
			h.t.Errorf("%s: %s was not found: the search finds nothing", kind, n)
		}
	}
}

// folder searches the bytes of every file in the data folder.
func (h *hunt) folder(dir string) {
	h.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		h.look("file "+path, append([]byte(path+"\n"), b...))
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// store searches every key and value of a store. The files do not show them all, because
// blocks of tables are compressed.
func (h *hunt) store(dir string) {
	h.t.Helper()
	s, err := wal.Open(wal.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		h.t.Fatal(err)
	}
	n := 0
	err = s.Scan(nil, nil, func(k, v []byte) (bool, error) {
		n++
		h.look(fmt.Sprintf("store %s, key %q", dir, k), bytes.Join([][]byte{k, v}, []byte("\n")))
		return true, nil
	})
	if err != nil || n < 5 {
		h.t.Errorf("%s: %d keys, %v", dir, n, err)
	}
	if err := s.Close(); err != nil {
		h.t.Error(err)
	}
}

// throw sends bytes that may not be a valid request, and hangs up.
func throw(t *testing.T, url string, requests ...string) {
	t.Helper()
	for _, r := range requests {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
		_, _ = c.Write([]byte(r)) // an error is ignored: the server may hang up before it has read everything
		_, _ = c.Read(make([]byte, 4096))
		_ = c.Close()
	}
}

// abuse sends a merchant's credential in ways that a careless server would log.
func (s shop) abuse(p *process) {
	auth := "Authorization: ApiKey " + s.Client + ":" + s.Secret + "\r\n"
	basic := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s.Client+":"+s.Secret)) + "\r\n"
	const post, get, host = "POST /api/external/pix/cash-out HTTP/1.1\r\n", "GET /api/external/balance HTTP/1.1\r\n", "Host: x\r\n"
	long := "X-Long: " + strings.Repeat("x", 128<<10) + "\r\n"
	var work sync.WaitGroup
	for _, door := range []string{p.merchant, p.operator} {
		for _, r := range []string{
			get + host + auth + "\r\n", get + host + basic + "\r\n",
			get + host + auth + long + "\r\n", get + host + long + basic + "\r\n",
			get + host + "Authorization: ApiKey " + s.Client + ":" + s.Secret + strings.Repeat("x", 64<<10) + "\r\n\r\n",
			get + host + "Authorization: ApiKey " + s.Client + ":" + s.Secret + "\x01\r\n\r\n", get + host + "Authorization ApiKey" + s.Secret + ": x\r\n\r\n",
			get + host + auth + "no header\r\n\r\n", get + host + basic + "bad header : x\r\n\r\n", get + host + " folded\r\n" + auth + "\r\n",
			get + host + auth + auth + "\r\n", get + host + auth, get + host + strings.TrimSuffix(basic, "\r\n"),
			post + host + auth + "Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"amount\":1",
			post + host + basic + "Content-Type: application/json\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
			post + host + auth + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nzz\r\n",
			post + host + auth + "Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{}",
			"GET /api/external/" + s.Secret + " HTTP/1.1\r\n" + host + "\r\n", "GET /admin/api-keys/" + s.Secret + "?secret=" + s.Secret + " HTTP/1.1\r\n" + host + "\r\n",
			s.Secret + " / HTTP/1.1\r\n" + host + "\r\n", "GET / " + s.Secret + "\r\n" + host + "\r\n", s.Secret + "\r\n\r\n",
		} {
			work.Go(func() { throw(p.t, door, r) })
		}
	}
	work.Wait()
}

// requests sends a merchant's good and bad requests over HTTP.
func (s shop) requests(p *process) {
	t := p.t
	p.t.Helper()
	credential := s.Client + ":" + s.Secret
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(credential))
	for _, a := range []struct {
		auth, hmac, path, body string
		want                   int
	}{
		{"ApiKey " + credential, "", "/balance", "", 200},
		{basic, "", "/balance", "", 200},
		{"ApiKey " + credential + "x", "", "/balance", "", 401},
		{basic + "eHh4", "", "/balance", "", 401},
		{"Basic " + credential, "", "/balance", "", 401},
		{"ApiKey " + s.Secret + ":" + s.Client, "", "/balance", "", 401},
		{"ApiKey " + s.Secret, "", "/balance", "", 401},
		{"Bearer " + s.Secret, "", "/balance", "", 401},
		{"ApiKey " + credential, s.Secret, "/pix/cash-in", `{"amount":100}`, 401},
		{"ApiKey " + credential, strings.Repeat("0", 128), "/pix/cash-in", `{"amount":`, 400},
		{basic, strings.Repeat("0", 128), "/pix/cash-in", `{"amount":100,"amount":200}`, 400},
		{"ApiKey " + credential, "", "/pix/cash-in", `{"amount":100}`, 401},
		{"ApiKey " + credential, "x", "/nothing", `{}`, 404},
	} {
		method := "GET"
		if a.body != "" {
			method = "POST"
		}
		status, got, err := send(method, p.merchant+"/api/external"+a.path, []byte(a.body), "Authorization", a.auth, "hmac", a.hmac,
			"Content-Type", "application/json", "Idempotency-Key", s.Secret)
		if err != nil || status != a.want {
			t.Errorf("%s with %s: %d %s %v", a.path, a.auth, status, got, err)
		}
		if bytes.Contains(bytes.TrimSpace(got), []byte(s.Secret)) {
			t.Errorf("%s with %s: answered %s", a.path, a.auth, got)
		}
	}
	for path, body := range map[string]string{"/pix/cash-in": `{"amount":100}`, "/pix/cash-out": `{"amount":100,"pix_key":"settle-now@pix.test"}`} {
		if status, got, err := s.ask(p.merchant, path, body, "good-"+path); err != nil || status != 200 {
			t.Errorf("%s: %d %s %v", path, status, got, err)
		}
	}
	for path, body := range map[string]string{
		"/admin/accounts":                       `{"secret":"` + s.Secret + `"}`,
		"/admin/accounts/" + s.ID + "/api-keys": `{"permissions":["` + s.Secret + `"]}`,
		"/admin/accounts/" + s.Secret:           `{}`,
		"/sim/payments":                         `{"qr_code":"` + s.Secret + `"}`,
	} {
		if status, got, err := p.operate("POST", path, body); err != nil || status/100 != 4 {
			t.Errorf("%s: %d %s %v", path, status, got, err)
		}
	}
}

// metrics searches /metrics.
func (h *hunt) metrics(p *process) {
	h.t.Helper()
	status, got, err := p.operate("GET", "/metrics", "")
	if err != nil || status != 200 || !bytes.Contains(got, []byte("pixd_http_requests_total{")) {
		h.t.Errorf("/metrics: %d %s %v", status, got, err)
	}
	h.look("metrics", got)
}

// TestSecretsStaySecret checks that after good and bad requests, a kill and a restart,
// nothing logged, printed or written has a secret in any form.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	h := newHunt(t)
	p := start(t, dir, "--log-level", "debug")
	one := p.shop()
	h.add("one", one)
	made := strings.Fields(p.reported("key", "create", "--account", one.ID, "--permission", "*", "--ip", "127.0.0.1"))
	two := shop{ID: one.ID, Client: made[2], Secret: made[5]}
	h.add("two", two)
	if !strings.Contains(strings.Join(made, " "), two.Secret) {
		t.Error(made)
	}
	life := func() {
		for _, s := range []shop{one, two} {
			s.requests(p)
			s.abuse(p)
		}
		for _, args := range [][]string{
			{"account", "list"},
			{"account", "show", one.ID, "--json"},
			{"key", "list", "--account", one.ID},
			{"key", "list", "--account", one.ID, "--json"},
			{"key", "set", two.Client, "--ip", "127.0.0.1,10.0.0.1/8"},
			{"key", "set", two.Client, "--ip", "127.0.0.1", "--json"},
			{"account", "show", "acc_none"},
		} {
			_, out, errs := p.operates(args...)
			h.look("printed pixd "+strings.Join(args, " "), []byte(out+errs))
		}
		h.metrics(p)
	}
	life()
	p.end(syscall.SIGKILL)
	h.folder(dir)
	h.found("file", "one's client id", "one's hash", "two's client id", "two's hash") // these values are found in files because the journal's log is not compressed
	h.look("logged", []byte(p.words()+p.out.String()))
	p = start(t, dir, "--log-level", "debug")
	life()
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	h.look("logged", []byte(p.words()+p.out.String()))
	h.folder(dir)
	h.store(filepath.Join(dir, "journal"))
	h.store(filepath.Join(dir, "sim"))
	code, out, errs := run(t, nil, "journal", "verify", "--data-dir", dir)
	h.look("printed pixd journal verify", []byte(out+errs))
	if code != 0 {
		t.Errorf("verify: exit %d %s", code, errs)
	}
	h.found("printed", "one's client id", "two's client id")
	h.found("logged", "one's client id", "two's client id")
	h.found("store", "one's client id", "one's hash", "two's client id", "two's hash")
}

// TestHuntFindsMutations checks that hunt finds each form of a secret.
func TestHuntFindsMutations(t *testing.T) {
	s := shop{Client: "cli_x", Secret: "sk_" + base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb, 0xef, 7, 9}, 8))}
	random, _ := base64.RawURLEncoding.DecodeString(s.Secret[3:])
	for _, planted := range [][]byte{
		[]byte("x" + s.Secret + "x"), []byte(s.Secret[3:]), append([]byte{0}, random...), []byte(hex.EncodeToString(random)),
		[]byte(base64.StdEncoding.EncodeToString(random)), []byte(base64.StdEncoding.EncodeToString([]byte(s.Secret))),
		[]byte("Basic " + base64.StdEncoding.EncodeToString([]byte(s.Client+":"+s.Secret))),
		[]byte(base64.StdEncoding.EncodeToString([]byte(s.Client + ":" + s.Secret + "more"))), []byte("Bearer " + token),
	} {
		h := newHunt(t)
		h.add("one", s)
		if len(h.leaks(planted)) == 0 {
			t.Errorf("%q was not found", planted)
		}
	}
}
