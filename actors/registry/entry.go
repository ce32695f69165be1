package registry

import (
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// Account is the registry's entry for an account.
type Account struct {
	ID        pix.AccountID    `cbor:"1,keyasint"`
	Active    bool             `cbor:"2,keyasint,omitempty"`
	CreatedAt pix.Millis       `cbor:"3,keyasint"`
	Opening   *ledger.Settings `cbor:"4,keyasint"` // settings with which the account is opened; kept so that a crash before the opening loses nothing

	PixKeys []string `cbor:"-"` // in the order in which they were reserved; the first key is in the account's QR codes
	APIKeys []string `cbor:"-"` // client ids, in the order in which the API keys were made
}

// APIKey is a merchant's credential for the API. Only a hash of the secret is kept, in memory too.
type APIKey struct {
	ClientID    string        `cbor:"1,keyasint"`
	Account     pix.AccountID `cbor:"2,keyasint"`
	SecretHash  [32]byte      `cbor:"3,keyasint"` // SHA-256 of the secret as the client sends it
	Permissions Permissions   `cbor:"4,keyasint,omitempty"`
	Whitelist   []string      `cbor:"5,keyasint,omitempty"` // the entries as the operator wrote them; see ParseWhitelist
	ExpiresAt   pix.Millis    `cbor:"6,keyasint,omitempty"` // when the key expires; 0: never
	Signing     bool          `cbor:"7,keyasint,omitempty"` // false: no POST request works with this key
	Active      bool          `cbor:"8,keyasint,omitempty"`
	CreatedAt   pix.Millis    `cbor:"9,keyasint"`

	allowed []netip.Prefix
	uses    *uses
}

// uses has the times at which an API key was used. When a changed entry replaces the entry
// of a key, both entries share one uses.
type uses struct {
	last     atomic.Int64 // time of the newest use; 0: never
	reported atomic.Int64 // time of the use that newUses reported last, or that remember set
}

// Allows tells whether the whitelist includes the address. The address must not be an
// IPv4-mapped IPv6 address.
func (k *APIKey) Allows(ip netip.Addr) bool {
	for _, p := range k.allowed {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// Used notes that the key was used at a time.
func (k *APIKey) Used(at pix.Millis) { k.uses.last.Store(int64(at)) }

// LastUsed returns the time of the newest use; 0: never used. A use by an earlier process
// counts once Registry.LoadUses has read it.
func (k *APIKey) LastUsed() pix.Millis { return pix.Millis(k.uses.last.Load()) }

// Warnings describes those whitelist entries that no address can match.
func (k *APIKey) Warnings() []string {
	warnings := []string{}
	for _, w := range k.Whitelist {
		if _, ok := ParseWhitelist(w); !ok {
			warnings = append(warnings, "ip_whitelist entry "+quote(w)+" can never match")
		}
	}
	return warnings
}

func quote(s string) string { return `"` + s + `"` }

// prepare parses the whitelist for Allows and sets the key's uses to u, or to new ones where
// u is nil.
func (k *APIKey) prepare(u *uses) {
	k.allowed = nil
	for _, w := range k.Whitelist {
		if p, ok := ParseWhitelist(w); ok {
			k.allowed = append(k.allowed, p)
		}
	}
	if u == nil {
		u = new(uses)
	}
	k.uses = u
}

// ParseWhitelist parses a whitelist entry in one of the accepted forms: an IPv4 address or
// CIDR in its canonical text (no host bits set), or an IPv6 address in its RFC 5952 text or
// with all eight groups in lower case, either all padded with zeros or none.
func ParseWhitelist(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		ok := p.Addr().Is4() && p.Masked() == p && p.String() == s
		return p, ok
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" || a.Is4In6() {
		return netip.Prefix{}, false
	}
	if a.String() == s || a.Is6() && (a.StringExpanded() == s || unpadded(a) == s) {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	return netip.Prefix{}, false
}

// unpadded writes an IPv6 address as eight groups without leading zeros.
func unpadded(a netip.Addr) string {
	groups := strings.Split(a.StringExpanded(), ":")
	for i, g := range groups {
		if groups[i] = strings.TrimLeft(g, "0"); groups[i] == "" {
			groups[i] = "0"
		}
	}
	return strings.Join(groups, ":")
}

// PixKey is a PIX key that belongs to an account of this service.
type PixKey struct {
	Key        string        `cbor:"1,keyasint"` // as the directory spells it
	Type       pix.KeyType   `cbor:"2,keyasint"`
	Account    pix.AccountID `cbor:"3,keyasint"`
	CreatedAt  pix.Millis    `cbor:"4,keyasint"`
	Registered bool          `cbor:"5,keyasint,omitempty"` // the scheme has registered the key

	reserved uint64 // sequence of the record that reserved the key; it tells apart reservations of one key before and after a removal
	moved    bool   // the key was removed from an account before it was reserved
}

// Permissions is a set of permissions. Its bit values are stored.
type Permissions uint16

// The permissions of an API key.
const (
	PixWrite Permissions = 1 << iota
	PixRead
	TransferWrite
	TransferRead
	PaymentWrite
	PaymentRead
	AccountWrite
	AccountRead
	StatementRead
)

// AllPermissions is the set that "*" grants.
const AllPermissions = StatementRead<<1 - 1

var permissionNames = []string{
	"pix:write", "pix:read", "transfer:write", "transfer:read", "payment:write",
	"payment:read", "account:write", "account:read", "statement:read",
}

// ParsePermissions parses a list of permission names, or ["*"]. If it returns false, the
// string is the first unknown name.
func ParsePermissions(names []string) (Permissions, string, bool) {
	var p Permissions
	for _, n := range names {
		if n == "*" {
			p |= AllPermissions
			continue
		}
		i := slices.Index(permissionNames, n)
		if i < 0 {
			return 0, n, false
		}
		p |= 1 << i
	}
	return p, "", true
}

// Names lists the set in the documented order.
func (p Permissions) Names() []string {
	names := []string{}
	for i, n := range permissionNames {
		if p&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// Has tells whether p contains all permissions of q.
func (p Permissions) Has(q Permissions) bool { return p&q == q }
