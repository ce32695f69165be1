package journal_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/wal"
)

// dumpOn returns the dump of a disk, line by line.
func dumpOn(disk vfs.FS, o journal.DumpOptions) ([]string, error) {
	var b bytes.Buffer
	o.DataDir, o.FS = "data", disk
	err := journal.Dump(o, &b)
	return slices.Collect(strings.Lines(b.String())), err
}

// dumped is the beginning of a line of a dump.
type dumped struct {
	Position uint64
	Stream   string
	Sequence uint64
	Time     string
	Kind     string
}

func parsed(t *testing.T, lines []string) (all []dumped) {
	t.Helper()
	for _, l := range lines {
		var d dumped
		if err := json.Unmarshal([]byte(l), &d); err != nil || !strings.HasSuffix(l, "}\n") {
			t.Fatalf("%s: %v", l, err)
		}
		all = append(all, d)
	}
	return all
}

// inBatches reads from the batch rows which records there are, in the order of writing. Time and
// kind are not set.
func inBatches(t *testing.T, disk *vfs.MemFS) (all []dumped) {
	t.Helper()
	s := openJournal(t, disk.CrashClone(vfs.CrashCloneCfg{}))
	err := s.Scan([]byte("B"), []byte("C"), func(k, v []byte) (bool, error) {
		for runs := v[17 : len(v)-8]; len(runs) > 0; {
			id := binary.BigEndian.Uint64(runs)
			stream, known := map[uint64]string{0: "registry", 0xffff_ffff_ffff_0000: "reservations"}[id]
			if !known {
				stream = pix.AccountID(id).String()
			}
			first, n := binary.Uvarint(runs[8:])
			count, m := binary.Uvarint(runs[8+n:])
			for i := range count {
				all = append(all, dumped{Position: binary.BigEndian.Uint64(k[1:]), Stream: stream, Sequence: first + i})
			}
			runs = runs[8+n+m:]
		}
		return true, nil
	})
	if err = errors.Join(err, s.Close()); err != nil || len(all) < 600 {
		t.Fatal(len(all), err)
	}
	return all
}

// same checks that a dump has exactly the wanted records.
func same(t *testing.T, what string, got, want []dumped) {
	t.Helper()
	for i := range got {
		if i < len(want) && want[i].Time == "" {
			got[i].Time, got[i].Kind = "", ""
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %d records, want %d", what, len(got), len(want))
	}
}

// TestDump checks that a dump has every record once, in the order of writing and with the
// position of its batch, and that progress is told.
func TestDump(t *testing.T) {
	disk := manyRecords(t)
	var last journal.Progress
	lines, err := dumpOn(disk, journal.DumpOptions{Progress: func(p journal.Progress) {
		if last = p; p.Records%200 == 0 {
			time.Sleep(5 * time.Millisecond) // by then a chunk is written, and is filled again
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := inBatches(t, disk)
	same(t, "all", parsed(t, lines), want)
	if last.Stage != "records" || last.Records != uint64(len(want)) || last.Batches != want[len(want)-1].Position || last.Of != last.Batches {
		t.Errorf("%+v", last)
	}
	bytesOfBodies := 0
	s := openJournal(t, disk)
	if _, err := s.Verify(func(r wal.Record) error { bytesOfBodies += len(r.Body); return nil }, nil); err != nil || bytesOfBodies < 4*journal.ChunkBytes {
		t.Errorf("%d bytes are few chunks: the test does not reach what it means to (%v)", bytesOfBodies, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// manyRecords is everyRow with so many records that they are handed on in several chunks.
func manyRecords(t *testing.T) *vfs.MemFS {
	t.Helper()
	disk := everyRow(t)
	e, err := engine.Open(engineOn(disk))
	if err != nil {
		t.Fatal(err)
	}
	credits(t, e, 3000)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return disk
}

// TestDumpStream checks that the records of one stream are those of the whole dump, without
// positions, and that an account without records is an error.
func TestDumpStream(t *testing.T) {
	disk := everyRow(t)
	all, err := dumpOn(disk, journal.DumpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"acc_aaaaaaaaaaaac", "acc_aaaaaaaaaaaae", "registry", "reservations"} {
		var want []string
		for i, d := range parsed(t, all) {
			if d.Stream == stream {
				want = append(want, strings.Replace(all[i], fmt.Sprintf(`"position":%d,`, d.Position), "", 1))
			}
		}
		got, err := dumpOn(disk, journal.DumpOptions{Stream: stream})
		if err != nil || len(want) < 1 || !slices.Equal(got, want) {
			t.Errorf("%s: %d records, want %d, %v", stream, len(got), len(want), err)
		}
	}
	for stream, want := range map[string]string{
		"acc_aaaaaaaaaaaca": "the journal has no record of acc_aaaaaaaaaaaca", "acc_none": `"acc_none" is no account's id such as`,
		"ACC_AAAAAAAAAAAAC": "is no account's id", "acc_aaaaaaaaaaaaa": "is no account's id", // the registry's number
	} {
		if got, err := dumpOn(disk, journal.DumpOptions{Stream: stream}); err == nil || !strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%s: %d records, %v", stream, len(got), err)
		}
	}
}

// TestDumpSpan checks the two ends of a span of time: the first instant counts, the last does
// not.
func TestDumpSpan(t *testing.T) {
	const first = 20_000 * oneDay // the journal has the registry's two records and the account's opening on the first day, and a charge on each of six
	disk := dated(t, 6)
	for span, want := range map[[2]pix.Millis]int{
		{}: 9, {first, 0}: 9, {first + 1, 0}: 5, {0, first}: 0, {0, first + 1}: 4, {first + oneDay, first + 3*oneDay}: 2,
		{first + oneDay, first + oneDay}: 0, {first + oneDay, first + oneDay + 1}: 1, {first + 5*oneDay, 0}: 1, {first + 5*oneDay + 1, 0}: 0,
	} {
		lines, err := dumpOn(disk, journal.DumpOptions{From: span[0], Until: span[1]})
		if err != nil || len(lines) != want {
			t.Errorf("%v to %v: %d records, want %d, %v", span[0], span[1], len(lines), want, err)
		}
		of, err := dumpOn(disk, journal.DumpOptions{Stream: "acc_aaaaaaaaaaaac", From: span[0], Until: span[1]})
		mine := slices.DeleteFunc(parsed(t, lines), func(d dumped) bool { return d.Stream == "registry" })
		if err != nil || len(of) != len(mine) {
			t.Errorf("of the account, %v to %v: %d records, want %d, %v", span[0], span[1], len(of), len(mine), err)
		}
	}
}

// full is a writer that takes some bytes and no more.
type full struct {
	room   int
	failed chan struct{}
}

var errFull = errors.New("full")

// Write implements io.Writer.
func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		close(f.failed) // panics if the dump writes again
		return 0, errFull
	}
	return len(b), nil
}

// TestDumpWriter checks that a writer that fails ends the dump with the writer's error, long
// before all records are read.
func TestDumpWriter(t *testing.T) {
	disk := manyRecords(t)
	for _, room := range []int{0, 300_000} {
		f := &full{room, make(chan struct{})}
		last := uint64(0)
		o := journal.DumpOptions{DataDir: "data", FS: disk, Progress: func(p journal.Progress) {
			if last = p.Records; last == 3000 {
				<-f.failed
				time.Sleep(50 * time.Millisecond) // by then the dump knows that
			}
		}}
		if err := journal.Dump(o, f); !errors.Is(err, errFull) || last > 3000 {
			t.Errorf("%d bytes: %v after %d records", room, err, last)
		}
	}
}
