package wal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var rewriteGolden = flag.Bool("golden.rewrite", false, "write the golden file anew")

// TestGolden compares the bytes of every stored format with the golden file.
func TestGolden(t *testing.T) {
	var out bytes.Buffer
	put := func(name string, key, value []byte) {
		fmt.Fprintf(&out, "%s\n  key   %s\n  value %s\n", name, hex.EncodeToString(key), hex.EncodeToString(value))
	}
	first := Seal(0, Record{Stream: 7, Seq: 1, Kind: 3, Time: 1_700_000_000_123, Body: []byte("body")})
	second := Seal(first.Sum, Record{Stream: 7, Seq: 2, Kind: 4, Time: 1_700_000_000_124})
	other := Seal(0, Record{Stream: 300, Seq: 1, Kind: 1, Time: 1_700_000_000_100, Body: []byte{0xff}})
	put("record stream=7 seq=1 kind=3 time=1700000000123 body=\"body\"", RecordKey(7, 1), first.Value)
	put("record stream=7 seq=2 kind=4 time=1700000000124 body=\"\"", RecordKey(7, 2), second.Value)
	put("record stream=300 seq=1 kind=1 time=1700000000100 body=ff", RecordKey(300, 1), other.Value)
	put("record stream=7 seq=1 in segment 5", place{segment: 5}.key(7, 1), first.Value)
	put("records of stream 7 from seq=1 on are in segment 5", placeKey(7, 1), placeValue(5))
	var b rowBuilder
	b.reset(Head{})
	b.add(7, &first)
	b.add(7, &second)
	b.add(300, &other)
	row, h := b.finish(Head{})
	put("batch position=1 of 7/1..2 and 300/1", BatchKey(1), row)
	third := Seal(second.Sum, Record{Stream: 7, Seq: 3, Kind: 4, Time: 1})
	b.reset(h)
	b.add(7, &third)
	row, h = b.finish(h)
	put("batch position=2 of 7/3, time not before batch 1", BatchKey(2), row)
	put("verified mark at batch 2", metaKey(markName), markValue(h))
	put("first bytes of the rows that are set once: d and o", metaKey(onceName), []byte("do"))
	put("hard setting format", metaKey(hardPrefix+settingFormat), []byte(strconv.Itoa(formatVersion)))
	put("hard setting checksum", metaKey(hardPrefix+settingChecksum), []byte(checksumName))
	put("anchor slot, ready, generation 5, at batch 2", nil, slot{stateReady, 5, h}.encode())
	put("anchor slot, creating, generation 1", nil, slot{stateCreating, 1, Head{}}.encode())
	put("cluster", metaKey(clusterName), []byte("0123456789abcdef"))
	put("owner a since batch 3", metaKey(logOwnerName), Owner{Epoch: 3, Name: "a", Run: "0123456789abcdef", Level: 5}.row())
	put("no owner, node b is to be it", metaKey(logOwnerName), Owner{Next: "b", Level: 5}.row())
	put("batch of a log: log 0, epoch 3, position 4, with each kind of change", nil, goldenLogBatch(t))

	const file = "testdata/golden.txt"
	if *rewriteGolden {
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Errorf("the bytes on disk have changed:\n%s", out.Bytes())
	}
}

// TestAnchorFile checks that the anchor file has its full length from the start, has zeros
// between its slots, and that docs/formats-wal.md states that length.
func TestAnchorFile(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open(Options{Dir: harnessDir, FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := readFile(fs, harnessDir+"/anchor")
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != 4096+42 || len(bytes.Trim(data[42:4096], "\x00")) != 0 {
		t.Errorf("%d bytes, between the slots %x", len(data), bytes.Trim(data[42:4096], "\x00"))
	}
	for i, at := range []int{0, 4096} {
		if got, whole := decodeSlot(data[at:]); !whole || got.generation%2 != uint64(i) {
			t.Errorf("slot %d: %+v, whole %v", i, got, whole)
		}
	}
	page, err := os.ReadFile("../docs/formats-wal.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"how long the journal is at least; 4,138 bytes", "42 bytes in all"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/formats-wal.md does not say %q", want)
		}
	}
}

