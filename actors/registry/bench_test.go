package registry

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
)

const measuredAccounts = 1000

// measured is a registry of accounts with an API key each, on a file system in memory.
func measured(b *testing.B) *Registry {
	g := open(b, openStore(b, vfs.NewMem()))
	for n := range measuredAccounts {
		id := register(b, g, n+1).ID
		k := APIKey{
			ClientID: fmt.Sprint("cli_", n), Account: id, SecretHash: sha256.Sum256([]byte("secret")), Permissions: AllPermissions,
			Whitelist: []string{"192.0.2.0/24", "127.0.0.1"}, Signing: true, Active: true,
		}
		if _, err := g.MakeAPIKey(k); err != nil {
			b.Fatal(err)
		}
	}
	return g
}

// BenchmarkLookup measures what a request asks of the registry: its API key, the address in the
// key's whitelist, the account, and the note that the key was used.
func BenchmarkLookup(b *testing.B) {
	g := measured(b)
	ids := make([]string, measuredAccounts)
	for n := range ids {
		ids[n] = fmt.Sprint("cli_", n)
	}
	from, n := netip.MustParseAddr("127.0.0.1"), 0
	b.ReportAllocs()
	for b.Loop() {
		k, ok := g.APIKey(ids[n%measuredAccounts])
		if !ok || !k.Allows(from) {
			b.Fatal(k, ok)
		}
		if a, ok := g.Account(k.Account); !ok || !a.Active {
			b.Fatal(a, ok)
		}
		k.Used(fixed() + pix.Millis(n))
		n++
	}
}

// BenchmarkPixKey measures the question whether a payout's key is registered here.
func BenchmarkPixKey(b *testing.B) {
	g := measured(b)
	for _, c := range []struct {
		name  string
		value string
	}{{"ours", evp(7).Value}, {"foreign", "ana@example.com"}} {
		b.Run("key="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := g.PixKey(c.value); ok != (c.name == "ours") {
					b.Fatal(ok)
				}
			}
		})
	}
}

// BenchmarkReserveEndToEnd measures the reservation of an end-to-end id that a merchant has
// chosen, with its journal entry, and the repeat of one by the same account.
func BenchmarkReserveEndToEnd(b *testing.B) {
	for _, repeat := range []bool{false, true} {
		b.Run(fmt.Sprintf("repeat=%v", repeat), func(b *testing.B) {
			g := measured(b)
			n := 0
			if ok, err := g.ReserveEndToEnd(1, e2eID(n)); !ok || err != nil {
				b.Fatal(ok, err)
			}
			before := g.ids.machine.Seq
			b.ReportAllocs()
			for b.Loop() {
				if !repeat {
					n++
				}
				if ok, err := g.ReserveEndToEnd(1, e2eID(n)); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
			if made := g.ids.machine.Seq - before; made != uint64(n) {
				b.Fatalf("%d records of %d", made, n)
			}
		})
	}
}

// BenchmarkOpen measures the reading of the registry at a start.
func BenchmarkOpen(b *testing.B) {
	g := measured(b)
	b.ReportAllocs()
	for b.Loop() {
		again, err := Open(g.journal, fixed)
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := again.APIKey("cli_999"); !ok {
			b.Fatal("a key is missing")
		}
	}
}
