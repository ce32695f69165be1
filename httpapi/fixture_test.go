package httpapi

import (
	"bytes"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/valyala/fasthttp"

	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
)

const (
	testNow    = pix.Millis(1_790_000_000_000)
	testSecret = "sk_the-secret"
	testEVP    = "0b6e4c1e-8f7a-4d3b-9c2a-1f2e3d4c5b6a"
	merchant   = pix.AccountID(7)
	dormant    = pix.AccountID(8)
)

// fakeEngine gives the answer and the error that a test sets, and keeps the commands that it
// was given.
type fakeEngine struct {
	answer  ledger.Answer
	err     error
	command ledger.Command
	account pix.AccountID
	all     []ledger.Command
}

func (e *fakeEngine) Do(a pix.AccountID, c ledger.Command) (ledger.Answer, error) {
	if p, is := c.(ledger.RequestPayout); is && p.Trial && e.err == nil && e.answer.Refusal == nil && e.answer.Stored == nil {
		return ledger.Answer{}, nil
	}
	e.account, e.command, e.all = a, c, append(e.all, c)
	return e.answer, e.err
}

type fakeHistory map[string]*ledger.Transaction

func (h fakeHistory) Transaction(a pix.AccountID, id string) (*ledger.Transaction, error) {
	switch {
	case id == "broken":
		return nil, errRows
	case id == "late":
		return nil, layout.ErrTooLong
	case a != merchant:
		return nil, nil
	}
	return h[id], nil
}

// fakeCases are the special-return cases of the account merchant, the newest first.
type fakeCases []*ledger.Case

func (h fakeCases) Case(a pix.AccountID, id string) (*ledger.Case, error) {
	switch id {
	case "broken":
		return nil, errRows
	case "late":
		return nil, layout.ErrTooLong
	}
	for _, k := range h {
		if a == merchant && k.ID.String() == id {
			return k, nil
		}
	}
	return nil, nil
}

func (h fakeCases) Cases(a pix.AccountID, status pix.CaseStatus, page, perPage int) (all []*ledger.Case, err error) {
	for _, k := range h {
		if a == merchant && (status == 0 || k.Status == status) {
			all = append(all, k)
		}
	}
	all = all[min((page-1)*perPage, len(all)):]
	return all[:min(perPage, len(all))], nil
}

// lookups is the History of a fixture.
type lookups struct {
	fakeHistory
	*fakeCases
	*fakeLists
}

// Cases fails as the lists do.
func (l lookups) Cases(a pix.AccountID, status pix.CaseStatus, page, perPage int) ([]*ledger.Case, error) {
	if l.err != nil {
		return nil, l.err
	}
	return l.fakeCases.Cases(a, status, page, perPage)
}

// fixture is the merchant API in front of a fake engine, with a registry of its own.
type fixture struct {
	t       testing.TB
	engine  *fakeEngine
	history fakeHistory
	cases   fakeCases
	lists   fakeLists
	banks   Banks
	keys    *registry.Registry
	handler fasthttp.RequestHandler
	closed  string
	busy    string
	modest  pix.AccountID
	turned  int
	now     pix.Millis
	madeUp  bool // the engine's answers are no answers, and not held against the document
}

// queueing has times that are not whole seconds, because an operator may set such times.
var queueing = Queueing{Retry: 2001 * time.Millisecond, TTL: 90*time.Minute - time.Nanosecond}

const testRate = 1000 // the limit of requests, and of failed credentials, of one address in a minute

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, engine: &fakeEngine{}, history: fakeHistory{}, keys: openRegistry(t, openStore(t)), now: testNow}
	f.handler = New(f.options())
	return f
}

func (f *fixture) options() Options {
	return Options{
		Engine: f.engine, History: lookups{f.history, &f.cases, &f.lists}, Registry: f.keys, ISPB: "99999004", Banks: f.banks, Renderer: Renderer{queueing},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		RateLimit:      testRate, FailedAuthLimit: testRate,
		Closed: func() string { return f.closed },
		Busy:   func() string { return f.busy },
		Modest: func(id pix.AccountID) bool { return id == f.modest },
		Turned: func() { f.turned++ },
		Now:    func() pix.Millis { return f.now }, Log: slog.New(slog.DiscardHandler),
	}
}

