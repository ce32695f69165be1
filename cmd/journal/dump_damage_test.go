package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/journal"
	"pixd/wal"
)

// spoiled returns a copy of a disk on which keys were changed directly in Pebble.
func spoiled(t *testing.T, disk *vfs.MemFS, change func(*pebble.DB) error) *vfs.MemFS {
	t.Helper()
	copied := disk.CrashClone(vfs.CrashCloneCfg{})
	db, err := pebble.Open("data/"+journal.Folder+"/store", &pebble.Options{FS: copied, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(change(db), db.Close()); err != nil {
		t.Fatal(err)
	}
	return copied
}

// keyOf returns the key of the record in a segment that ends as the given one does: with stream and
// sequence.
func keyOf(t *testing.T, disk *vfs.MemFS, of []byte) (key []byte) {
	t.Helper()
	spoiled(t, disk, func(db *pebble.DB) error {
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("R"), UpperBound: []byte("S")})
		if err != nil {
			return err
		}
		for ok := it.First(); ok; ok = it.Next() {
			if bytes.HasSuffix(it.Key(), of[1:]) {
				key = bytes.Clone(it.Key())
			}
		}
		return it.Close()
	})
	return key
}

// quiet is a logger of Pebble that logs nothing.
type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// flipped flips a bit of the byte at an offset of a key's value; a negative one counts from the end.
func flipped(key []byte, offset int) func(*pebble.DB) error {
	return func(db *pebble.DB) error {
		v, closer, err := db.Get(key)
		if err != nil {
			return err
		}
		v = bytes.Clone(v)
		v[(len(v)+offset)%len(v)] ^= 1
		return errors.Join(closer.Close(), db.Set(key, v, pebble.Sync))
	}
}

// TestDumpDamage checks that a dump ends right before the damage with an error that says where
// it is, also where an engine would not start.
func TestDumpDamage(t *testing.T) {
	disk := everyRow(t)
	all := inBatches(t, disk)
	gone := func(key []byte) func(*pebble.DB) error {
		return func(db *pebble.DB) error { return db.Delete(key, pebble.Sync) }
	}
	for _, d := range []dumped{{Stream: "registry", Sequence: 2}, {Stream: "acc_aaaaaaaaaaaac", Sequence: 300}} { // the second record of an entry of two, and a record that is alone
		at := slices.IndexFunc(all, func(a dumped) bool { return a.Stream == d.Stream && a.Sequence == d.Sequence })
		inBatch := slices.IndexFunc(all, func(a dumped) bool { return a.Position == all[at].Position })
		if (at > inBatch) != (d.Sequence == 2) {
			t.Fatalf("record %d is number %d, its batch begins at %d", d.Sequence, at, inBatch)
		}
		id, _ := pix.ParseAccountID(d.Stream)
		key, batch, position := keyOf(t, disk, wal.RecordKey(wal.Stream(id), d.Sequence)), wal.BatchKey(all[at].Position), all[at].Position
		record := fmt.Sprintf("%s: wal: stream %d record %d: ", d.Stream, uint64(id), d.Sequence)
		for _, c := range []damage{
			{flipped(key, 12), all[:at], record + "checksum is"},
			{flipped(key, -1), all[:at], record + "checksum is"},
			{gone(key), all[:at], record + "is missing"},
			{flipped(batch, -1), all[:inBatch], fmt.Sprintf("wal: batch %d: sum is", position)},
			{gone(batch), all[:inBatch], fmt.Sprintf("wal: batch %d: is missing", position)},
		} {
			c.check(t, disk, d)
		}
	}
}

// damage is a damaged record or batch.
type damage struct {
	change func(*pebble.DB) error
	before []dumped // the records before it
	want   string   // beginning of the error
}

// check checks the dump of a disk with the damage, with and without the mark up to which an
// engine that starts trusts the journal; and the dump of the stream of record d.
func (c damage) check(t *testing.T, disk *vfs.MemFS, d dumped) {
	t.Helper()
	for _, marked := range []bool{true, false} {
		damaged := spoiled(t, disk, func(db *pebble.DB) error {
			if !marked {
				return errors.Join(c.change(db), db.Delete([]byte("!wal/verified"), pebble.Sync))
			}
			return c.change(db)
		})
		lines, err := dumpOn(damaged, journal.DumpOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %s, got %v", c.want, err)
		}
		same(t, c.want, parsed(t, lines), c.before)
	}
	of, err := dumpOn(spoiled(t, disk, c.change), journal.DumpOptions{Stream: d.Stream})
	if strings.HasPrefix(c.want, d.Stream) && (err == nil || !strings.HasPrefix(err.Error(), c.want) || uint64(len(of)) != d.Sequence-1) {
		t.Errorf("%s: %d records of the stream, %v", c.want, len(of), err)
	}
}

// TestDumpDoubt checks that a dump of an account that is whole still fails where the journal's
// newest batches cannot be verified: records may be missing at the end.
func TestDumpDoubt(t *testing.T) {
	disk := everyRow(t)
	all := inBatches(t, disk)
	newest := all[len(all)-1]
	damaged := spoiled(t, disk, func(db *pebble.DB) error {
		return errors.Join(flipped(wal.BatchKey(newest.Position), -1)(db), db.Delete([]byte("!wal/verified"), pebble.Sync))
	})
	whole, err := dumpOn(disk, journal.DumpOptions{Stream: "acc_aaaaaaaaaaaae"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := dumpOn(damaged, journal.DumpOptions{Stream: "acc_aaaaaaaaaaaae"})
	if !slices.Equal(got, whole) || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("batch %d", newest.Position)) {
		t.Errorf("%d records, want %d, %v", len(got), len(whole), err)
	}
}

// TestDumpUnreadable checks that a record of a kind that this version does not know ends the
// dump after the records before it.
func TestDumpUnreadable(t *testing.T) {
	disk := everyRow(t)
	all := inBatches(t, disk)
	s := openJournal(t, disk)
	seq, sum, err := s.Last(1)
	if err != nil {
		t.Fatal(err)
	}
	e := &wal.Entry{Stream: 1, Expect: seq}
	good := ledger.Record{Body: ledger.Body{Prev: 1}}
	for i, kind := range []ledger.RecordKind{ledger.AnswerKept, 63, ledger.AnswerKept} {
		one := wal.Seal(sum, wal.Record{Stream: 1, Seq: seq + 1 + uint64(i), Kind: uint8(kind), Time: time.Now().UnixMilli(), Body: good.Encode()})
		sum, e.Records = one.Sum, append(e.Records, one)
	}
	s.Append(e)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lines, err := dumpOn(disk, journal.DumpOptions{})
	if want := fmt.Sprintf("ledger: record %d of acc_aaaaaaaaaaaac: unknown kind 63", seq+2); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	got := parsed(t, lines)
	if n := len(all) + 1; len(got) != n || got[n-1].Sequence != seq+1 || got[n-1].Kind != "answer.kept" {
		t.Errorf("%d records, want %d", len(got), n)
	}
}
