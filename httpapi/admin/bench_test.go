package admin

import (
	"strings"
	"testing"
)

// BenchmarkRead measures the operator API's reads of one account, and of a page of accounts.
func BenchmarkRead(b *testing.B) {
	f := newFixture(b)
	path := f.create()
	for range 19 {
		f.create()
	}
	for _, c := range []struct{ of, path, want string }{
		{"account", path, `{"account_id":"acc_`}, {"accounts", "/admin/accounts?limit=20", `{"data":[{"account_id":"acc_`},
	} {
		b.Run("of="+c.of, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if status, got := f.send("GET", c.path, ""); status != 200 || !strings.HasPrefix(got, c.want) {
					b.Fatal(status, got)
				}
			}
		})
	}
}
