//go:build !unix

package wal

// lockedBy returns 0: here the system does not say which process has locked a file.
func lockedBy(string) (pid int, err error) { return 0, nil }
