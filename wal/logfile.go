package wal

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// maxFill is the largest number of bytes by which a log file is made longer at a time.
const maxFill = 256 << 10

var zeros [maxFill]byte

// logFile is a log file of Pebble's. It is filled with zeros beyond its end, by an eighth of
// its length and at most maxFill, and Pebble writes over them. A sync after such a write need
// not store a new size of the file, which on ext4 takes a commit of the file system's own
// journal.
//
// Pebble takes zeros for the end of the log, as it does with what is left in a log file that
// it uses again. They stay when the file is closed: cutting them off would free the blocks that
// Pebble has reserved, for which disks mounted with discard stall.
type logFile struct {
	storeFile
	written int64 // where the next Write goes
	filled  int64 // the file's size

	around func(sync func()) // see Options.AroundSync
	sync   func()
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// newLogFile returns the log file that was opened to be written from its beginning.
func newLogFile(f storeFile, around func(sync func())) (vfs.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	sync := func() { _ = f.SyncData() } // does not return where it fails
	return &logFile{storeFile: f, filled: info.Size(), around: around, sync: sync}, nil
}

func (f *logFile) Write(p []byte) (int, error) {
	n, err := f.storeFile.Write(p)
	f.written += int64(n)
	if err != nil || f.written <= f.filled {
		return n, err
	}
	fill := min(f.written/8, maxFill)
	f.filled = f.written + fill
	_, err = f.WriteAt(zeros[:fill], f.written)
	return n, err
}

func (f *logFile) SyncData() error {
	if f.around == nil {
		return f.storeFile.SyncData()
	}
	f.around(f.sync)
	return nil
}
