//go:build unix

package wal

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockedBy returns the id of the process that has locked a file; 0: none has, or one whose id
// cannot be seen here, as it runs in another container. This process must not have the lock:
// closing the file would release it.
func lockedBy(name string) (pid int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock)
	if err = errors.Join(err, f.Close()); err != nil || lock.Type == syscall.F_UNLCK {
		return 0, err
	}
	return max(0, int(lock.Pid)), nil
}

// lockShared locks a file on the disk for reading, and does not change it. Other processes may
// lock it in the same way, and none may lock it for writing.
func lockShared(name string) (io.Closer, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_RDLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
