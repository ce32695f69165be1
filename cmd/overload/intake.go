package overload

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Intake measures how long a request waits before the engine begins to read it. While the
// processors are busy, Go's scheduler goes on with work that has begun before it looks for what
// has arrived on connections: requests beyond what the engine can do wait there, where nothing
// refuses them. A byte in a pipe waits in the same queue, and so measures the wait.
type Intake struct {
	Late atomic.Bool // requests wait too long

	connections func() int64 // number of open connections
	many        int64        // see ManyConnections
	sent        atomic.Int64 // when the byte on its way was sent, in nanoseconds since began; 0: there is none
	from        *os.File
	to          *os.File
}

// A request that waits for mostIntake waits too long. From then on new work is refused, which
// takes far less time than doing it, until the wait is down to backIntake.
const (
	mostIntake  = 30 * time.Millisecond
	backIntake  = 12 * time.Millisecond
	intakeEvery = 10 * time.Millisecond
)

// NewIntake returns a measurement that Run carries out. connections returns how many are open.
func NewIntake(connections func() int64) (*Intake, error) {
	i := &Intake{connections: connections, many: int64(ManyConnections())}
	var err error
	if i.from, i.to, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	return i, nil
}

// Run measures until the context ends.
func (i *Intake) Run(ctx context.Context) {
	began := time.Now()
	read := make(chan struct{})
	go func() { defer close(read); i.read(began) }()
	ticker := time.NewTicker(intakeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = i.to.Close()
			<-read
			_ = i.from.Close()
			return
		case <-ticker.C:
		}
		switch sent := i.sent.Load(); {
		case !i.Crowded():
			i.Late.Store(false)
		case sent == 0:
			i.sent.Store(int64(time.Since(began)))
			_, _ = i.to.Write([]byte{1}) // the pipe is empty: it has room
		case time.Since(began)-time.Duration(sent) > mostIntake:
			i.Late.Store(true)
		}
	}
}

// Crowded reports whether there are so many connections that requests may wait for each other.
func (i *Intake) Crowded() bool { return i.connections() > i.many }

// read takes the bytes and learns how long they waited.
func (i *Intake) read(began time.Time) {
	var b [1]byte
	for {
		if _, err := i.from.Read(b[:]); err != nil {
			return // the pipe was closed
		}
		i.waited(time.Since(began) - time.Duration(i.sent.Load()))
		i.sent.Store(0)
	}
}

// waited takes how long a byte waited.
func (i *Intake) waited(d time.Duration) {
	switch {
	case d > mostIntake:
		i.Late.Store(true)
	case d < backIntake:
		i.Late.Store(false)
	}
}
