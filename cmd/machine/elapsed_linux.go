package machine

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pixd/actors/pix"
)

// elapsed returns CLOCK_BOOTTIME, which goes on while the machine is suspended; on a kernel
// without it, the time since the process started.
func elapsed(process func() time.Duration) func() pix.Millis {
	if _, ok := boottime(); !ok {
		return func() pix.Millis { return pix.Millis(process() / time.Millisecond) }
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
func (b *boot) now() pix.Millis {
	now := int64(b.process())
	if at := b.at.Load(); at != 0 && now-at < int64(time.Millisecond) {
		return pix.Millis(b.read.Load())
	}
	fresh, _ := boottime()
	for {
		last := b.read.Load()
		if int64(fresh) <= last {
			fresh = pix.Millis(last)
			break
		}
		if b.read.CompareAndSwap(last, int64(fresh)) {
			break
		}
	}
	b.at.Store(now)
	return fresh
}

func boottime() (pix.Millis, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, false
	}
	return pix.Millis(t.Nano() / int64(time.Millisecond)), true
}
