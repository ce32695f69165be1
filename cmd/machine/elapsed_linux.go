package machine

import (
	"sync/atomic"
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
	return (&boot{process: process}).now
}

// boot reads CLOCK_BOOTTIME once in a millisecond in which the process runs. Each reading is
// a call of the kernel, and a payout asks for the time a dozen times. The clock of the
// process, which stands still while the machine is suspended, is read without such a call.
type boot struct {
	process func() time.Duration
	at      atomic.Int64 // when CLOCK_BOOTTIME was read last, by the process's clock, in ns; 0: never
	read    atomic.Int64 // what was read, in ms; it never goes back
}

// now returns CLOCK_BOOTTIME as it was at most a millisecond ago.
func (b *boot) now() ledger.Millis {
	now := int64(b.process())
	if at := b.at.Load(); at != 0 && now-at < int64(time.Millisecond) {
		return ledger.Millis(b.read.Load())
	}
	fresh, _ := boottime()
	for {
		last := b.read.Load()
		if int64(fresh) <= last {
			fresh = ledger.Millis(last)
			break
		}
		if b.read.CompareAndSwap(last, int64(fresh)) {
			break
		}
	}
	b.at.Store(now)
	return fresh
}

func boottime() (ledger.Millis, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, false
	}
	return ledger.Millis(t.Nano() / int64(time.Millisecond)), true
}
