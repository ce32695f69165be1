package registry

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestParseWhitelist checks which forms of a whitelist entry are accepted; an entry in any
// other form can never match.
func TestParseWhitelist(t *testing.T) {
	const counts, never = true, false
	for _, c := range []struct {
		entry string
		ok    bool
		has   string // addresses that the entry must allow
		not   string // addresses that the entry must not allow
	}{
		{"127.0.0.1", counts, "127.0.0.1", "127.0.0.2 ::1"},
		{"0.0.0.0", counts, "0.0.0.0", "127.0.0.1"},
		{"10.0.0.0/8", counts, "10.0.0.0 10.255.255.255", "11.0.0.0 ::a"},
		{"10.1.2.3/32", counts, "10.1.2.3", "10.1.2.4"},
		{"0.0.0.0/0", counts, "8.8.8.8", "::1"},
		{"10.0.0.1/8", never, "", ""}, // an IPv4 range with host bits set
		{"10.0.0.0/08", never, "", ""},
		{"10.0.0.0/33", never, "", ""},
		{"10.0.0.0/", never, "", ""},
		{"10.0.0/8", never, "", ""},
		{"010.0.0.1", never, "", ""},
		{"10.0.0.01", never, "", ""},
		{"127.0.0.1 ", never, "", ""},
		{" 127.0.0.1", never, "", ""},
		{"10.0.0.0 /8", never, "", ""},
		{"127.1", never, "", ""},
		{"0x7f.0.0.1", never, "", ""},
		{"127.0.0.1:80", never, "", ""},
		{"", never, "", ""},
		{"*", never, "", ""},
		{"localhost", never, "", ""},

		{"::1", counts, "::1", "::2 127.0.0.1"},
		{"2001:db8::1", counts, "2001:db8::1", "2001:db8::2"},
		{"2001:db8:0:0:0:0:0:1", counts, "2001:db8::1", ""},                    // all eight groups, not padded
		{"2001:0db8:0000:0000:0000:0000:0000:0001", counts, "2001:db8::1", ""}, // all eight groups, padded
		{"2001:db8:0:1:1:1:1:1", counts, "2001:db8:0:1:1:1:1:1", ""},
		{"2001:DB8::1", never, "", ""},
		{"2001:0DB8:0000:0000:0000:0000:0000:0001", never, "", ""},
		{"2001:0db8::1", never, "", ""},            // neither RFC 5952 nor all eight groups
		{"2001:db8:0:0:0:0:0:0001", never, "", ""}, // only some groups are padded
		{"2001:db8::0:1", never, "", ""},
		{"2001:db8::/32", never, "", ""}, // IPv6 ranges are not accepted
		{"::ffff:127.0.0.1", never, "", ""},
		{"fe80::1%eth0", never, "", ""},
		{"[::1]", never, "", ""},
	} {
		p, ok := ParseWhitelist(c.entry)
		if ok != c.ok {
			t.Errorf("%q: counts %v, want %v", c.entry, ok, c.ok)
			continue
		}
		for _, a := range strings.Fields(c.has) {
			if !p.Contains(netip.MustParseAddr(a)) {
				t.Errorf("%q has not %s", c.entry, a)
			}
		}
		for _, a := range strings.Fields(c.not) {
			if p.Contains(netip.MustParseAddr(a)) {
				t.Errorf("%q has %s", c.entry, a)
			}
		}
	}
}

// TestAllows checks that any accepted entry allows its addresses, and that an entry which
// can never match allows none and gives the operator a warning.
func TestAllows(t *testing.T) {
	k := &APIKey{Whitelist: []string{"10.0.0.1/8", "127.0.0.1", "2001:db8::1"}}
	k.prepare(nil)
	for address, want := range map[string]bool{
		"127.0.0.1": true, "2001:db8::1": true, "10.0.0.1": false, "127.0.0.2": false, "::1": false,
	} {
		if k.Allows(netip.MustParseAddr(address)) != want {
			t.Errorf("%s: allowed %v", address, !want)
		}
	}
	if w := k.Warnings(); !slices.Equal(w, []string{`ip_whitelist entry "10.0.0.1/8" can never match`}) {
		t.Errorf("warnings %q", w)
	}
	nobody := &APIKey{}
	nobody.prepare(nil)
	if nobody.Allows(netip.MustParseAddr("127.0.0.1")) || len(nobody.Warnings()) != 0 {
		t.Error("an empty whitelist let somebody in")
	}
}
