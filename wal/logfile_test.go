package wal

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// diskLog is a log file on the disk, and what has been written to it.
type diskLog struct {
	t    *testing.T
	name string
	file vfs.File
	want []byte
}

func openLog(t *testing.T, old string) *diskLog {
	t.Helper()
	dir := t.TempDir()
	fs := newStoreFS(Options{FS: vfs.Default, Dir: dir}, newFailure())
	l := &diskLog{t: t, name: dir + "/" + storeName + "/000002.log"}
	err := vfs.Default.MkdirAll(dir+"/"+storeName, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if old == "" {
		l.file, err = fs.Create(l.name, "log")
	} else {
		before := dir + "/" + storeName + "/000001.log"
		if err := writeFile(vfs.Default, before, []byte(old)); err != nil {
			t.Fatal(err)
		}
		l.file, err = fs.ReuseForWrite(before, l.name, "log")
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *diskLog) write(n int) {
	l.t.Helper()
	p := bytes.Repeat([]byte{byte(len(l.want)%250 + 1)}, n)
	if m, err := l.file.Write(p); err != nil || m != n {
		l.t.Fatal(m, err)
	}
	l.want = append(l.want, p...)
}

// has compares the file with what was written, and after that with rest.
func (l *diskLog) has(rest []byte) {
	l.t.Helper()
	got := readAll(l.t, vfs.Default, l.name)
	if want := append(bytes.Clone(l.want), rest...); !bytes.Equal(got, want) {
		l.t.Errorf("after %d bytes the file has %d bytes, want %d of these contents", len(l.want), len(got), len(want))
	}
}

// TestLogFileIsFilled checks that a log file has zeros beyond its end, which are written over.
func TestLogFileIsFilled(t *testing.T) {
	l := openLog(t, "")
	l.has(nil)
	l.write(7)
	l.has(nil)
	l.write(1 << 20)
	at := (1<<20 + 7) / 8
	l.has(make([]byte, at))
	l.write(at - 1)
	l.has(make([]byte, 1))
	l.write(1)
	l.has(nil)
	l.write(2 << 20)
	l.has(make([]byte, maxFill))
	l.write(100)
	l.has(make([]byte, maxFill-100))
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
	l.has(make([]byte, maxFill-100))
}

// TestLogFileUsedAgain checks that a log file that Pebble uses again keeps what was in it until
// it is written over, and is filled with zeros from there on.
func TestLogFileUsedAgain(t *testing.T) {
	old := bytes.Repeat([]byte("before"), 1000)
	l := openLog(t, string(old))
	l.write(5000)
	l.has(old[5000:])
	l.write(1000)
	l.has(nil)
	l.write(2000)
	l.has(make([]byte, 1000))
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAroundSync checks that each batch is synced in one call of AroundSync, and is released
// after it.
func TestAroundSync(t *testing.T) {
	var calls atomic.Int64
	var synced atomic.Bool
	fs := vfs.NewCrashableMem()
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs, AnchorEvery: time.Hour, AroundSync: func(sync func()) {
		calls.Add(1)
		sync()
		synced.Store(true)
	}})
	defer func() { _ = s.Close() }()
	for i := range 5 {
		before := calls.Load()
		synced.Store(false)
		released := make(chan error, 1)
		s.Append(&Entry{Ops: []Op{{Kind: OpSet, Key: []byte("a"), Value: []byte{byte(i)}}}, Out: []Out{chanOut(released)}})
		if err := <-released; err != nil || !synced.Load() || calls.Load() != before+1 {
			t.Fatalf("entry %d: %v, synced %v, %d calls", i, err, synced.Load(), calls.Load()-before)
		}
	}
}

// TestNewerLogOfTheName checks that who reads a log which is being written gets what is written, and no
// zeros ahead of it, also after an older log file of that name was closed.
func TestNewerLogOfTheName(t *testing.T) {
	dir := t.TempDir()
	fs := newStoreFS(Options{FS: vfs.Default, Dir: dir}, newFailure())
	name := dir + "/" + storeName + "/000002.log"
	if err := vfs.Default.MkdirAll(dir+"/"+storeName, 0o700); err != nil {
		t.Fatal(err)
	}
	var logs []vfs.File
	for range 2 {
		log, err := fs.Create(name, "log")
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, log)
	}
	want := bytes.Repeat([]byte{7}, 5000)
	_, err := logs[1].Write(want)
	if err := errors.Join(err, logs[0].Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := readFile(fs, name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes are read, %d were written (%v)", len(got), len(want), err)
	}
	if err := logs[1].Close(); err != nil {
		t.Fatal(err)
	}
}
