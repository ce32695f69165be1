package account

import (
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// readFrom keeps the sequence at which a restore begins to read records.
type readFrom struct {
	*memory
	from uint64
}

func (r *readFrom) Read(stream wal.Stream, from, prev uint64, fn func(wal.Record) error) error {
	r.from = from
	return r.memory.Read(stream, from, prev, fn)
}

func grown(t *testing.T, records int) *bench {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	for range records - 1 {
		b.step(ledger.Credit{Kind: pix.TxTED, Amount: 1})
	}
	return b
}

// TestRestoreReadsTheTail checks that a head row is written with the entry whose last
// record's sequence reaches a multiple of HeadEvery (8), and that a restore reads only the
// records after that head row.
func TestRestoreReadsTheTail(t *testing.T) {
	for records, from := range map[int]uint64{1: 1, 7: 1, 8: 9, 9: 9, 15: 9, 16: 17, 100: 97} {
		b := grown(t, records)
		r := &readFrom{memory: b.store}
		m, err := Restore(testConfig, testAccount, r)
		if err != nil {
			t.Fatal(err)
		}
		if r.from != from || m.head.Totals != b.machine.head.Totals || m.head.Settings.Name != "Loja" {
			t.Errorf("%d records: read from %d, want %d; %+v", records, r.from, from, m.head)
		}
	}
}

// TestPassivate checks that Passivate writes a head row that includes the newest record,
// and writes nothing where the store has that head row already.
func TestPassivate(t *testing.T) {
	b := grown(t, 11)
	e := b.machine.Passivate()
	if len(e.Ops) != 1 || !e.Forget || len(e.Records) != 0 {
		t.Fatalf("%+v", e)
	}
	b.store.append(&e)
	if e := b.machine.Passivate(); len(e.Ops) != 0 || !e.Forget {
		t.Errorf("passivated twice wrote %d rows", len(e.Ops))
	}
	r := &readFrom{memory: b.store}
	m, err := Restore(testConfig, testAccount, r)
	if err != nil || r.from != 12 || m.head.Totals != b.machine.head.Totals {
		t.Errorf("%v, read from %d, %+v", err, r.from, m.head)
	}
}

// TestRestoreStops checks that Restore fails where the head row does not match the records.
func TestRestoreStops(t *testing.T) {
	for name, spoil := range map[string]func(*memory){
		"records lost": func(m *memory) {
			all := m.records[wal.Stream(testAccount)]
			m.records[wal.Stream(testAccount)] = all[:len(all)-3]
		},
		"other sum": func(m *memory) { m.rows[string(layout.HeadKey(testAccount))][15]++ },
		"short row": func(m *memory) { m.rows[string(layout.HeadKey(testAccount))] = []byte{1} },
		"other balance": func(m *memory) {
			b := newBench(t)
			b.step(ledger.OpenAccount{Settings: settings()})
			b.machine.head.Totals.Balance = 5
			row := m.rows[string(layout.HeadKey(testAccount))]
			m.rows[string(layout.HeadKey(testAccount))] = append(row[:headRowStart:headRowStart], b.machine.head.EncodeHead()...)
			r := grownRecord(m)
			m.records[wal.Stream(testAccount)] = append(m.records[wal.Stream(testAccount)], r)
		},
	} {
		b := grown(t, 8)
		spoil(b.store)
		if _, err := Restore(testConfig, testAccount, b.store); err == nil {
			t.Errorf("%s: restored", name)
		} else if !strings.Contains(err.Error(), testAccount.String()) {
			t.Errorf("%s: %v does not name the account", name, err)
		}
	}
}

// grownRecord is the credit that would follow the account's last record, with the totals
// that the account would have without damage.
func grownRecord(m *memory) wal.Record {
	all := m.records[wal.Stream(testAccount)]
	last := all[len(all)-1]
	r := ledger.Record{Account: testAccount, Seq: last.Seq + 1, Time: pix.Millis(last.Time), Kind: ledger.Credited, Body: ledger.Body{
		Totals: ledger.Totals{Balance: 8, Items: 8, Bookings: 8},
		Tx:     &ledger.Transaction{ID: pix.TxID{9}, Kind: pix.TxTED, Amount: 1, Ordinal: 8, Booking: 8},
	}}
	return wal.Record{Stream: wal.Stream(testAccount), Seq: r.Seq, Kind: uint8(r.Kind), Time: int64(r.Time), Body: r.Encode()}
}