func openStore(t testing.TB) *wal.Store {
	t.Helper()
	store, err := wal.Open(wal.Options{Dir: "data", FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// openRegistry returns a registry with an active account, a dormant one, and an API key for
// each way in which a check of credentials, address or permission can fail. The secret of
// all keys is testSecret.
func openRegistry(t testing.TB, store *wal.Store) *registry.Registry {
	t.Helper()
	g, err := registry.Open(store, func() pix.Millis { return testNow })
	if err != nil {
		t.Fatal(err)
	}
	settings := ledger.DefaultSettings()
	settings.Name, settings.Document = "Padaria São João", "12345678000195"
	claim := func(id pix.AccountID, active bool, key string) {
		if _, err := g.RegisterAccount(id, active, settings, pix.Key{Type: pix.KeyEVP, Value: key}); err != nil {
			t.Fatal(err)
		}
	}
	claim(merchant, true, testEVP)
	claim(dormant, false, "5f0f6a1e-1111-4222-8333-444455556666")
	for id, k := range map[string]registry.APIKey{
		"cli_all":      {},
		"cli_empty":    {Whitelist: []string{}},
		"cli_far":      {Whitelist: []string{"203.0.113.9"}},
		"cli_mute":     {Signing: false},
		"cli_balance":  {Permissions: registry.AccountRead},
		"cli_expired":  {ExpiresAt: testNow},
		"cli_lasting":  {ExpiresAt: testNow + 1},
		"cli_revoked":  {},
		"cli_dormant":  {Account: dormant},
		"cli_nothing":  {Permissions: registry.PixRead},
		"cli_v6":       {Whitelist: []string{"2001:db8::1"}},
		"cli_networks": {Whitelist: []string{"192.0.2.0/24", "198.51.100.7/32", " 127.0.0.1", "127.0.0.001", "127.0.0.1/8"}},
	} {
		makeKey(t, g, id, k)
	}
	if _, err := g.ChangeAPIKey("cli_revoked", func(k *registry.APIKey) { k.Active, k.ExpiresAt = false, 1 }); err != nil {
		t.Fatal(err)
	}
	return g
}

func makeKey(t testing.TB, g *registry.Registry, id string, k registry.APIKey) {
	t.Helper()
	k.ClientID, k.SecretHash = id, sha256.Sum256([]byte(testSecret))
	k.Signing = id != "cli_mute"
	if k.Account == 0 {
		k.Account = merchant
	}
	if k.Permissions == 0 {
		k.Permissions = registry.AllPermissions
	}
	if k.Whitelist == nil {
		k.Whitelist = []string{"127.0.0.1"}
	}
	if _, err := g.MakeAPIKey(k); err != nil {
		t.Fatal(err)
	}
}

// sent is a request. For each empty field send uses the value that a good request has.
type sent struct {
	method, path string
	client       string
	body         string
	ip           string
	headers      []string // name, value, …; a value "-" removes the header
}

type got struct {
	status int
	body   string
	header func(string) string
}

func (f *fixture) send(s sent) got {
	f.t.Helper()
	var req fasthttp.Request
	req.SetRequestURI(s.path)
	if s.method == "" {
		s.method = "POST"
	}
	if s.client == "" {
		s.client = "cli_all"
	}
	if s.ip == "" {
		s.ip = "127.0.0.1"
	}
	req.Header.SetMethod(s.method)
	req.Header.Set("Authorization", "ApiKey "+s.client+":"+testSecret)
	if s.method == "POST" || s.method == "PATCH" {
		req.Header.SetContentType("application/json")
		req.SetBodyString(s.body)
		if mac, err := Sign([]byte(testSecret), []byte(s.body), false); err == nil {
			req.Header.Set("hmac", mac)
		}
	}
	for i := 0; i < len(s.headers); i += 2 {
		req.Header.Del(s.headers[i])
	}
	for i := 0; i < len(s.headers); i += 2 {
		if s.headers[i+1] != "-" {
			req.Header.Add(s.headers[i], s.headers[i+1])
		}
	}
	return f.serve(&req, s.ip)
}

func (f *fixture) serve(req *fasthttp.Request, ip string) got {
	f.t.Helper()
	at := string(req.RequestURI())
	var ctx fasthttp.RequestCtx
	ctx.Init(req, &net.TCPAddr{IP: net.ParseIP(ip), Port: 40000}, nil)
	f.handler(&ctx)
	header := func(name string) string { return string(ctx.Response.Header.Peek(name)) }
	if kind := header("Content-Type"); kind != typeJSON && (kind != typePDF || !bytes.HasPrefix(ctx.Response.Body(), []byte("%PDF-"))) {
		f.t.Errorf("%s %s: Content-Type %q", req.Header.Method(), req.RequestURI(), kind)
	}
	f.hold(at, &ctx.Request, &ctx.Response)
	return got{ctx.Response.StatusCode(), string(ctx.Response.Body()), header}
}

// expect sends a request and compares status and body; a want that ends in … is a prefix of
// the body.
func (f *fixture) expect(s sent, status int, want string) got {
	f.t.Helper()
	g := f.send(s)
	prefix, open := strings.CutSuffix(want, "…")
	if g.status != status || g.body != want && (!open || !strings.HasPrefix(g.body, prefix)) {
		f.t.Errorf("%s %s %v:\n got %d %s\nwant %d %s", s.method, s.path, s.headers, g.status, g.body, status, want)
	}
	return g
}

const (
	cashIn   = "/api/external/pix/cash-in"
	cashOut  = "/api/external/pix/cash-out"
	balance  = "/api/external/balance"
	payBody  = `{"amount":1000,"pix_key":"a@b.com"}`
	someBody = `{"amount":1000}`
)

func head() *ledger.Account {
	return &ledger.Account{ID: merchant, Totals: ledger.Totals{Balance: 500, Held: 120, MEDHeld: 30}}
}

func keyFor(ips ...string) registry.APIKey { return registry.APIKey{Whitelist: ips} }

func keyOf(a pix.AccountID) registry.APIKey { return registry.APIKey{Account: a} }

func newAccount(t *testing.T, f *fixture) pix.AccountID {
	t.Helper()
	const id, key = pix.AccountID(9), "77777777-1111-4222-8333-444455556666"
	settings := ledger.DefaultSettings()
	settings.Name, settings.Document = "Outra", "12345678909"
	if _, err := f.keys.RegisterAccount(id, true, settings, pix.Key{Type: pix.KeyEVP, Value: key}); err != nil {
		t.Fatal(err)
	}
	return id
}

// rows reads the store on behalf of accounts.
type rows struct{ *wal.Store }

func (r rows) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(r.Store, a, seq)
}
