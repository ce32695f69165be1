package journal_test

import (
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/journal"
)

const (
	measuredCredits = 500 // of each account
	measuredRecords = populated * (measuredCredits + 2)
)

// measured is the file system, in memory, of an engine that was closed after it had booked credits.
func measured(b *testing.B) *vfs.MemFS {
	disk := vfs.NewMem()
	e, err := engine.Open(engineOn(disk))
	if err != nil {
		b.Fatal(err)
	}
	ids := populate(b, e)
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

// BenchmarkAudit measures the audit of a stopped engine's small journal.
func BenchmarkAudit(b *testing.B) {
	o := journal.AuditOptions{DataDir: "data", FS: measured(b)}
	b.ReportAllocs()
	for b.Loop() {
		r, err := journal.Audit(b.Context(), o)
		if err != nil || len(r.Differences) > 0 || r.Records != measuredRecords {
			b.Fatalf("%+v (%v)", r, err)
		}
	}
	b.ReportMetric(float64(b.N)*measuredRecords/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkVerifyJournal measures the verification of the same journal: all records are verified,
// and all rows are derived again.
func BenchmarkVerifyJournal(b *testing.B) {
	o := journal.VerifyOptions{DataDir: "data", FS: measured(b)}
	b.ReportAllocs()
	for b.Loop() {
		v, err := journal.Verify(o)
		if err != nil || v.Accounts != populated || v.Records < measuredRecords {
			b.Fatalf("%+v (%v)", v, err)
		}
	}
	b.ReportMetric(float64(b.N)*measuredRecords/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkDump measures the dump of the same journal.
func BenchmarkDump(b *testing.B) {
	o := journal.DumpOptions{DataDir: "data", FS: measured(b)}
	b.ReportAllocs()
	for b.Loop() {
		var size counted
		if err := journal.Dump(o, &size); err != nil || size < 100*measuredRecords {
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
