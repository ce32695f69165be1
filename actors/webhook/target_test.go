package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	public4 = "93.184.215.14"
	public6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
)

// resolving returns a resolver that knows every name by the same addresses, and takes no
// text for an address that is none in its usual form.
func resolving(addrs ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) (all []netip.Addr, err error) {
		for _, a := range addrs {
			all = append(all, netip.MustParseAddr(a))
		}
		return all, nil
	}
}

// hostile lists one address or more of every range that must not be called.
var hostile = []string{
	"127.0.0.1", "127.255.255.254", // loopback
	"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", // private
	"169.254.0.1", "169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", // link-local, metadata
	"100.64.0.1", "100.127.255.255", // carrier-grade NAT
	"0.0.0.0", "0.1.2.3", "255.255.255.255", "240.0.0.1", "224.0.0.1", "239.255.255.255",
	"192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "192.88.99.1",
	"::", "::1", "::7f00:1", "::127.0.0.1", // unspecified, loopback, IPv4-compatible
	"::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
	"64:ff9b::7f00:1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", // NAT64
	"2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::", "2001:0:4136:e378:8000:63bf:80ff:fffe", // 6to4, Teredo
	"fe80::1", "febf::1", "fe80::1%eth0", "::1%lo", public6 + "%eth0", "fec0::1", // link-local, zones, site-local
	"fc00::1", "fd00::1", "fd00:ec2::254", "fd20:ce::254", // private, metadata
	"ff02::1", "ff0e::1", "ff01::1", // multicast
	"2001:db8::1", "3fff::1", "100::1", "2001:2::1", "2001:10::1", "2001:20::1", "5f00::1", "4000::1",
}

// bracketed returns the host of a URL for an address.
func bracketed(a string) string {
	if !strings.Contains(a, ":") {
		return a
	}
	return "[" + strings.ReplaceAll(a, "%", "%25") + "]"
}

// TestHostileAddresses checks that an address which is not public is refused as a URL's
// host, as what a name resolves to, also beside a public address, and when it is dialled; and
// that all this is allowed to insecure targets.
func TestHostileAddresses(t *testing.T) {
	for _, a := range hostile {
		to, network := "https://"+bracketed(a)+":8443/hook", "tcp4"
		if strings.Contains(a, ":") {
			network = "tcp6"
		}
		dialled := net.JoinHostPort(a, "8443")
		for _, resolve := range []func(context.Context, string) ([]netip.Addr, error){resolving(a), resolving(public4, a)} {
			strict, loose := NewTargets(false, resolve), NewTargets(true, resolve)
			for _, u := range []string{to, "https://merchant.example/hook"} {
				if err := strict.Check(t.Context(), 1, u); !errors.Is(err, errAddress) {
					t.Errorf("%s at %s: %v", u, a, err)
				}
				if err := loose.Check(t.Context(), 1, u); err != nil {
					t.Errorf("%s at %s, insecure: %v", u, a, err)
				}
			}
			if err := NewTargets(false, resolving(public4)).Check(t.Context(), 1, to); !errors.Is(err, errAddress) {
				t.Errorf("%s: %v although no name is to be resolved", to, err)
			}
			if err := strict.Control(network, dialled, nil); !errors.Is(err, errRefused) {
				t.Errorf("dialling %s: %v", dialled, err)
			}
			if err := loose.Control(network, dialled, nil); err != nil {
				t.Errorf("dialling %s, insecure: %v", dialled, err)
			}
		}
	}
}

// TestPublicAddresses checks that public addresses are allowed, on any port.
func TestPublicAddresses(t *testing.T) {
	for _, a := range []string{public4, public6, "1.1.1.1", "172.32.0.1", "100.128.0.1", "2a00:1450:4001:81b::200e"} {
		network := "tcp4"
		if strings.Contains(a, ":") {
			network = "tcp6"
		}
		targets := NewTargets(false, resolving(a))
		for _, err := range []error{
			targets.Check(t.Context(), 1, "https://"+bracketed(a)+":1/"),
			targets.Check(t.Context(), 1, "https://merchant.example"),
			targets.Control(network, net.JoinHostPort(a, "65535"), nil),
		} {
			if err != nil {
				t.Errorf("%s: %v", a, err)
			}
		}
	}
	for _, c := range [][2]string{{"udp4", public4 + ":53"}, {"tcp4", public4}, {"unix", "/run/x"}} {
		if err := NewTargets(false, nil).Control(c[0], c[1], nil); !errors.Is(err, errRefused) {
			t.Errorf("dialling %v: %v", c, err)
		}
	}
}

