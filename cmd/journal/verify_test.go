package journal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/wal"
)

// rowTags are the first bytes of the keys of all rows that records make, and of head rows.
const rowTags = "bcdefhiklmnoqrstuxz"

// TestVerifyRows checks, for each kind of row, that a missing, a changed and an extra row
// are found and named with the record that makes them, and that the unchanged store
// verifies.
func TestVerifyRows(t *testing.T) {
	disk := everyRow(t)
	if err := verifyOn(disk); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []byte(rowTags) {
		key, value := firstRow(t, disk, tag)
		name := journal.RowName(key)
		gone, other, extra := name+" is missing, and record", name+" is not what record", " is there, and no record makes it"
		if tag == 'h' {
			gone, other = "head row of acc_aaaaaaaaaaaac is missing: every 256 records make one, and there are 6", "is not what the records make"
		}
		more := slices.Clone(key)
		more[len(more)-2] ^= 0x80
		for want, op := range map[string]wal.Op{
			// If several rows of a kind are missing, the first one is reported. Missing rows
			// of the last kind are found only after all stored rows.
			gone[:len(gone)-8]:            {Kind: wal.OpDeleteRange, Key: []byte{tag}, Value: []byte{tag + 1}},
			gone:                          {Kind: wal.OpDelete, Key: key},
			other:                         {Kind: wal.OpSet, Key: key, Value: append(slices.Clone(value), 0)},
			journal.RowName(more) + extra: {Kind: wal.OpSet, Key: more, Value: value},
		} {
			if err := verifyAfter(t, disk, op); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%c: want %q, got %v", tag, want, err)
			}
		}
	}
}

