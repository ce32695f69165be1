package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"pixd/httpapi"
	"pixd/wal"
)

// admission tells why merchants' new work is refused before anything is held or
// written: the disk is nearly full, the journal does not answer, or too much is
// in hand. Reads, notices, outcomes and the operators' side do not pass here:
// they end work, and what ends work must go on.
type admission struct {
	free     func() (uint64, error) // bytes of the disk the journal lies on
	minFree  uint64
	progress func() (submitted, durable wal.Ticket)
	inHand   *atomic.Int64 // merchants' requests
	alerts   *alerts
	log      *slog.Logger

	lowDisk, stalled atomic.Bool // written by watch alone

	// What watch keeps between two looks.
	diskAt   time.Time // when the disk is looked at next
	blind    bool      // the disk could not be asked
	waiting  bool      // something was submitted that is not durable
	last     wal.Ticket
	movedAt  time.Time     // since when last is the newest durable, as far as was seen
	deadline time.Duration // how long a commit may take
}

const (
	alertLowDisk = "low_disk"

	lookEvery   = 250 * time.Millisecond
	diskEvery   = time.Second
	commitLimit = 5 * time.Second
)

// Why admission is closed, as merchants read it.
const (
	closedDisk    = "storage is nearly full: new requests are refused for now"
	closedStalled = "storage does not answer: new requests are refused for now"
	closedBusy    = "too many requests in hand: new requests are refused for now"
)

func newAdmission(c *Config, s *wal.Store, inHand *atomic.Int64) *admission {
	d := &admission{
		free: s.Free, minFree: uint64(max(c.MinFreeDisk, 0)), inHand: inHand, alerts: c.alerts, log: c.Log, deadline: cmp.Or(c.commitLimit, commitLimit),
		progress: func() (wal.Ticket, wal.Ticket) {
			durable := s.Durable() // first: what is durable was submitted
			return s.Submitted(), durable
		},
	}
	d.look(time.Now())
	return d
}

// Closed tells why new work is refused; empty: it is not. It costs three loads.
func (d *admission) Closed() string {
	switch {
	case d.lowDisk.Load():
		return closedDisk
	case d.stalled.Load():
		return closedStalled
	case d.inHand.Load() > httpapi.MaxInHand:
		return closedBusy
	}
	return ""
}

// watch looks until the context ends.
func (d *admission) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.look(time.Now())
		}
	}
}

func (d *admission) look(at time.Time) {
	d.lookAtJournal(at)
	if d.minFree > 0 && !at.Before(d.diskAt) {
		d.diskAt = at.Add(diskEvery)
		d.lookAtDisk()
	}
}

// lookAtJournal finds a commit that was not answered in time: something is
// submitted, and what is durable has not moved.
func (d *admission) lookAtJournal(at time.Time) {
	submitted, durable := d.progress()
	if waited := d.waiting; submitted == durable {
		d.waiting = false
	} else if d.waiting = true; !waited || durable != d.last {
		d.last, d.movedAt = durable, at
	}
	stalled := d.waiting && at.Sub(d.movedAt) >= d.deadline
	if stalled == d.stalled.Load() {
		return
	}
	d.stalled.Store(stalled)
	if stalled {
		d.log.Error("the journal does not answer: merchants' new work is refused", "for", at.Sub(d.movedAt).String(), "waiting", uint64(submitted-durable))
	} else {
		d.log.Info("the journal answers again: merchants' new work is taken")
	}
}

// lookAtDisk compares what is free with the mark. Where that cannot be told, the
// admission stays as it is: a disk that is really full ends the process at the next
// write.
func (d *admission) lookAtDisk() {
	free, err := d.free()
	if err != nil {
		if !d.blind {
			d.log.Warn("the free disk space cannot be told", "error", err)
		}
		d.blind = true
		return
	}
	d.blind = false
	low := free < d.minFree
	if low == d.lowDisk.Load() {
		return
	}
	d.lowDisk.Store(low)
	if low {
		d.alerts.raise(alertLowDisk, fmt.Sprintf("little disk is free: merchants' new work is refused: %s of at least %s",
			humanize.IBytes(free), humanize.IBytes(d.minFree)))
	} else {
		d.log.Info("enough disk is free again: merchants' new work is taken",
			"free", humanize.IBytes(free), "min_free_disk", humanize.IBytes(d.minFree))
	}
}
