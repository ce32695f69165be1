package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-json"

	"pixd/cmd/operator"
)

// target is the engine that is loaded.
type target struct {
	Target
	addr     string      // of the merchant API, as host:port
	host     string      // for the Host header
	tls      *tls.Config // nil: plain HTTP
	operator *operator.Client
	sim      *operator.Client // of the simulator, where customers pay
	ip       netip.Addr       // the merchant API's address
	own      net.IP           // this machine's address on the way there
	from     []netip.Addr     // source addresses
}

// mostAhead is the greatest difference between the engine's clock and this machine's.
const mostAhead = 5 * time.Second

// find looks for the engine: it connects to its merchant API and asks its operator API.
func find(ctx context.Context, o *Options) (*target, error) {
	u, err := url.Parse(o.Target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("--target %q: a URL such as http://127.0.0.1:8080 or https://pixd.example", o.Target)
	}
	t := &target{Target: Target{URL: u.Scheme + "://" + u.Host}, host: u.Host, operator: pooled(o.Operator)}
	t.sim = t.operator
	if o.Sim != nil {
		t.sim = pooled(o.Sim)
	}
	port := u.Port()
	if u.Scheme == "https" {
		t.tls = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
		if o.TargetTrust != nil {
			t.tls = o.TargetTrust.Clone()
			t.tls.ServerName = u.Hostname()
		}
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if err := t.connect(ctx, u.Hostname(), port); err != nil {
		return nil, err
	}
	if err := t.greet(ctx); err != nil {
		return nil, err
	}
	return t, t.know(ctx)
}

// pooled returns a client that keeps as many connections as are used at once.
func pooled(o *operator.Client) *operator.Client {
	pool := http.DefaultTransport.(*http.Transport).Clone()
	if o.HTTP != nil {
		if own, ok := o.HTTP.Transport.(*http.Transport); ok {
			pool = own.Clone()
		}
	}
	pool.MaxIdleConnsPerHost, pool.MaxIdleConns = atOnce, 0
	kept := *o
	kept.HTTP = operator.NewHTTP(pool)
	return &kept
}

// connect finds the merchant API's address, and this machine's on the way to it.
func (t *target) connect(ctx context.Context, host, port string) error {
	d := net.Dialer{Timeout: dialTimeout}
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			err = op.Err
		}
		return fmt.Errorf("no engine answers at %s: %w", t.URL, err)
	}
	defer func() { _ = c.Close() }()
	t.ip = c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	t.own = c.LocalAddr().(*net.TCPAddr).IP
	t.addr = netip.AddrPortFrom(t.ip, uint16(c.RemoteAddr().(*net.TCPAddr).Port)).String() //nolint:gosec // a port
	return nil
}

// greet asks the merchant API for a balance without a key, which it must refuse as pixd does.
func (t *target) greet(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL+"/api/external/balance", nil)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: dialTimeout, Transport: &http.Transport{TLSClientConfig: t.tls, DisableKeepAlives: true}}
	a, err := client.Do(r)
	if err != nil {
		if of := (*url.Error)(nil); errors.As(err, &of) {
			err = of.Err
		}
		return fmt.Errorf("no answer from %s: %w", t.URL, err)
	}
	defer func() { _ = a.Body.Close() }()
	var refused struct{ Error *struct{ Status int } }
	if err := json.NewDecoder(a.Body).Decode(&refused); err != nil || refused.Error == nil || a.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("%s answers %s: it is no merchant API of pixd", t.URL, a.Status)
	}
	at, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		return fmt.Errorf("%s answers without a usable Date: %w", t.URL, err)
	}
	return t.sameTime(at, time.Second)
}

// sameTime compares a time that the engine has stated just now, rounded down to a multiple of
// unit, with this machine's clock.
func (t *target) sameTime(at time.Time, unit time.Duration) error {
	ahead, word := at.Sub(time.Now().Truncate(unit)), "ahead of"
	if ahead < 0 {
		ahead, word = -ahead, "behind"
	}
	if ahead <= mostAhead {
		return nil
	}
	return fmt.Errorf("the clock of %s is %v %s this machine's, at most %v are allowed: set one of them", t.URL, ahead.Round(time.Second), word, mostAhead)
}

// know asks the operator API what the engine is, and whether the token is right.
func (t *target) know(ctx context.Context) error {
	raw, err := t.operator.Do(ctx, http.MethodGet, "/version", nil)
	if err == nil {
		err = json.Unmarshal(raw, &t.Target)
	}
	if err != nil {
		return err
	}
	_, err = t.operator.Do(ctx, http.MethodGet, "/admin/alerts?limit=1", nil)
	return err
}

// spread chooses n source addresses. Within one machine they are different ones of 127.0.0.0/8;
// to other machines there is only one.
func (t *target) spread(n int) error {
	if !t.ip.Is4() || !t.ip.IsLoopback() {
		if n > 1 {
			return fmt.Errorf("--ips %d: only a --target in 127.0.0.0/8 can be reached from many addresses of this machine", n)
		}
		return nil
	}
	t.from = make([]netip.Addr, n)
	for i := range t.from {
		t.from[i] = netip.AddrFrom4([4]byte{127, byte(1 + i>>16), byte(i >> 8), byte(i)}) //nolint:gosec // n is at most mostAddresses
	}
	if n == 1 {
		t.from = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	}
	return nil
}

// whitelist is what API keys must allow for the load to come in.
func (t *target) whitelist() []string {
	if t.from != nil {
		return []string{"127.0.0.0/8"}
	}
	return []string{t.own.String()}
}

// spareFiles is how many files the generator opens beside its connections.
const spareFiles = 64

// roomFor returns an error if this process may not open so many connections.
func roomFor(connections int) error {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return nil //nolint:nilerr // the system does not say: then too many show as errors of the load
	}
	if uint64(connections)+spareFiles > files.Cur { //nolint:gosec // not negative
		return fmt.Errorf("--connections %d: this process may open %d files in all (ulimit -n), and needs %d of them for other things", connections, files.Cur, spareFiles)
	}
	return nil
}
