package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"pixd/actors/fair"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Targets decides which URLs and addresses may be called. It is safe for concurrent use.
type Targets struct {
	insecure bool
	resolve  func(ctx context.Context, host string) ([]netip.Addr, error) // nil: the system's resolver
	guard    *ssrf.Guardian
	checks   *fair.Pool[pix.AccountID] // names that Check resolves; an attempt's look-up is a part of the attempt, whose number is bounded
}

// azureHost is the address at which a virtual machine in Azure reaches the services of its
// host, among them credentials of the machine. It lies in a public range, so that no registry
// of special addresses has it.
var azureHost = netip.MustParsePrefix("168.63.129.16/32")

// NewTargets returns targets that must be public addresses, called by https. If insecure is
// set, http and every address are allowed too; this is for development. resolve replaces the
// system's resolver, for Check and for every connection, and must end when its ctx does; nil:
// the system's resolver.
func NewTargets(insecure bool, resolve func(ctx context.Context, host string) ([]netip.Addr, error)) *Targets {
	return &Targets{
		insecure: insecure, resolve: resolve, guard: ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureHost)),
		checks: fair.New[pix.AccountID](fair.Bounds{Places: maxLookups, Share: maxAccountLookups}),
	}
}

// Lookups returns how many names Check is resolving, and how often there was no place for one more.
func (t *Targets) Lookups() fair.Counts { return t.checks.Counts() }

const (
	maxURL     = 2048            // characters
	lookupTime = 2 * time.Second // the longest time in which Check resolves a name

	maxLookups        = 32 // names that Check resolves at once; each takes a few file descriptors
	maxAccountLookups = 2  // of these, for one account, so that no account delays the others
)

// The errors of Check. Merchants read them. A name that does not resolve and a name that
// resolves to a private address have one error, so that nobody can find out by subscribing
// which names exist in the network of the engine.
var (
	errLength      = fmt.Errorf("url must have at most %d characters", maxURL)
	errCharacters  = errors.New("url must consist of characters that a URL may have; others must be percent-encoded")
	errForm        = errors.New("url must be an absolute URL such as https://merchant.example/webhooks")
	errHTTP        = errors.New("url must begin with https://: https only, http:// is taken in development alone")
	errCredentials = errors.New("url must not contain credentials")
	errFragment    = errors.New("url must not contain a fragment")
	errPort        = errors.New("url must have a port from 1 to 65535, or none")
	errHost        = errors.New("url must have a host name in ASCII, or an IP address in its usual form")
	errAddress     = fmt.Errorf("url must have a host that resolves within %v to public addresses only", lookupTime)
)

// errRefused is in every error of Control. Merchants read it of a failed attempt, also where
// the name does not resolve at all, so that attempts do not tell either which names exist in
// the network of the engine.
var errRefused = errors.New("the host does not resolve to a public address")

// Check returns nil if raw may become the target of a subscription of the account. Otherwise
// the error's text is for the merchant, under the field url; it repeats nothing of raw. Check
// resolves the host's name within 2 s; every one of its addresses must be allowed.
// ledger.ErrBusy: nothing was found out, because too many names are being resolved already, 2
// for this account or 32 in all.
func (t *Targets) Check(ctx context.Context, id pix.AccountID, raw string) error {
	u, err := t.parse(raw)
	if err != nil {
		return err
	}
	if t.checks.Take(ctx, id) != nil { // without a place there is none at once, because no queue has room
		return ledger.ErrBusy
	}
	defer t.checks.Give(id)
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addrs, err := t.lookup(ctx, u.Hostname())
	if err != nil || len(addrs) == 0 {
		return errAddress
	}
	for _, a := range addrs {
		if t.judge(a) != nil {
			return errAddress
		}
	}
	return nil
}

// Control is the Control function of a net.Dialer, which calls it with the very address that
// it is about to connect to. Its error says that the address is not allowed.
func (t *Targets) Control(network, address string, c syscall.RawConn) error {
	if t.insecure {
		return nil
	}
	if err := t.guard.Safe(network, address, c); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return nil
}

// judge returns an error if the address is not allowed.
func (t *Targets) judge(a netip.Addr) error {
	if t.insecure {
		return nil
	}
	return t.guard.SafeAddr(a)
}

// lookup returns the addresses of a host, which is a name or an IP address.
func (t *Targets) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if t.resolve != nil {
		return t.resolve(ctx, host)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i, a := range addrs {
		addrs[i] = a.Unmap() // the resolver may write IPv4 addresses in their IPv4-mapped form
	}
	return addrs, err
}

// parse checks everything about a URL that needs no lookup.
func (t *Targets) parse(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, errLength
	}
	if !wellFormed(raw) {
		return nil, errCharacters
	}
	u, err := url.Parse(raw)
	switch {
	case err == nil && u.Scheme == "http" && !t.insecure:
		return nil, errHTTP
	case err != nil || u.Scheme != "https" && u.Scheme != "http":
		return nil, errForm
	case u.User != nil:
		return nil, errCredentials
	case u.Hostname() == "":
		return nil, errForm
	case strings.Contains(raw, "#"):
		return nil, errFragment
	case !validPort(u):
		return nil, errPort
	case !validHost(u):
		return nil, errHost
	}
	return u, nil
}

// wellFormed reports whether s has only the characters of RFC 3986, and two hexadecimal
// digits after each percent sign. net/url sends exactly these URLs as they were given; it
// would encode some other characters, and send a space in a query as it is.
func wellFormed(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%':
			if len(s) < i+3 || !hexadecimal(s[i+1:i+3]) {
				return false
			}
		case !letterOrDigit(c) && !strings.ContainsRune("-._~:/?#[]@!$&'()*+,;=", rune(c)):
			return false
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// hexadecimal reports whether s consists of hexadecimal digits; it may be empty.
func hexadecimal(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// validPort reports whether the URL has a port from 1 to 65535, or none.
func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// validHost reports whether the host is an IP address in its usual form, or a name of
// letters, digits, dashes and underscores that nobody could read as an address: some
// resolvers take 2130706433, 0x7f.1 and 0177.0.0.1 for 127.0.0.1.
func validHost(u *url.URL) bool {
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	for _, l := range labels {
		if !validLabel(l) {
			return false
		}
	}
	last := strings.ToLower(labels[len(labels)-1])
	hex, isHex := strings.CutPrefix(last, "0x")
	return strings.Trim(last, "0123456789") != "" && (!isHex || !hexadecimal(hex))
}

// validLabel reports whether s may stand between the dots of a name.
func validLabel(s string) bool {
	for _, c := range []byte(s) {
		if !letterOrDigit(c) && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 63
}
