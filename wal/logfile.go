package wal

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"

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
	written atomic.Int64 // where the next Write goes
	filled  int64        // the file's size

	around func(sync func()) // see Options.AroundSync
	sync   func()
	open   *openLogs
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// newLogFile returns the log file that was opened to be written from its beginning.
func newLogFile(f storeFile, around func(sync func()), open *openLogs) (vfs.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	sync := func() { _ = f.SyncData() } // does not return where it fails
	log := &logFile{storeFile: f, filled: info.Size(), around: around, sync: sync, open: open}
	open.add(log)
	return log, nil
}

func (f *logFile) Write(p []byte) (int, error) {
	n, err := f.storeFile.Write(p)
	written := f.written.Add(int64(n))
	if err != nil || written <= f.filled {
		return n, err
	}
	fill := min(written/8, maxFill)
	f.filled = written + fill
	_, err = f.WriteAt(zeros[:fill], written)
	return n, err
}

// Close implements vfs.File.
func (f *logFile) Close() error {
	f.open.remove(f)
	return f.storeFile.Close()
}

// openLogs are the log files that are being written, by their names.
type openLogs struct {
	mu  sync.Mutex
	all map[string]*logFile
}

func (o *openLogs) add(f *logFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[f.name] = f
}

func (o *openLogs) remove(f *logFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[f.name] == f { // else a newer file has the name
		delete(o.all, f.name)
	}
}

// reader returns a file that was opened for reading, as far as it is written now. A checkpoint
// copies the log while it is being written: the copy would otherwise have the zeros ahead of
// what is written, and behind them chunks that were written meanwhile, which Pebble takes for
// damage.
func (o *openLogs) reader(name string, file vfs.File) vfs.File {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.all[name]; f != nil {
		return &logReader{File: file, left: f.written.Load()}
	}
	return file
}

// logReader reads the first bytes of a log file.
type logReader struct {
	vfs.File
	left int64
}

// Read implements vfs.File.
func (r *logReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.File.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

func (f *logFile) SyncData() error {
	if f.around == nil {
		return f.storeFile.SyncData()
	}
	f.around(f.sync)
	return nil
}
