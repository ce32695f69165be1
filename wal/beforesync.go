package wal

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// BeforeSync returns the machine's file system, which calls do before every sync of a file. A load
// test that waits there measures what slower disks would do.
func BeforeSync(do func()) FS {
	return errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			do()
		default:
		}
		return nil
	}))
}
