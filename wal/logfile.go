package wal

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
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
// it uses again.
type logFile struct {
	storeFile
	written int64 // where the next Write goes
	filled  int64 // the file's size
	grown   bool  // what is beyond written are zeros of this logFile

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
	f.filled, f.grown = f.written+fill, true
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

// Close cuts off the zeros, so that the file ends where the log ends.
func (f *logFile) Close() error {
	if fd := f.Fd(); f.grown && fd != vfs.InvalidFd {
		_ = unix.Ftruncate(int(fd), f.written) // the zeros do no harm
	}
	return f.storeFile.Close()
}