// TestURLs checks the form of URLs, with names that all resolve to a public address.
func TestURLs(t *testing.T) {
	targets := NewTargets(false, resolving(public4, public6))
	long := "https://merchant.example/" + strings.Repeat("a", maxURL-len("https://merchant.example/"))
	for u, want := range map[string]error{
		"https://merchant.example":                           nil,
		"HTTPS://MERCHANT.Example:443/a//b/../c?x=%2F&y=":    nil,
		"https://merchant.example./":                         nil,
		"https://merchant.example?":                          nil,
		"https://xn--caf-dma.example/":                       nil,
		"https://0xabc.my_host-1.example:65535/":             nil,
		"https://" + public4 + "/":                           nil,
		"https://[" + public6 + "]:9/":                       nil,
		"https://merchant.0xyz/":                             nil,
		"https://0x5db8d70e.example/":                        nil,
		long:                                                 nil,
		long + "a":                                           errLength,
		"":                                                   errForm,
		"merchant.example":                                   errForm,
		"//merchant.example/":                                errForm,
		"/hook":                                              errForm,
		"https:":                                             errForm,
		"https:merchant.example":                             errForm,
		"https:///hook":                                      errForm,
		"https://:443/hook":                                  errForm,
		"http://merchant.example/":                           errHTTP,
		"HTTP://merchant.example":                            errHTTP,
		"ftp://merchant.example/":                            errForm,
		"file:///etc/passwd":                                 errForm,
		"gopher://merchant.example/":                         errForm,
		"https://user:pass@merchant.example/":                errCredentials,
		"https://user@merchant.example/":                     errCredentials,
		"https://@merchant.example/":                         errCredentials,
		"https://merchant.example/#a":                        errFragment,
		"https://merchant.example/#":                         errFragment,
		"https://merchant.example:0/":                        errPort,
		"https://merchant.example:65536/":                    errPort,
		"https://merchant.example:/":                         errPort,
		"https://merchant.example:99999999999999999999/":     errPort,
		"https://merchant.example:-1/":                       errForm,
		"https://merchant.example:https/":                    errForm,
		"https://merchant.example/a b":                       errCharacters,
		"https://merchant.example/?a b":                      errCharacters,
		"https://merchant.example/?a\r\nX: y":                errCharacters,
		"https://merchant.example/\x00":                      errCharacters,
		"https://merchant.example/\x7f":                      errCharacters,
		"https://merchant.example/é":                         errCharacters,
		"https://merchant.example/%":                         errCharacters,
		"https://merchant.example/?%4":                       errCharacters,
		"https://merchant.example/?%zz":                      errCharacters,
		"https://merchant.example/a|b":                       errCharacters,
		"https://merchant.example\\@127.0.0.1/":              errCharacters,
		" https://merchant.example/":                         errCharacters,
		"https://café.example/":                              errCharacters,
		"https://１２７.0.0.1/":                                 errCharacters,
		"https://caf%C3%A9.example/":                         errHost,
		"https://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/":         errHost,
		"https://%31%32%37.0.0.1/":                           errForm,
		"https://2130706433/":                                errHost,
		"https://017700000001/":                              errHost,
		"https://0x7f000001/":                                errHost,
		"https://0X7F000001./":                               errHost,
		"https://0x7f.1/":                                    errHost,
		"https://127.0x1/":                                   errHost,
		"https://127.0.0.0x/":                                errHost,
		"https://127.1/":                                     errHost,
		"https://0177.0.0.1/":                                errHost,
		"https://127.0.0.01/":                                errHost,
		"https://127.0.0.1./":                                errHost,
		"https://127.0.0.256/":                               errHost,
		"https://1.2.3.4.5/":                                 errHost,
		"https://[127.0.0.1]/":                               errForm,
		"https://[localhost]/":                               errForm,
		"https://[v1.fe]/":                                   errForm,
		"https://merchant..example/":                         errHost,
		"https://.example/":                                  errHost,
		"https://./":                                         errHost,
		"https://merchant.example../":                        errHost,
		"https://a,b/":                                       errHost,
		"https://*/":                                         errHost,
		"https://" + strings.Repeat("a", 64) + ".example/":   errHost,
		"https://a" + strings.Repeat(".example", 1000) + "/": errLength,
	} {
		if err := targets.Check(t.Context(), 1, u); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", u, err, want)
		}
	}
}

