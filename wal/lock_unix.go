//go:build unix

package wal

import (
	"errors"
	"os"
	"syscall"
)

// lockedBy returns the id of the process that has locked a file; 0: none has; -1: one has whose
// id cannot be seen here, as it runs in another container. This process must not have the lock:
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
	if lock.Pid <= 0 {
		return -1, nil
	}
	return int(lock.Pid), nil
}
