package registry

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/wal"
)

// counted counts the records that are read.
type counted struct {
	Journal
	records int
}

func (c *counted) Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error {
	return c.Journal.Read(stream, from, prev, func(r wal.Record) error {
		c.records++
		return fn(r)
	})
}

// TestStartReadsNoReservation checks that a start reads the records of accounts and keys alone,
// however many end-to-end ids were reserved, and that each id still belongs to its account,
// before the filter over them is filled and after that.
func TestStartReadsNoReservation(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	g := open(t, s)
	register(t, g, 1)
	register(t, g, 2)
	before := &counted{Journal: s}
	open(t, before)
	const n = 200
	for i := range n {
		if ok, err := g.ReserveEndToEnd(1, e2eID(i)); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	after := &counted{Journal: s}
	again := open(t, after)
	if before.records == 0 || after.records != before.records {
		t.Errorf("a start reads %d records, and before the reservations %d", after.records, before.records)
	}
	for _, filled := range []bool{false, true} {
		if filled {
			if err := again.FillReservations(s.Scan, func() bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
		if again.MayBeReserved(e2eID(n)) == filled || !again.MayBeReserved(e2eID(0)) {
			t.Errorf("filled %v: a free id may be reserved %v, a reserved one %v", filled, again.MayBeReserved(e2eID(n)), again.MayBeReserved(e2eID(0)))
		}
		for i := range n {
			if ok, err := again.ReserveEndToEnd(2, e2eID(i)); ok || err != nil {
				t.Fatalf("filled %v: another account gets %s (%v)", filled, e2eID(i), err)
			}
		}
	}
	if ok, err := again.ReserveEndToEnd(2, e2eID(n)); !ok || err != nil {
		t.Errorf("a free id: %v %v", ok, err)
	}
}

// TestOldReservations checks that a reservation which an earlier version wrote into the
// registry's stream still counts.
func TestOldReservations(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	g := open(t, s)
	register(t, g, 1)
	register(t, g, 2)
	err := g.change(func(*Machine, pix.Millis) ([]Record, error) {
		return []Record{{Kind: EndToEndReserved, EndToEnd: &EndToEndReservation{EndToEnd: e2eID(1), Account: 1}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	row := Project(&Record{Kind: EndToEndReserved, Seq: g.machine.Seq, EndToEnd: &EndToEndReservation{EndToEnd: e2eID(1), Account: 1}})[0]
	done := make(chan error, 1)
	s.Append(&wal.Entry{Out: []wal.Out{&publication{done: done}}, Ops: []wal.Op{{Kind: wal.OpSet, Key: row.Key, Value: row.Value}}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	again := open(t, s)
	if ok, err := again.ReserveEndToEnd(2, e2eID(1)); ok || err != nil {
		t.Errorf("another account gets it: %v", err)
	}
	if ok, err := again.ReserveEndToEnd(1, e2eID(1)); !ok || err != nil || again.ids.machine.Seq != 0 {
		t.Errorf("its own account: %v %v, %d records", ok, err, again.ids.machine.Seq)
	}
}
