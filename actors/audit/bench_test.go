package audit

import "testing"

// BenchmarkAccount measures the audit of an account that has records of nearly every kind: its
// records one after the other, and then the comparison with its rows.
func BenchmarkAccount(b *testing.B) {
	l := whole(b)
	b.Run("do=records", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a := NewAccount(l.account.ID)
			for i := range l.records {
				a.Record(&l.records[i])
			}
			if a.Records != uint64(len(l.records)) || a.Totals != l.account.Totals {
				b.Fatalf("%d records, %+v", a.Records, a.Totals)
			}
		}
		b.ReportMetric(float64(b.N)*float64(len(l.records))/b.Elapsed().Seconds(), "records/s")
	})
	b.Run("do=whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if a := l.audit(); len(a.found) > 0 {
				b.Fatal(a.found)
			}
		}
	})
}
