package engine

import (
	"time"

	"golang.org/x/sys/unix"

	"pixd/actors/ledger"
)

// elapsed returns CLOCK_BOOTTIME, which goes on while the machine is suspended; on a kernel
// without it, the time since the process started.
func elapsed(process func() time.Duration) func() ledger.Millis {
	if _, ok := boottime(); !ok {
		return func() ledger.Millis { return ledger.Millis(process() / time.Millisecond) }
	}
	return func() ledger.Millis {
		at, _ := boottime()
		return at
	}
}

func boottime() (ledger.Millis, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, false
	}
	return ledger.Millis(t.Nano() / int64(time.Millisecond)), true
}
