package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"pixd/httpapi"
)

// guide returns the text of docs/api.md.
func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// vector is the test vector of the guide.
type vector struct {
	secret, body, signature, empty                  string // of a request, and the signature of the body {}
	hookSecret, hookID, at, hookBody, hookSignature string // of a webhook
}

func readVector(t *testing.T) (v vector) {
	t.Helper()
	text := guide(t)
	for name, into := range map[string]*string{
		"client secret": &v.secret, "body, 88 bytes in UTF-8": &v.body, "`hmac`": &v.signature, "`hmac` of the body `{}`": &v.empty,
		"subscription's secret": &v.hookSecret, "`webhook-id`": &v.hookID, "`webhook-timestamp`": &v.at, "body": &v.hookBody, "`webhook-signature`": &v.hookSignature,
	} {
		m := regexp.MustCompile("(?m)^\\| "+regexp.QuoteMeta(name)+" \\| `(.*)` \\|$").FindAllStringSubmatch(text, -1)
		if len(m) != 1 {
			t.Fatalf("docs/api.md has %d rows for %s in the test vector", len(m), name)
		}
		*into = m[0][1]
	}
	return v
}

// TestVector checks the test vector of the guide against what the engine signs and verifies with.
func TestVector(t *testing.T) {
	v := readVector(t)
	if len(v.body) != 88 {
		t.Errorf("the body has %d bytes", len(v.body))
	}
	for body, want := range map[string]string{
		v.body: v.signature, "{}": v.empty,
		`{"external_id":"order-1", "description":"Devolu\u00e7\u00e3o <b>50% & 1\/2</b> \u2615", "amount":1990}`: v.signature, // another spelling of the same
	} {
		if got, err := httpapi.Sign([]byte(v.secret), []byte(body), false); err != nil || got != want {
			t.Errorf("%s: %s %v", body, got, err)
		}
	}
	hook, err := standardwebhooks.NewWebhook(v.hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseInt(v.at, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hook.Sign(v.hookID, time.Unix(seconds, 0), []byte(v.hookBody)); err != nil || got != v.hookSignature {
		t.Errorf("webhook: %s %v", got, err)
	}
}

// TestVectorPrograms runs the programs of the guide, one in each language, which print the test vector's signatures.
func TestVectorPrograms(t *testing.T) {
	v := readVector(t)
	want := v.signature + "\n" + v.hookSignature + "\n"
	seen := 0
	for _, p := range []struct {
		fence, file string
		programs    []string
		args        []string
		then        []string // what runs what the program has built
	}{
		{"bash", "sign.sh", []string{"bash"}, []string{"sign.sh"}, nil},
		{"js", "sign.mjs", []string{"node"}, []string{"sign.mjs"}, nil},
		{"python", "sign.py", []string{"python3"}, []string{"sign.py"}, nil},
		{"go", "sign.go", []string{"go"}, []string{"run", "sign.go"}, nil},
		{"php", "sign.php", []string{"php"}, []string{"sign.php"}, nil},
		{"java", "Signature.java", []string{"java"}, []string{"Signature.java"}, nil},
		{"csharp", "sign.cs", []string{"mcs"}, []string{"-out:sign.exe", "sign.cs"}, []string{"mono", "sign.exe"}},
	} {
		found := regexp.MustCompile("(?ms)^```"+p.fence+"\n(.*?)^```$").FindAllStringSubmatch(guide(t), -1)
		if len(found) != 1 {
			t.Errorf("docs/api.md has %d programs in %s", len(found), p.fence)
			continue
		}
		seen++
		t.Run(p.fence, func(t *testing.T) {
			program, dir := installed(t, p.programs...), t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, p.file), []byte(found[0][1]), 0o600); err != nil {
				t.Fatal(err)
			}
			out := []byte(nil)
			for _, args := range [][]string{append([]string{program}, p.args...), p.then} {
				if len(args) == 0 {
					continue
				}
				c := exec.CommandContext(t.Context(), args[0], args[1:]...)
				c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
				some, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, some)
				}
				out = append(out, some...)
			}
			if got := string(out); got != want {
				t.Errorf("it prints\n%swant\n%s", got, want)
			}
		})
	}
	if seen != 7 {
		t.Errorf("%d of seven languages", seen)
	}
	if strings.Count(guide(t), "<details>") != strings.Count(guide(t), "</details>") {
		t.Error("a <details> is not closed")
	}
}
