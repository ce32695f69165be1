package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pixd/httpapi"
)

// binary is the path of the program, built once for all tests of this package.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(slowReadsVariable) != "" {
		playSlowReads()
	}
	if os.Getenv(etcdVariable) != "" {
		playEtcd()
	}
	dir, err := os.MkdirTemp("", "pixd")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "pixd")
	if out, err := exec.Command("go", "build", "-pgo=off", "-o", binary, ".").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build: %v\n%s", err, out))
	}
	code := m.Run()
	endBrowser()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// theBinary returns the program's path, after reading the names and times of its source
// files: go test remembers which files a test looked at, and would otherwise reuse an old
// result after a change of the program, because these tests run it and do not link it.
var theBinary = sync.OnceValue(func() string {
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".mod", ".sum", ".html", ".css", ".js", ".py", ".mjs", ".php", ".java", ".sh", ".yaml", ".md":
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	return binary
})

// process is one running `pixd serve` or `pixd sim`, and what it has printed.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	dir      string
	merchant string
	operator string // base URL of the operator API, or of the simulator's API in the case of `pixd sim`
	out      printed

	mu     sync.Mutex
	said   strings.Builder
	ready  chan struct{}
	exited chan error
}

var readyLine = regexp.MustCompile(`msg=ready (?:(?:node=\S+ )?merchant=(\S+) operator|simulator)=(\S+)`)

// Write implements io.Writer for the process's standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said.Write(b)
	if p.operator != "" {
		return len(b), nil
	}
	if m := readyLine.FindStringSubmatch(p.said.String()); m != nil {
		p.merchant, p.operator = "http://"+m[1], "http://"+m[2]
		close(p.ready)
	}
	return len(b), nil
}

