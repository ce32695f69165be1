package journal_test

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/cmd/journal"
)

// TestVerifyReadsTables checks that a verification reads the tables as a whole at its end, and fails where one cannot be read.
func TestVerifyReadsTables(t *testing.T) {
	disk := everyRow(t)
	var tables atomic.Bool
	bad := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if tables.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			return syscall.EIO
		}
		return nil
	}))
	_, err := journal.Verify(journal.VerifyOptions{DataDir: "data", FS: bad, TempDir: t.TempDir(), Progress: func(p journal.Progress) {
		if p.Stage == "tables" {
			tables.Store(true)
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "cannot be read") || !tables.Load() {
		t.Errorf("%v: %v", tables.Load(), err)
	}
}
