package recordjson

import (
	"testing"

	"pixd/actors/ledger"
)

// BenchmarkAppendLedger measures the line of a record in a dump of the journal.
func BenchmarkAppendLedger(b *testing.B) {
	for _, k := range []ledger.RecordKind{ledger.PayoutHeld, ledger.PayoutSettled} {
		b.Run("record="+k.String(), func(b *testing.B) {
			r := ledger.Record{Account: 7, Seq: 300, Time: goldenTime, Kind: k}
			if err := r.Decode(body(b, "ledger", k.String())); err != nil {
				b.Fatal(err)
			}
			size := len(AppendLedger(nil, 12, &r))
			var line []byte
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if line = AppendLedger(line[:0], 12, &r); len(line) != size {
					b.Fatal(string(line))
				}
			}
		})
	}
}
