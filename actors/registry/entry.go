package registry

import (
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"pixd/actors/ledger"
)

// Account is an account as the registry knows it.
type Account struct {
	ID        ledger.AccountID `cbor:"1,keyasint"`
	Active    bool             `cbor:"2,keyasint,omitempty"`
	CreatedAt ledger.Millis    `cbor:"3,keyasint"`
	Opening   *ledger.Settings `cbor:"4,keyasint"` // what it is to be opened under, should a crash come between

	PixKeys []string `cbor:"-"` // in order of their reservation; the first names the account in QR codes
	APIKeys []string `cbor:"-"` // client ids, in order of their making
}

// APIKey is a credential. The secret itself is never kept.
type APIKey struct {
	ClientID    string           `cbor:"1,keyasint"`
	Account     ledger.AccountID `cbor:"2,keyasint"`
	SecretHash  [32]byte         `cbor:"3,keyasint"` // SHA-256 of the secret as presented
	Permissions Permissions      `cbor:"4,keyasint,omitempty"`
	Whitelist   []string         `cbor:"5,keyasint,omitempty"` // as given
	ExpiresAt   ledger.Millis    `cbor:"6,keyasint,omitempty"` // 0: never
	Signing     bool             `cbor:"7,keyasint,omitempty"` // false: no POST works with it
	Active      bool             `cbor:"8,keyasint,omitempty"`
	CreatedAt   ledger.Millis    `cbor:"9,keyasint"`

	allowed []netip.Prefix
	uses    *uses
}

// uses are a key's; every entry that a change puts in its place shares them.
type uses struct {
	last     atomic.Int64 // instant of the newest; 0: never
	reported atomic.Int64 // the newest that NewUses has told, or that was remembered
}

// Allows tells whether the whitelist has the address, which must be unmapped.
func (k *APIKey) Allows(ip netip.Addr) bool {
	for _, p := range k.allowed {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// Used notes an instant at which the key was used.
func (k *APIKey) Used(at ledger.Millis) { k.uses.last.Store(int64(at)) }

// LastUsed is the newest such instant, of this process or remembered from an
// earlier one; 0 where there is none.
func (k *APIKey) LastUsed() ledger.Millis { return ledger.Millis(k.uses.last.Load()) }

// Warnings names the whitelist entries that can never match.
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

// prepare works out what reads need from what is stored.
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

// ParseWhitelist reads an entry in one of the spellings that count: an IPv4
// address or CIDR in its canonical text (no host bits set), or an IPv6 address
// in its RFC 5952 text or its full eight groups in lower case, padded or not.
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

// unpadded is the eight groups of an IPv6 address without leading zeros.
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
	Key        string           `cbor:"1,keyasint"` // as the directory spells it
	Type       ledger.KeyType   `cbor:"2,keyasint"`
	Account    ledger.AccountID `cbor:"3,keyasint"`
	CreatedAt  ledger.Millis    `cbor:"4,keyasint"`
	Registered bool             `cbor:"5,keyasint,omitempty"` // the scheme knows it
}

// Permissions is a set of them. Bit values are stored.
type Permissions uint16

// The permissions.
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

// AllPermissions is what "*" grants.
const AllPermissions = StatementRead<<1 - 1

var permissionNames = []string{
	"pix:write", "pix:read", "transfer:write", "transfer:read", "payment:write",
	"payment:read", "account:write", "account:read", "statement:read",
}

// ParsePermissions reads a list of names, or ["*"]; it returns the first name
// that it does not know.
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

// Has tells whether all of q are in the set.
func (p Permissions) Has(q Permissions) bool { return p&q == q }
