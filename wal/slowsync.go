package wal

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// SlowSync returns the machine's file system with every sync of a file taking longer by delay,
// for load tests: the disks of many test machines answer a sync faster than those that serve.
func SlowSync(delay time.Duration) FS {
	return errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			time.Sleep(delay)
		default:
		}
		return nil
	}))
}
