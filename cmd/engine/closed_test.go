package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/cmd/overload"
	"pixd/docs/openapi"
	"pixd/docs/openapi/openapitest"
	"pixd/httpapi"
	"pixd/wal"
)

// harness is a served engine on the test's file system, with one merchant.
type harness struct {
	*Served
	t   *testing.T
	ID  string `json:"account_id"`
	Key string `json:"client_id"`
	Sec string `json:"client_secret"`
	EVP string `json:"key"`

	stop func() // ends the engine, once; the end of the test calls it too
}

func newHarness(t *testing.T, fs wal.FS, changes ...func(*Config)) *harness {
	t.Helper()
	w := serveHarness(t, fs, changes...)
	w.setUp()
	return w
}

// serveHarness starts the engine, without a merchant, on the file system as it is.
func serveHarness(t *testing.T, fs wal.FS, changes ...func(*Config)) *harness {
	t.Helper()
	c := Defaults()
	c.DataDir, c.FS, c.AdminToken = "data", fs, "token"
	c.Listen, c.AdminListen, c.SettleDelay = "127.0.0.1:0", "127.0.0.1:0", time.Millisecond
	c.Log, c.OnFailure = slog.New(slog.DiscardHandler), func(err error) { t.Error(err) }
	for _, change := range changes {
		change(&c)
	}
	s, err := Serve(c, Build{})
	if err != nil {
		t.Fatal(err)
	}
	w := &harness{Served: s, t: t}
	w.stop = sync.OnceFunc(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

func (w *harness) setUp() {
	w.t.Helper()
	w.made("/admin/accounts", `{"name":"Loja","document":"12345678909"}`)
	w.made("/admin/accounts/"+w.ID+"/api-keys", `{"permissions":["*"],"ip_whitelist":["127.0.0.1"]}`)
	w.made("/admin/accounts/"+w.ID+"/pix-keys", `{"key_type":"evp"}`)
	w.made("/admin/accounts/"+w.ID+"/credits", `{"amount":1000000,"type":"ted"}`)
}

func (w *harness) send(method, url, body string, headers ...string) (int, string, http.Header) {
	w.t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: 20 * time.Second}
	resp, err := client.Do(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	got, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		w.t.Fatal(err)
	}
	w.hold(openapitest.Exchange{
		Method: method, URL: r.URL.RequestURI(), RequestHeader: r.Header, Request: []byte(body), Status: resp.StatusCode, Header: resp.Header, Answer: got,
	}, r.URL.Host)
	return resp.StatusCode, string(got), resp.Header
}

// documents are those of the listeners, by what the paths begin with.
var documents = sync.OnceValue(func() map[string]*openapitest.Contract {
	all := map[string]*openapitest.Contract{}
	for prefix, of := range map[string]openapi.Document{"/api/external/": openapi.Merchant, "/admin/": openapi.Operator, "/sim/": openapi.Simulator} {
		c, err := openapitest.New(of.YAML)
		if err != nil {
			panic(err)
		}
		all[prefix] = c
	}
	return all
})

// hold checks a request to one of the engine's listeners, and its answer, against the listener's document.
func (w *harness) hold(e openapitest.Exchange, host string) {
	w.t.Helper()
	for prefix, c := range documents() {
		if strings.HasPrefix(e.URL, prefix) && (host == w.MerchantAddr.String()) == (prefix == "/api/external/") {
			if err := c.Check(e); err != nil {
				w.t.Error(err)
			}
		}
	}
}

func (w *harness) operate(method, path, body string) (int, string) {
	w.t.Helper()
	status, got, _ := w.send(method, "http://"+w.AdminAddr.String()+path, body, "Authorization", "Bearer token", "Content-Type", "application/json")
	return status, got
}

func (w *harness) made(path, body string) {
	w.t.Helper()
	if status, got := w.operate("POST", path, body); status != 201 || json.Unmarshal([]byte(got), w) != nil {
		w.t.Fatalf("%s: %d %s", path, status, got)
	}
}

// charge posts a charge as the merchant.
func (w *harness) charge() (int, string, http.Header) {
	w.t.Helper()
	const body = `{"amount":100}`
	mac, err := httpapi.Sign([]byte(w.Sec), []byte(body), false)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.send("POST", "http://"+w.MerchantAddr.String()+"/api/external/pix/cash-in", body,
		"Authorization", "ApiKey "+w.Key+":"+w.Sec, "hmac", mac, "Content-Type", "application/json")
}

func (w *harness) balance() (int, string) {
	w.t.Helper()
	status, got, _ := w.send("GET", "http://"+w.MerchantAddr.String()+"/api/external/balance", "", "Authorization", "ApiKey "+w.Key+":"+w.Sec)
	return status, got
}

// refusing reports whether new work is refused. A refusal must have the documented form and
// the given reason.
func (w *harness) refusing(why string) bool {
	status, got, header := w.charge()
	if status == 200 {
		return false
	}
	if want := fmt.Sprintf(`{"error":{"status":503,"message":%q}}`, why); status != 503 || got != want || header.Get("Retry-After") != "1" {
		w.t.Errorf("%d %s %v", status, got, header)
	}
	return true
}

// soon is how long a test waits for what comes at once: a busy machine may take seconds.
const soon = 20 * time.Second

// becomes waits until a condition holds.
func (w *harness) becomes(what string, within time.Duration, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	w.t.Fatalf("not within %v: %s", within, what)
}

// TestLowDisk checks that with too little free space new work is refused and all other
// requests are still served.
func TestLowDisk(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 2 << 30})
	w := newHarness(t, fs)
	if w.refusing("") {
		t.Fatal("refused before")
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1<<30 - 1})
	w.becomes("refused", 3*time.Second, func() bool { return w.refusing(overload.ClosedDisk) })
	if status, got := w.balance(); status != 200 || !strings.Contains(got, `"balance":1000000,`) {
		t.Errorf("a read: %d %s", status, got)
	}
	if status, got := w.operate("POST", "/admin/accounts/"+w.ID+"/credits", `{"amount":5,"type":"ted"}`); status != 201 {
		t.Errorf("an operator's credit: %d %s", status, got)
	}
	if status, got := w.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":70}`, w.EVP)); status != 201 {
		t.Errorf("a payment: %d %s", status, got)
	}
	w.becomes("credited", 3*time.Second, func() bool { _, got := w.balance(); return strings.Contains(got, `"balance":1000075,`) })
	if _, got := w.operate("GET", "/metrics", ""); !strings.Contains(got, `pixd_alerts_total{kind="low_disk"} 1`) ||
		!strings.Contains(got, `pixd_http_requests_total{listener="merchant",status="503"}`) ||
		!strings.Contains(got, `pixd_pool_in_use{pool="lists"} 0`) || !strings.Contains(got, `pixd_pool_in_use{pool="receipts"} 0`) {
		t.Errorf("metrics: %s", got)
	}
	if status, got := w.operate("GET", "/admin/alerts?since=2026-01-01T00:00:00Z", ""); status != 200 || strings.Count(got, `"kind":"low_disk"`) != 1 ||
		!strings.Contains(got, `"account_id":null,"transaction_id":null,"message":"little disk is free`) {
		t.Errorf("alerts: %d %s", status, got)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 30})
	w.becomes("taken", 3*time.Second, func() bool { return !w.refusing(overload.ClosedDisk) })
}

