package engine

import (
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

const (
	measuredCredits = 500 // of each account
	measuredRecords = crashAccounts * (measuredCredits + 2)
)

// measured is the file system, in memory, of an engine that was closed after it had booked credits.
func measured(b *testing.B) *vfs.MemFS {
	disk := vfs.NewMem()
	e, err := Open(crashConfig(disk))
	if err != nil {
		b.Fatal(err)
	}
	ids, err := populate(e)
	if err != nil {
		b.Fatal(err)
	}
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

// BenchmarkAudit measures the audit of a stopped engine's small journal.
func BenchmarkAudit(b *testing.B) {
	c := crashConfig(measured(b))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Audit(b.Context(), c)
		if err != nil || len(r.Differences) > 0 || r.Records != measuredRecords {
			b.Fatalf("%+v (%v)", r, err)
		}
	}
	b.ReportMetric(float64(b.N)*measuredRecords/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkVerifyJournal measures the verification of the same journal: all records are verified,
// and all rows are derived again.
func BenchmarkVerifyJournal(b *testing.B) {
	at := wal.Options{Dir: "data/" + journalFolder, FS: measured(b), ReadOnly: true}
	b.ReportAllocs()
	for b.Loop() {
		v, err := verify(at, VerifyOptions{})
		if err != nil || v.Accounts != crashAccounts || v.Records < measuredRecords {
			b.Fatalf("%+v (%v)", v, err)
		}
	}
	b.ReportMetric(float64(b.N)*measuredRecords/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkDump measures the dump of the same journal.
func BenchmarkDump(b *testing.B) {
	o := DumpOptions{DataDir: "data", FS: measured(b)}
	b.ReportAllocs()
	for b.Loop() {
		var size counted
		if err := Dump(o, &size); err != nil || size < 100*measuredRecords {
			b.Fatal(size, err)
		}
	}
}

// counted counts the bytes that are written to it.
type counted int

var _ io.Writer = new(counted)

func (c *counted) Write(p []byte) (int, error) {
	*c += counted(len(p))
	return len(p), nil
}

// BenchmarkScrape measures the text of the engine's own metrics.
func BenchmarkScrape(b *testing.B) {
	m := newMeters()
	b.ReportAllocs()
	for b.Loop() {
		if text := m.text(b); !strings.Contains(text, "pixd_alerts_total") {
			b.Fatal(text)
		}
	}
}
