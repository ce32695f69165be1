package wal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// ownLocks are the lock files on the disk that this process has locked. The system would give
// the process another lock of such a file, and would release all of them when the process closes
// the file once.
type ownLocks struct {
	mu  sync.Mutex
	all []*ownLock
}

var own ownLocks

var errOwn = errors.New("this process has the lock")

type ownLock struct {
	of   *ownLocks
	file fs.FileInfo
	held io.Closer
}

// lock calls lock, which locks the file, unless this process has locked the file already. The
// locks of a file system in memory are not kept here.
func (o *ownLocks) lock(name string, lock func() (io.Closer, error)) (io.Closer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if file, err := os.Stat(name); err == nil && slices.ContainsFunc(o.all, func(l *ownLock) bool { return os.SameFile(l.file, file) }) {
		return nil, errOwn
	}
	held, err := lock()
	if err != nil {
		return nil, err
	}
	file, err := os.Stat(name)
	if err != nil {
		return held, nil //nolint:nilerr // a file system in memory has no such file on the disk
	}
	l := &ownLock{o, file, held}
	o.all = append(o.all, l)
	return l, nil
}

// Close implements io.Closer: it releases the lock.
func (l *ownLock) Close() error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.all = slices.DeleteFunc(l.of.all, func(other *ownLock) bool { return other == l })
	return l.held.Close()
}