// TestVerifyOddRows checks that a row which no record can make is found, whatever its key,
// that a row which a record deletes is reported as such, and that named values are ignored.
func TestVerifyOddRows(t *testing.T) {
	disk := everyRow(t)
	settled := layout.OpenKey(1, pix.TxID{1})
	for want, op := range map[string]wal.Op{
		`unknown row "j" is there`: {Kind: wal.OpSet, Key: []byte("j")},
		`unknown row "a" is there`: {Kind: wal.OpSet, Key: []byte("a")},
		`action row "aa" is there`: {Kind: wal.OpSet, Key: []byte("aa")},
		`head row "h" is there`:    {Kind: wal.OpSet, Key: []byte("h")},
		"open row":                 {Kind: wal.OpSet, Key: settled, Value: make([]byte, 8)},
		"":                         {Kind: wal.OpSet, Key: wal.MetaKey("a-name"), Value: []byte("v")},
		"the journal ends at":      {Kind: wal.OpSet, Key: layout.HeadKey(1), Value: append(make([]byte, 5), 1, 0, 0)},
		"name no record":           {Kind: wal.OpSet, Key: layout.HeadKey(1), Value: make([]byte, 24)},
	} {
		err := verifyAfter(t, disk, op)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	key, maker := deletedRow(t, disk)
	want := fmt.Sprintf("%s is there, and record %d of %v deletes it", journal.RowName(key), maker.Seq, maker.Account)
	if err := verifyAfter(t, disk, wal.Op{Kind: wal.OpSet, Key: key, Value: []byte("v")}); err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

// TestVerifyStaleHead checks that an old head row is found which should have been written
// again since.
func TestVerifyStaleHead(t *testing.T) {
	disk := vfs.NewCrashableMem()
	e, err := engine.Open(engineOn(disk))
	if err != nil {
		t.Fatal(err)
	}
	populate(t, e)
	credits(t, e, 300)
	old, ok, err := e.Store.Get(layout.HeadKey(1))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	credits(t, e, 300)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := verifyOn(disk); err != nil {
		t.Error(err)
	}
	const want = "head row of acc_aaaaaaaaaaaac stands at record 256: every 256 records make a new one, and there are 601"
	if err := verifyAfter(t, disk, wal.Op{Kind: wal.OpSet, Key: layout.HeadKey(1), Value: old}); err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

// firstRow returns the first row of a kind.
func firstRow(t *testing.T, disk *vfs.MemFS, tag byte) (key, value []byte) {
	t.Helper()
	s := openJournal(t, disk.CrashClone(vfs.CrashCloneCfg{}))
	if err := s.Scan([]byte{tag}, []byte{tag + 1}, func(k, v []byte) (bool, error) {
		key, value = bytes.Clone(k), bytes.Clone(v)
		return false, nil
	}); err != nil || key == nil {
		t.Fatalf("a row %c: %v", tag, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return key, value
}

// deletedRow returns the key of a row that a record has deleted, and that record.
func deletedRow(t *testing.T, disk *vfs.MemFS) (key []byte, by *ledger.Record) {
	t.Helper()
	s := openJournal(t, disk.CrashClone(vfs.CrashCloneCfg{}))
	for seq := uint64(1); key == nil; seq++ {
		r, err := stored{s}.Record(1, seq)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range ledger.Project(nil, r) {
			if row.Value == nil {
				key, by = row.Key, r
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return key, by
}

// verifyAfter changes a row on a copy of the disk, and verifies the copy.
func verifyAfter(t *testing.T, disk *vfs.MemFS, op wal.Op) error {
	t.Helper()
	copied := disk.CrashClone(vfs.CrashCloneCfg{})
	s := openJournal(t, copied)
	if err := s.WriteRows(wal.Local, op); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return verifyOn(copied)
}

// TestVerifyDroppedClaims checks the claims of days which may have been dropped: they may be
// missing, but a claim that is stored must be right. The claims of later days must be stored.
func TestVerifyDroppedClaims(t *testing.T) {
	disk := dated(t, 6)
	key := func(day uint16) []byte { return layout.IdempotencyKey(20_000+day, 1, [16]byte{1}) }
	lo, hi := layout.IdempotencyBefore(20_003) // the newest record is of day 20 005
	_, tooFar := layout.IdempotencyBefore(20_004)
	for name, c := range map[string]struct {
		op   wal.Op
		want string
	}{
		"all there":     {wal.Op{Kind: wal.OpSet, Key: wal.MetaKey("nothing")}, ""},
		"dropped":       {wal.Op{Kind: wal.OpDeleteRange, Key: lo, Value: hi}, ""},
		"some dropped":  {wal.Op{Kind: wal.OpDelete, Key: key(1)}, ""},
		"one too many":  {wal.Op{Kind: wal.OpDeleteRange, Key: lo, Value: tooFar}, journal.RowName(key(3)) + " is missing"},
		"old and wrong": {wal.Op{Kind: wal.OpSet, Key: key(0), Value: []byte("x")}, journal.RowName(key(0)) + " is not what record 2 of"},
		"old and extra": {wal.Op{Kind: wal.OpSet, Key: claimKey(20_000, 1), Value: []byte("x")}, "is there, and no record"},
	} {
		err := verifyAfter(t, disk, c.op)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", name, c.want, err)
		}
	}
}

// TestVerifyUntilTheDamage checks that the counts end exactly at a wrong record, although the
// walk over the records has gone further.
func TestVerifyUntilTheDamage(t *testing.T) {
	disk := everyRow(t)
	copied := disk.CrashClone(vfs.CrashCloneCfg{})
	s := openJournal(t, copied)
	key := layout.HeadKey(1)
	head, _, err := s.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	head[len(head)-1] ^= 1
	if err := s.WriteRows(wal.Local, wal.Op{Kind: wal.OpSet, Key: key, Value: head}); err != nil {
		t.Fatal(err)
	}
	at, before, batch := binary.BigEndian.Uint64(head), uint64(0), uint64(0)
	until, err := s.Verify(func(r wal.Record) error {
		if r.Stream == 1 && r.Seq == at {
			return errors.New("here")
		}
		before++
		return nil
	}, func(r wal.Report) { batch = r.Batches })
	if err == nil {
		t.Fatal("the record was not met")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	v, err := journal.Verify(journal.VerifyOptions{DataDir: "data", FS: copied})
	if err == nil || v.Records != before || v.Batches != batch || until.Batches != batch {
		t.Errorf("%d records in %d batches, want %d in %d: %v", v.Records, v.Batches, before, batch, err)
	}
}

// TestVerifyProgress checks that the progress is reported during a verification.
func TestVerifyProgress(t *testing.T) {
	disk := everyRow(t)
	var reported []journal.Progress
	v, err := journal.Verify(journal.VerifyOptions{DataDir: "data", FS: disk, Progress: func(p journal.Progress) { reported = append(reported, p) }})
	if err != nil || len(reported) < 4 {
		t.Fatal(reported, err)
	}
	last := reported[len(reported)-1]
	if reported[0] != (journal.Progress{Stage: "records", Of: v.Batches}) ||
		reported[1].Batches != 1 || reported[1].Records != 0 || // the first batch holds only the secret, so it has no records
		reported[2].Records == 0 ||
		last != (journal.Progress{Stage: "tables", Records: v.Records, Rows: v.Rows, Batches: v.Batches, Of: v.Batches}) || v.Rows < v.Records {
		t.Errorf("%+v, then %+v of %+v", reported[0], last, v)
	}
}
