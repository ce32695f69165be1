// Package machine has what a process takes from the machine that it runs on: clocks, entropy,
// and the processor time that it has used. Only cmd hands them inwards.
package machine

import (
	"syscall"
	"time"

	"pixd/actors/clock"
	"pixd/actors/pix"
)

// wallAhead is set by the linker, in a test of machines whose clocks differ: the time by which Wall is
// ahead of this machine's wall clock, as Go writes durations.
var wallAhead string

// Clocks returns the two clocks of this machine.
func Clocks() clock.Sources {
	start := time.Now()
	ahead, _ := time.ParseDuration(wallAhead)
	return clock.Sources{
		Wall:    func() pix.Millis { return pix.Millis(time.Now().Add(ahead).UnixMilli()) },
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
