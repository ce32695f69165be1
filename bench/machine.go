package bench

import (
	"runtime"

	"github.com/prometheus/procfs"
)

// describeMachine says what computer this is.
func describeMachine() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.GOMAXPROCS(0), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return m
	}
	if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 && cpus[0].ModelName != "" {
		m.CPU = cpus[0].ModelName
	}
	if memory, err := fs.Meminfo(); err == nil && memory.MemTotal != nil {
		m.Memory = *memory.MemTotal << 10 // it counts KiB
	}
	return m
}

// processors is the time of all processors of this machine since it was started, in seconds.
type processors struct{ all, stolen float64 }

// processorTime reads the processors' time; zero where the system does not say.
func processorTime() processors {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return processors{}
	}
	stat, err := fs.Stat()
	if err != nil {
		return processors{}
	}
	t := stat.CPUTotal // its guests' time is in User and Nice
	return processors{all: t.User + t.Nice + t.System + t.Idle + t.Iowait + t.IRQ + t.SoftIRQ + t.Steal, stolen: t.Steal}
}

// since returns the share (0 to 1) of the time after before in which the host let other machines
// run on these processors although they had work to do; nil where the system does not say.
func (p processors) since(before processors) *float64 {
	all, stolen := p.all-before.all, p.stolen-before.stolen
	if all <= 0 || stolen < 0 {
		return nil
	}
	share := min(stolen/all, 1)
	return &share
}

// ownMemory is the resident size of this process in bytes; 0 where the system does not say.
func ownMemory() uint64 {
	self, err := procfs.Self()
	if err != nil {
		return 0
	}
	stat, err := self.Stat()
	if err != nil {
		return 0
	}
	return uint64(stat.ResidentMemory()) //nolint:gosec // not negative
}
