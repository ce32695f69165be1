package operator

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answering is a client of a server that answers with a status, a type and a body.
func answering(t *testing.T, status int, kind, body string) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			t.Error("a redirect was followed")
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return &Client{Base: s.URL, Token: "t", Source: TokenVariable}
}

// TestAnswers checks which answers are errors, and what a refused token's says.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, says string
	}{
		{200, `{"a":1}`, ""},
		{200, `<html>`, "without JSON"},
		{302, `{}`, "302"},
		{422, `{"error":{"message":"no"}}`, "no (422)"},
		{401, `{"error":{"message":"no"}}`, "refuses the token from PIXD_ADMIN_TOKEN (401)"},
	} {
		_, err := answering(t, c.status, "application/json", c.body).Do(t.Context(), "GET", "/x", nil)
		if (err != nil) != (c.says != "") || err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "set it here too")) {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
	}
}

// TestLongAnswer checks that an answer of any length does not fill the memory.
func TestLongAnswer(t *testing.T) {
	for length, says := range map[int]string{longestAnswer: "", longestAnswer + 1: "it is too long"} {
		body := `"` + strings.Repeat("a", length-2) + `"`
		got, err := answering(t, 200, "application/json", body).Do(t.Context(), "GET", "/x", nil)
		if (err == nil) != (says == "") || err == nil && len(got) != length || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%d bytes: %d were read (%v)", length, len(got), err)
		}
	}
}

// TestUnanswered checks that an answer which breaks off is said of a change to have perhaps been made, and not of a question.
func TestUnanswered(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	o := &Client{Base: s.URL}
	for method, says := range map[string]bool{"GET": false, "POST": true, "DELETE": true} {
		if _, err := o.Do(t.Context(), method, "/x", nil); err == nil || strings.Contains(err.Error(), "look whether the change was made") != says {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// TestDownloadKind checks that a download is of the media type that was asked for, and that one which breaks off is an error.
func TestDownloadKind(t *testing.T) {
	if d, err := answering(t, 200, "text/html", "x").Download(t.Context(), "/", "text/csv", time.Second); err == nil {
		t.Error("another type is taken", d.Close())
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(200 * time.Millisecond) // longer than a request may take that is no download
	}))
	defer s.Close()
	o := &Client{Base: s.URL, HTTP: &http.Client{Timeout: 100 * time.Millisecond}}
	d, err := o.Download(t.Context(), "/", "text/csv", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(d); string(got) != "begin" || err == nil || !strings.Contains(err.Error(), "broke off after 5 bytes: unexpected EOF") {
		t.Errorf("%q %v", got, err)
	}
	_ = d.Close()
}

// TestTokens checks where the token comes from: a file that is named counts more than the environment, and holds one word.
func TestTokens(t *testing.T) {
	t.Setenv(TokenVariable, "of-the-environment")
	file := filepath.Join(t.TempDir(), "token")
	for text, want := range map[string]string{"of-the-file\n": "of-the-file", "": "", "two words": "", "é": "", "a\x7f": ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := Flags{TokenFile: file}
		if token, _, err := f.token(); (err == nil) != (want != "") || err == nil && token != want {
			t.Errorf("%q: %q %v", text, token, err)
		}
	}
	f := Flags{}
	if token, source, err := f.token(); token != "of-the-environment" || source != TokenVariable || err != nil {
		t.Errorf("%q of %q, %v", token, source, err)
	}
	f.TokenFile = filepath.Join(t.TempDir(), "missing")
	if _, _, err := f.token(); err == nil || !strings.Contains(err.Error(), f.TokenFile) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestURLs checks which URLs of an engine are taken, and that a CA goes with https alone.
func TestURLs(t *testing.T) {
	t.Setenv(TokenVariable, "t")
	for url, good := range map[string]bool{
		"http://a:1": true, "https://a/": true, "http://a/path": false, "http://u:p@a": false, "ftp://a": false, "http://a?q": false,
	} {
		f := Flags{URL: url, Flag: "admin"}
		if _, err := f.Client(); (err == nil) != good {
			t.Errorf("%s: %v", url, err)
		}
	}
	f := Flags{URL: "http://a:1", Flag: "admin", CA: "ca.pem"}
	if _, err := f.Client(); err == nil || !strings.Contains(err.Error(), "is for an https") {
		t.Errorf("a CA with http: %v", err)
	}
}

// TestSegment checks that an id which would lead to another path is none.
func TestSegment(t *testing.T) {
	for id, want := range map[string]string{"": "", ".": "", "..": "", "a/b": "a%2Fb", "acc_a": "acc_a"} {
		if got, err := Segment(id); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", id, got, err)
		}
	}
}