// TestInsecureURLs checks that insecure targets may be called by http, and at private
// addresses, and that all other rules stay.
func TestInsecureURLs(t *testing.T) {
	targets := NewTargets(true, nil)
	for _, u := range []string{"http://127.0.0.1:8080/", "https://[::1]/", "http://localhost/", "http://10.0.0.1/"} {
		if err := targets.Check(t.Context(), 1, u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range []string{"ftp://127.0.0.1/", "http://2130706433/", "http://a:b@127.0.0.1/", "http://127.0.0.1:0/", "http://127.0.0.1/#a"} {
		if targets.Check(t.Context(), 1, u) == nil {
			t.Errorf("%s was accepted", u)
		}
	}
}

// TestSystemResolver checks that names for loopback are refused in every spelling.
func TestSystemResolver(t *testing.T) {
	targets := NewTargets(false, nil)
	for _, host := range []string{"localhost", "LOCALHOST", "LocalHost.", "localhost:8443"} {
		if err := targets.Check(t.Context(), 1, "https://"+host+"/"); !errors.Is(err, errAddress) {
			t.Errorf("%s: %v", host, err)
		}
	}
	addrs, err := targets.lookup(t.Context(), "localhost")
	if err != nil || len(addrs) == 0 {
		t.Fatal(addrs, err)
	}
	for _, a := range addrs {
		if a.Is4In6() {
			t.Errorf("%s is IPv4-mapped: a public one would be refused", a)
		}
	}
}

// TestLookup checks that a name must resolve, and within two seconds, and that the error is
// the same as for a private address.
func TestLookup(t *testing.T) {
	for name, resolve := range map[string]func(context.Context, string) ([]netip.Addr, error){
		"no addresses": resolving(),
		"an error": func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(public4)}, errors.New("no such host")
		},
		"no answer": func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if err := NewTargets(false, resolve).Check(context.Background(), 1, "https://merchant.example/"); !errors.Is(err, errAddress) {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); (took == lookupTime) != (name == "no answer") {
				t.Errorf("%s took %v", name, took)
			}
		})
	}
}

// TestTextsForMerchants checks that errors name the field and repeat nothing of the URL.
func TestTextsForMerchants(t *testing.T) {
	for _, u := range []string{
		"https://hunter2:hunter2@h/", "https://h/hunter2#", "https://h:0/hunter2", "https://hunter2..h/", "hunter2",
		"https://h/\nhunter2", "https://hunter2/", "https://h/hunter2" + strings.Repeat("a", maxURL),
	} {
		err := NewTargets(false, resolving("10.0.0.1")).Check(t.Context(), 1, u)
		if err == nil || !strings.HasPrefix(err.Error(), "url must ") || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "10.0") {
			t.Errorf("%q: %v", u, err)
		}
	}
}

// FuzzURLs checks that a URL in an accepted form is sent exactly as it was given.
func FuzzURLs(f *testing.F) {
	f.Add("https://merchant.example/a//b/../c?x=%2F&y=")
	f.Add("https://h//?[]@!$&'()*+,;=:~")
	f.Add("https://h/%zz%2f[%5B]?")
	f.Add("https://h?a?b")
	targets := NewTargets(false, resolving(public4))
	f.Fuzz(func(t *testing.T, raw string) {
		if targets.Check(t.Context(), 1, raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		target := raw[len("https://")+len(u.Host):]
		if !strings.HasPrefix(target, "/") {
			target = "/" + target // HTTP has no request without a path
		}
		if u.RequestURI() != target {
			t.Errorf("%q is sent as %q", raw, u.RequestURI())
		}
	})
}
