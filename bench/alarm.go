package bench

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// alarms are timers of the system, each used by one goroutine at a time. A timer of Go is late by
// up to a millisecond while the process is idle, because the runtime waits for events in whole
// milliseconds; a timer of the system is such an event.
type alarms struct {
	mu   sync.Mutex
	made int
	free []alarm
}

// mostAlarms is how many alarms there are at most, because each is an open file.
const mostAlarms = firstConnections

var errNoAlarm = errors.New("all alarms are in use")

type alarm struct {
	fd   int
	file *os.File // over fd
}

// sleep returns after d. Where all alarms are in use, or the system gives the process no more of
// them, it is as late as time.Sleep.
func (s *alarms) sleep(d time.Duration) {
	a, err := s.take()
	if err != nil {
		time.Sleep(d)
		return
	}
	a.sleep(d)
	s.mu.Lock()
	s.free = append(s.free, a)
	s.mu.Unlock()
}

func (s *alarms) take() (a alarm, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		a, s.free = s.free[n-1], s.free[:n-1]
		return a, nil
	}
	if s.made == mostAlarms {
		return a, errNoAlarm
	}
	a.fd, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err == nil {
		a.file = os.NewFile(uintptr(a.fd), "timer")
		s.made++
	}
	return a, err
}

func (a alarm) sleep(d time.Duration) {
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(max(int64(d), 1))} // 0 would never end
	err := unix.TimerfdSettime(a.fd, 0, &at, nil)
	if err == nil {
		var expired [8]byte
		_, err = a.file.Read(expired[:])
	}
	if err != nil {
		panic("bench: a timer of the system: " + err.Error())
	}
}

// close gives the timers back to the system. No sleep may be under way.
func (s *alarms) close() {
	for _, a := range s.free {
		_ = a.file.Close()
	}
}
