// Package machine has what a process takes from the machine that it runs on: clocks, entropy,
// and the processor time that it has used. Only cmd hands them inwards.
package machine

import (
	"syscall"
	"time"

	"pixd/actors/clock"
	"pixd/actors/pix"
)

// Clocks returns the two clocks of this machine.
func Clocks() clock.Sources {
	start := time.Now()
	return clock.Sources{
		Wall:    func() pix.Millis { return pix.Millis(time.Now().UnixMilli()) },
		Elapsed: elapsed(func() time.Duration { return time.Since(start) }),
	}
}

// CPUTime is the processor time that the process has used; 0 where the system does not say.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
