package engine

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

const (
	measuredCredits = 500 // of each account
	measuredRecords = crashAccounts * (measuredCredits + 2)
)

// measured is the file system, in memory, of an engine that was closed after it had booked credits.
func measured(b *testing.B) *vfs.MemFS {
	disk := vfs.NewMem()
	e, ids := openPopulated(b, crashConfig(disk))
	for range measuredCredits {
		for _, id := range ids {
			if _, err := e.Accounts.Do(id, ledger.Credit{Kind: pix.TxTED, Amount: 7}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	return disk
}

// BenchmarkStart measures the start of an engine, without its listeners, on a small journal that
// was closed, the first answer of an account, and the clean end.
func BenchmarkStart(b *testing.B) {
	disk := measured(b)
	b.ReportAllocs()
	for b.Loop() {
		e, err := Open(crashConfig(disk))
		if err != nil {
			b.Fatal(err)
		}
		if a, err := e.Accounts.Do(1, ledger.ReadAccount{}); err != nil || a.Head.Totals.Balance != 10_000_000+7*measuredCredits {
			b.Fatal(a, err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScrape measures the text of the engine's own metrics.
func BenchmarkScrape(b *testing.B) {
	m := newMeters(slog.New(slog.DiscardHandler))
	b.ReportAllocs()
	for b.Loop() {
		if text := m.text(b); !strings.Contains(text, "pixd_alerts_total") {
			b.Fatal(text)
		}
	}
}