// hanging is a file system on which syncs of the journal can be made to hang.
type hanging struct {
	wal.FS
	until atomic.Pointer[chan struct{}]
}

func newHanging() *hanging {
	h := &hanging{}
	h.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if c := h.until.Load(); c != nil && strings.HasPrefix(op.Path, "data/journal/") {
				<-*c
			}
		}
		return nil
	}))
	return h
}

// hang makes syncs hang until release is called.
func (h *hanging) hang() (release func()) {
	c := make(chan struct{})
	h.until.Store(&c)
	return func() { h.until.Store(nil); close(c) }
}

// TestHangingSync checks that new work is refused at once while a commit hangs longer than
// the limit (five seconds; in this test less), and that waiting requests are answered when
// the commit is done.
func TestHangingSync(t *testing.T) {
	t.Parallel()
	fs := newHanging()
	w := newHarness(t, fs, func(c *Config) { c.commitLimit = 500 * time.Millisecond })
	if w.refusing("") {
		t.Fatal("refused before")
	}
	release := fs.hang()
	first := make(chan int, 1)
	go func() { status, _, _ := w.charge(); first <- status }()
	w.becomes("closed", 10*time.Second, func() bool { return w.admission.Closed() != "" })
	asked := time.Now()
	if !w.refusing(overload.ClosedStalled) || time.Since(asked) > time.Second {
		t.Errorf("refused after %v", time.Since(asked))
	}
	release()
	if status := <-first; status != 200 {
		t.Errorf("what waited: %d", status)
	}
	w.becomes("taken", 2*time.Second, func() bool { return !w.refusing(overload.ClosedStalled) })
}

// TestReady checks that the probes are answered from the start to the end of the process,
// and report readiness only while the engine serves.
func TestReady(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr()
	_ = free.Close()
	fs := newHanging()
	release := fs.hang()
	c := Defaults()
	c.DataDir, c.FS, c.AdminToken, c.Listen, c.AdminListen = "data", fs, "token", "127.0.0.1:0", addr.String()
	c.Log, c.OnFailure = slog.New(slog.DiscardHandler), func(err error) { t.Error(err) }
	served := make(chan *Served, 1)
	go func() {
		s, err := Serve(c, Build{})
		if err != nil {
			t.Error(err)
		}
		served <- s
	}()
	w := &harness{t: t, Served: &Served{AdminAddr: addr}}
	probe := func(path string) int { status, _, _ := w.send("GET", "http://"+addr.String()+path, ""); return status }
	w.becomes("alive", soon, func() bool { return probe("/healthz") == 200 })
	if ready, metrics := probe("/readyz"), probe("/metrics"); ready != 503 || metrics != 503 {
		t.Errorf("while it restores: ready %d, metrics %d", ready, metrics)
	}
	stop, scraped := make(chan struct{}), make(chan struct{})
	go func() { // reads /metrics while the engine starts
		defer close(scraped)
		for {
			select {
			case <-stop:
				return
			default:
				probe("/metrics")
			}
		}
	}()
	release()
	if w.Served = <-served; w.Served == nil {
		t.Fatal("it does not serve")
	}
	w.becomes("ready", soon, func() bool { return probe("/readyz") == 200 })
	close(stop)
	<-scraped
	if status := probe("/metrics"); status != 200 {
		t.Errorf("metrics %d", status)
	}
	w.setUp()
	release = fs.hang() // while the sync hangs, one request stays in hand
	first := make(chan int, 1)
	go func() { status, _, _ := w.charge(); first <- status }()
	w.becomes("in hand", soon, func() bool { return w.meters.merchant.InHand.Load() == 1 })
	done := make(chan error, 1)
	go func() { done <- w.Shutdown() }()
	w.becomes("not ready", soon, func() bool { return probe("/readyz") == 503 })
	if status := probe("/healthz"); status != 200 {
		t.Errorf("while it ends: health %d", status)
	}
	release()
	if status, err := <-first, <-done; status != 200 || err != nil {
		t.Errorf("in hand: %d; %v", status, err)
	}
}
