package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// everyProgram is set where a test must fail, and not be skipped, if a program that it runs is not installed: in CI.
const everyProgram = "PIXD_TEST_EVERY_PROGRAM"

// installed returns the path of a program of several names that a test needs.
func installed(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(everyProgram) != "" {
		t.Fatalf("%s is not installed, and %s is set", strings.Join(names, " or "), everyProgram)
	}
	t.Skipf("%s is not installed", strings.Join(names, " or "))
	return ""
}

// tours are the examples: the program, and what it is called with in the folder of the language.
var tours = []struct {
	language string
	program  string
	args     []string
}{
	{"curl", "bash", []string{"tour.sh"}},
	{"node", "node", []string{"tour.mjs"}},
	{"python", "python3", []string{"-B", "tour.py"}}, // -B: Python leaves no __pycache__
	{"go", "go", []string{"run", "."}},
	{"php", "php", []string{"tour.php"}},
	{"java", "java", []string{"Tour.java"}},
}

func examples(name ...string) string {
	return filepath.Join(append([]string{"..", "..", "examples"}, name...)...)
}

// TestExamples runs every example against an engine, and checks there what it says that it did: a charge was paid, a
// payout settled once though it was requested twice, a part of the charge was refunded, and the webhooks were
// acknowledged. With a wrong secret an example fails, and old webhooks are refused though they are signed rightly.
func TestExamples(t *testing.T) {
	p := start(t, filepath.Join(t.TempDir(), "data"), "--webhook-allow-insecure")
	for _, tour := range tours {
		t.Run(tour.language, func(t *testing.T) {
			program := installed(t, tour.program)
			s := p.shop()
			run := func(secret string) ([]byte, *sender, error) {
				hook := waltest.FreePorts(t, 1, 1)[0]
				sender, engine := newSender(t, p.merchant, hook)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				c := exec.CommandContext(ctx, program, tour.args...)
				c.Dir, c.WaitDelay = examples(tour.language), time.Second
				c.Env = append(os.Environ(), "PIXD="+theBinary(), "PIXD_URL="+engine, "PIXD_CLIENT_ID="+s.Client, "PIXD_CLIENT_SECRET="+secret,
					"PIXD_ADMIN="+p.operator, "PIXD_ADMIN_TOKEN="+token, "PIXD_HOOK="+hook, "GOFLAGS=-mod=readonly", "GOWORK=off")
				out, err := c.CombinedOutput()
				return out, sender, err
			}
			if out, _, err := run("sk_wrong"); err == nil {
				t.Errorf("with a wrong secret it ends well:\n%s", out)
			}
			out, sender, err := run(s.Secret)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if tour.language != "curl" { // pixd listen answers every webhook, and tells which are verified
				sender.judge(t)
			}
			s.toured(p, t, string(out))
		})
	}
}

// TestExamplesAreShort checks that each example is one file that can be read at once, and that no language was forgotten.
func TestExamplesAreShort(t *testing.T) {
	known := map[string]bool{ // with tests of their own
		"cluster": true, "nginx": true, "caddy": true, "prometheus": true, "grafana": true,
		"compose": true, // no test: it needs a container engine
	}
	for _, tour := range tours {
		known[tour.language] = true
		file := tour.args[len(tour.args)-1]
		if file == "." {
			file = "main.go"
		}
		text, err := os.ReadFile(examples(tour.language, file))
		if n := strings.Count(string(text), "\n"); err != nil || n < 50 || n > 150 {
			t.Errorf("%s/%s has %d lines (%v)", tour.language, file, n, err)
		}
	}
	entries, err := os.ReadDir(examples())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !known[e.Name()] {
			t.Errorf("no test runs examples/%s", e.Name())
		}
	}
}

// item is a transaction as lists show it.
type item struct {
	TransactionID string `json:"transaction_id"`
	Direction     string `json:"direction"`
	Status        string `json:"status"`
	Amount        int64  `json:"amount"`
	Refunded      int64  `json:"refunded_amount"`
	Description   string `json:"description"`
}

// toured checks the account after a tour.
func (s shop) toured(p *process, t *testing.T, said string) {
	t.Helper()
	var all struct{ Data []item }
	s.read(p, t, "/transactions?type=pix&per_page=100", &all)
	got := map[string]item{}
	for _, i := range all.Data {
		kind := i.TransactionID[:len("PIXOUT")]
		if got[kind].Amount != 0 {
			t.Errorf("more than one %s: %+v", kind, all.Data)
		}
		if i.TransactionID != "" && !strings.Contains(said, i.TransactionID) {
			t.Errorf("%s was not mentioned", i.TransactionID)
		}
		i.TransactionID = ""
		got[kind] = i
	}
	want := map[string]item{
		"PIXINA": {Direction: "inbound", Status: "completed", Amount: 250000, Refunded: 50000, Description: "2 cafés <já> ☕"},
		"PIXOUT": {Direction: "outbound", Status: "settled", Amount: 100000},
		"PIXRET": {Direction: "outbound", Status: "settled", Amount: 50000, Description: "Devolução PIX"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the account has %+v\nwant %+v\nsaid:\n%s", got, want, said)
	}
	if balance, pending := s.balance(p); balance != 1000000000+250000-100000-50000 || pending != 0 {
		t.Errorf("balance %d, pending %d", balance, pending)
	}
	hook := regexp.MustCompile(`(?m)^subscribed (whk_\w+)$`).FindStringSubmatch(said)
	if hook == nil {
		t.Fatalf("it says not what it subscribed:\n%s", said)
	}
	s.delivered(p, t, hook[1], "pix.charge.paid", "pix.payout.confirmed")
}

// delivered checks that events of a subscription were acknowledged at the first attempt.
func (s shop) delivered(p *process, t *testing.T, hook string, kinds ...string) {
	t.Helper()
	var all struct {
		Data []struct {
			Type     string
			Attempts []struct {
				Status int `json:"status_code"`
			}
		}
	}
	for range 100 {
		s.read(p, t, "/webhooks/"+hook+"/deliveries?status=delivered", &all)
		acknowledged := 0
		for _, d := range all.Data {
			if slices.Contains(kinds, d.Type) && len(d.Attempts) == 1 && d.Attempts[0].Status/100 == 2 {
				acknowledged++
			}
		}
		if acknowledged == len(kinds) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("delivered to %s: %+v; want one of each %v", hook, all.Data, kinds)
}

func (s shop) read(p *process, t *testing.T, path string, into any) {
	t.Helper()
	status, got, err := s.ask(p.merchant, path, "", "")
	if err != nil || status != 200 || json.Unmarshal(got, into) != nil {
		t.Fatalf("%s: %d %s %v", path, status, got, err)
	}
}
