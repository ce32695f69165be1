package control

import (
	"net/http"
	"testing"
)

// BenchmarkGuard measures the check of the operators' token, with the making of the request.
func BenchmarkGuard(b *testing.B) {
	g := newGuarded(b)
	b.ReportAllocs()
	for b.Loop() {
		if status := g.ask("127.0.0.1", "/admin/accounts", "Bearer "+guardToken); status != http.StatusNoContent {
			b.Fatal(status)
		}
	}
}