// FuzzUnseal checks that Unseal never panics and accepts only bytes that Seal makes.
func FuzzUnseal(f *testing.F) {
	f.Add(uint64(0), uint64(7), uint64(1), Seal(0, Record{Stream: 7, Seq: 1, Body: []byte("x")}).Value)
	f.Fuzz(func(t *testing.T, prev, stream, seq uint64, value []byte) {
		r, err := Unseal(prev, Stream(stream), seq, value)
		if err == nil && !bytes.Equal(Seal(prev, r).Value, value) {
			t.Errorf("%+v", r)
		}
	})
}

// FuzzBatchRow checks that the decoder of batch rows never panics.
func FuzzBatchRow(f *testing.F) {
	var b rowBuilder
	b.reset(Head{})
	b.add(1, &Sealed{Seq: 1})
	row, _ := b.finish(Head{})
	f.Add(row)
	f.Fuzz(func(_ *testing.T, value []byte) { _, _ = decodeBatchRow(1, value) })
}

// goldenLogBatch has a change of each kind.
func goldenLogBatch(t *testing.T) []byte {
	t.Helper()
	s, err := Open(Options{Dir: harnessDir, FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b := s.db.NewBatch()
	err = errors.Join(b.Set([]byte("r1"), []byte("value"), nil), b.Delete([]byte("r2"), nil), b.SingleDelete([]byte("o3"), nil), b.DeleteRange([]byte("c4"), []byte("c5"), nil))
	batch, err1 := encodeLogBatch(logHeader{0, 3, 4, 0x0102030405060708}, b)
	if err := errors.Join(err, err1, b.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return batch
}

// FuzzLogBatch checks that the decoder of batches in a log never panics, and that what it takes is
// what the encoder writes.
func FuzzLogBatch(f *testing.F) {
	f.Add(logHeader{1, 2, 3, 4}.append(nil))
	f.Add([]byte{logSet, 1, 'k', 2, 'v', 'w', logDelete, 1, 'k', logDeleteRange, 1, 'a', 1, 'b'})
	f.Fuzz(func(t *testing.T, ops []byte) {
		_, _, _ = decodeLogHeader(ops)
		var again []byte
		for rest := ops; len(rest) > 0; {
			op, next, err := nextLogOp(rest)
			if err != nil {
				return
			}
			again = append(again, op.kind)
			again = appendSized(again, op.key)
			if op.kind == logSet || op.kind == logDeleteRange {
				again = appendSized(again, op.value)
			}
			rest = next
		}
		if len(again) > len(ops) {
			t.Errorf("%x became %x", ops, again)
		}
	})
}

// TestOlderBinary checks that a binary which does not know the newest records of a log follows it, and
// may not own it.
func TestOlderBinary(t *testing.T) {
	open := func() *Store {
		s, err := Open(Options{Dir: harnessDir, FS: vfs.NewMem(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20, Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	levelSet = "99"
	newer := open()
	_, batch, err := newer.OwnBatch(Owner{Name: "a", Run: "1"})
	levelSet = ""
	if err != nil {
		t.Fatal(err)
	}
	older := open()
	if !older.MayOwn() {
		t.Error("a log without an owner is not its own to take")
	}
	if err := older.Apply(1, batch); err != nil {
		t.Fatal(err)
	}
	if older.MayOwn() || older.Owner().Level != 99 {
		t.Errorf("the owner is %+v", older.Owner())
	}
	_, again, err := older.OwnBatch(Owner{Name: "b"})
	if err != nil || !bytes.Contains(again, []byte(`"level":99`)) {
		t.Errorf("an older owner lowers the level: %q %v", again, err)
	}
}

// TestOlderCluster checks that a node's store of the format before is raised once the log has an owner that
// writes as this version does, and not before: by the batch that says so, or, where an earlier version has
// taken that batch, by the next opening.
func TestOlderCluster(t *testing.T) {
	fs := vfs.NewMem()
	open := func(leave bool) (*Store, error) {
		return Open(Options{Dir: harnessDir, FS: fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20, Shared: !leave, LeaveCluster: leave})
	}
	as := func(want string, do func(*Store)) {
		t.Helper()
		s, err := open(false)
		if err != nil {
			t.Fatal(err)
		}
		do(s)
		if got, _, err := s.HardSetting(settingFormat); got != want || err != nil {
			t.Errorf("format %q (%v), want %s", got, err, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	owned := func(s *Store, level int) {
		t.Helper()
		after, batch, err := s.ownBatch(Owner{Name: "a", Level: level})
		if err == nil {
			err = s.Apply(after+1, batch)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	as("10", func(s *Store) {
		if err := s.Join("c"); err != nil {
			t.Fatal(err)
		}
	})
	ofFormat(t, fs, "6")
	as("6", func(*Store) {})
	as("6", func(s *Store) { owned(s, 5) })
	as("6", func(*Store) {})
	as("8", func(s *Store) { owned(s, 7) })
	as("8", func(*Store) {})
	ofFormat(t, fs, "6")
	as("8", func(*Store) {})
	as("10", func(s *Store) { owned(s, 9) })
	as("10", func(*Store) {})
	ofFormat(t, fs, "8")
	as("10", func(*Store) {})
	as("10", func(s *Store) { owned(s, 99) })
	if _, err := open(true); err == nil || !strings.Contains(err.Error(), "records of format 99") {
		t.Errorf("a store with records of a newer version left its cluster: %v", err)
	}
	as("10", func(s *Store) { owned(s, 9) })
	s, err := open(true)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.HardSetting(settingFormat); got != "9" || err != nil {
		t.Errorf("alone its format is %q (%v)", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBatchRowRefused checks that a batch row is refused whose list of records does not end with a whole
// run, or has a run that no stream can have.
func TestBatchRowRefused(t *testing.T) {
	row := func(runs ...byte) []byte {
		return slices.Concat([]byte{batchVersion}, make([]byte, batchHead-1), runs, make([]byte, 8))
	}
	whole := []byte{0, 0, 0, 0, 0, 0, 0, 7, 3, 2} // records 3 and 4 of stream 7
	got, err := decodeBatchRow(1, row(whole...))
	if err != nil || len(got.runs) != 1 || got.runs[0] != (run{stream: 7, first: 3, count: 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, runs := range map[string][]byte{
		"seven bytes": whole[:7], "no first": whole[:8], "no count": whole[:9], "an open number": {0, 0, 0, 0, 0, 0, 0, 7, 3, 0x80},
		"from record 0": {0, 0, 0, 0, 0, 0, 0, 7, 0, 2}, "no record": {0, 0, 0, 0, 0, 0, 0, 7, 3, 0}, "a byte more": append(slices.Clone(whole), 0),
	} {
		var damage *Damage
		if got, err := decodeBatchRow(1, row(runs...)); !errors.As(err, &damage) || damage.Position != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestBatchContinues checks that a batch is damaged whose row is whole, but names another batch as the
// one before it, or is of an earlier time.
func TestBatchContinues(t *testing.T) {
	before := Head{Position: 4, Time: 100, Sum: 77}
	for name, c := range map[string]struct {
		prev Head
		good bool
	}{
		"the next": {before, true}, "of a later time": {Head{4, 101, 77}, true},
		"of another": {Head{4, 100, 78}, false}, "of an earlier time": {Head{4, 99, 77}, false},
	} {
		var b rowBuilder
		b.reset(c.prev)
		row, _ := b.finish(c.prev)
		w := walk{at: before}
		var damage *Damage
		err := w.batch(5, row)
		if c.good && (err != nil || w.at.Position != 5) || !c.good && (!errors.As(err, &damage) || damage.Position != 5) {
			t.Errorf("%s: %v, at %+v", name, err, w.at)
		}
	}
}

// TestRecordKeyRefused checks that a key of another length or kind is no record's.
func TestRecordKeyRefused(t *testing.T) {
	key := RecordKey(7, 3)
	if stream, seq, err := splitRecordKey(key); stream != 7 || seq != 3 || err != nil {
		t.Errorf("record %d of stream %d, %v", seq, stream, err)
	}
	for _, k := range [][]byte{nil, key[:len(key)-1], append(slices.Clone(key), 0), append([]byte{batchPrefix}, key[1:]...)} {
		var damage *Damage
		if stream, seq, err := splitRecordKey(k); !errors.As(err, &damage) {
			t.Errorf("%x: record %d of stream %d, %v", k, seq, stream, err)
		}
	}
}