// printed collects standard output, which can be read while the process runs.
type printed struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (o *printed) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *printed) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// until waits until standard output contains a text, and returns everything printed so far.
func (o *printed) until(t *testing.T, text string) string {
	t.Helper()
	for range 1000 {
		if s := o.String(); strings.Contains(s, text) {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%q was never printed:\n%s", text, o.String())
	return ""
}

func (p *process) words() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

const (
	token      = "a-token-of-the-tests"
	schemeWord = "a secret that engine and scheme share"
)

// settleDelay is the simulator's delay before a settlement in these tests: so long that the answer
// to the request, which waits for a sync or two, comes first.
const settleDelay = "400ms"

// launch starts the engine on free ports and does not wait until it is ready.
func launch(t *testing.T, dir string, flags ...string) *process {
	t.Helper()
	return prepared(t, dir, flags...).begin()
}

// prepared returns a process of the engine on free ports that is not started yet.
func prepared(t *testing.T, dir string, flags ...string) *process {
	t.Helper()
	args := append([]string{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--sim-settle-delay", settleDelay}, flags...)
	p := &process{t: t, cmd: exec.Command(theBinary(), args...), dir: dir, ready: make(chan struct{}), exited: make(chan error, 1)}
	if !slices.Contains(flags, "--demo") { // with --demo the engine is given no token and makes one
		p.cmd.Env = append(os.Environ(), "PIXD_ADMIN_TOKEN="+token, "PIXD_SCHEME_SECRET="+schemeWord)
	}
	return p
}

// begin starts the process. The end of the test ends it at the latest.
func (p *process) begin() *process {
	t := p.t
	t.Helper()
	p.cmd.Stderr, p.cmd.Stdout = p, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.exited <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

func start(t *testing.T, dir string, flags ...string) *process {
	t.Helper()
	return launch(t, dir, flags...).awaitReady()
}

func (p *process) awaitReady() *process {
	t := p.t
	t.Helper()
	select {
	case <-p.ready:
	case err := <-p.exited:
		t.Fatalf("ended (%v) before it was ready:\n%s", err, p.words())
	case <-time.After(20 * time.Second):
		t.Fatalf("never ready:\n%s", p.words())
	}
	return p
}

// end sends a signal, waits until the process has ended, and returns the exit code.
func (p *process) end(s syscall.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.exited:
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
	case <-time.After(20 * time.Second): // no test keeps a request in hand for so long
		p.t.Fatalf("still there 20 s after %v:\n%s", s, p.stuck())
	}
	return p.cmd.ProcessState.ExitCode()
}

// stuck ends a process that does not end by itself, and returns what it has said, with what each of its goroutines does.
func (p *process) stuck() string {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case err := <-p.exited:
		p.t.Log(err)
	case <-time.After(5 * time.Second):
	}
	return p.words()
}

// runFor is how long the program may run that ends by itself.
var runFor = time.Minute

// progressLines are what a command that takes ten seconds or more, as on a busy machine, says of its progress.
var progressLines = regexp.MustCompile(`(?m)^([a-z]+ing|book|checksum|files|records|rows|tables|\d+\.\d MB)(: [^\n]*)?, (\d+m)?\d+s\n`)

// run runs the program until it ends by itself, and returns what it wrote but for its progress.
func run(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	return runAt(t, "", env, args...)
}

// runAt runs the program in a folder until it ends by itself.
func runAt(t *testing.T, dir string, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	c := exec.Command(theBinary(), args...)
	c.Dir = dir
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Env = append(os.Environ(), env...)
	done := make(chan error, 1)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
	case <-time.After(runFor):
		_ = c.Process.Kill()
		t.Fatalf("pixd %s does not end:\n%s", strings.Join(args, " "), stderr.String())
	}
	return c.ProcessState.ExitCode(), stdout.String(), progressLines.ReplaceAllString(stderr.String(), "")
}

// client trusts every certificate, because other tests check which certificates the program's
// own clients trust.
var client = &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{
	MaxIdleConnsPerHost: 64, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
}}

func send(method, url string, body []byte, headers ...string) (int, []byte, error) {
	r, err := newRequest(method, url, body, headers...)
	if err != nil {
		return 0, nil, err
	}
	return do(client, r)
}

func newRequest(method, url string, body []byte, headers ...string) (*http.Request, error) {
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r, nil
}

func do(c *http.Client, r *http.Request) (int, []byte, error) {
	answer, err := c.Do(r)
	if err != nil {
		return 0, nil, err
	}
	got, err := io.ReadAll(answer.Body)
	return answer.StatusCode, got, errors.Join(err, answer.Body.Close())
}

// operate sends a request to the operator API, and holds it against its document.
func (p *process) operate(method, path, body string) (int, []byte, error) {
	r, err := newRequest(method, p.operator+path, []byte(body), "Authorization", "Bearer "+token, "Content-Type", "application/json")
	if err != nil {
		return 0, nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	got, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && strings.HasPrefix(path, "/admin") {
		hold(p.t, contracts().operator, r, answer, got)
	}
	return answer.StatusCode, got, err
}

// made posts to the operator API and reads the answer, which must have status 201.
func (p *process) made(path, body string, into any) {
	p.t.Helper()
	status, got, err := p.operate("POST", path, body)
	if err != nil || status != 201 {
		p.t.Fatalf("%s: %d %s %v", path, status, got, err)
	}
	if into != nil {
		if err := json.Unmarshal(got, into); err != nil {
			p.t.Fatal(err)
		}
	}
}

// shop is a merchant: an account with a credential and a PIX key.
type shop struct {
	ID     string `json:"account_id"`
	Client string `json:"client_id"`
	Secret string `json:"client_secret"`
	Key    string // the account's first PIX key
}

func (p *process) shop() shop {
	p.t.Helper()
	var s shop
	p.made("/admin/accounts", `{"name":"Loja","document":"12345678909"}`, &s)
	p.made("/admin/accounts/"+s.ID+"/api-keys", `{"permissions":["*"],"ip_whitelist":["127.0.0.1"]}`, &s)
	p.made("/admin/accounts/"+s.ID+"/credits", `{"amount":1000000000,"type":"ted","reference":"start"}`, nil)
	var key struct {
		Key string `json:"key"`
	}
	p.made("/admin/accounts/"+s.ID+"/pix-keys", `{"key_type":"evp"}`, &key)
	s.Key = key.Key
	return s
}

// ask sends a merchant's request: a signed POST, or a GET where the body is empty. The answer is held against
// the merchants' document.
func (s shop) ask(base, path, body, idempotency string) (int, []byte, error) {
	r, err := s.request(base, path, body, idempotency)
	if err != nil {
		return 0, nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	got, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil {
		err = held(contracts().merchant, r, answer, got)
	}
	return answer.StatusCode, got, err
}

func (s shop) request(base, path, body, idempotency string) (*http.Request, error) {
	headers := []string{"Authorization", "ApiKey " + s.Client + ":" + s.Secret}
	if body == "" {
		return newRequest("GET", base+"/api/external"+path, nil, headers...)
	}
	signed, err := httpapi.Sign([]byte(s.Secret), []byte(body), false)
	if err != nil {
		return nil, err
	}
	headers = append(headers, "hmac", signed, "Content-Type", "application/json", "Idempotency-Key", idempotency)
	return newRequest("POST", base+"/api/external"+path, []byte(body), headers...)
}

// balance returns the account's balance and its pending amount, in base units.
func (s shop) balance(p *process) (balance, pending int64) {
	p.t.Helper()
	var b struct{ Balance, Pending int64 }
	status, got, err := s.ask(p.merchant, "/balance", "", "")
	if err != nil || status != 200 || json.Unmarshal(got, &b) != nil {
		p.t.Fatalf("balance: %d %s %v", status, got, err)
	}
	return b.Balance, b.Pending
}
