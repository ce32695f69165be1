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

// admission decides whether merchants' new work is refused before any money is held or any
// row written: because the disk is nearly full, the journal does not answer, or too many
// requests are in hand. Reads, notices, outcomes and operators' requests are never refused by
// it, because they help to finish work that has begun.
type admission struct {
	free     func() (uint64, error) // free bytes of the disk on which the journal lies
	minFree  uint64
	progress func() (submitted, durable wal.Ticket)
	inHand   *atomic.Int64 // number of merchants' requests in hand
	refused  atomic.Uint64 // requests that were refused because too many are in hand
	late     *atomic.Bool  // requests wait too long before they are read
	alerts   *alerts
	log      *slog.Logger

	lowDisk, stalled atomic.Bool // written by the goroutine of watch alone

	// The state that watch keeps between two calls of look.
	diskAt   time.Time // time at which lookAtDisk runs next
	blind    bool      // the last attempt to read the free space failed
	waiting  bool      // at the last look, an entry was submitted that was not durable yet
	last     wal.Ticket
	movedAt  time.Time     // when last was first seen as the newest durable ticket
	deadline time.Duration // longest time without a newly durable entry while entries wait
}

const (
	alertLowDisk = "low_disk"

	lookEvery   = 250 * time.Millisecond
	diskEvery   = time.Second
	commitLimit = 5 * time.Second

	// enoughInHand is how many requests keep the processors busy: while requests wait too long
	// to be read, those beyond it are refused. The more there are, the less often the engine
	// looks for what has arrived. At twice the peak, on two cores which the sender of the load
	// shares, five loads of each: with 384, 72 % of the peak was carried out, with 512 79 %, with
	// 640 91 %. docs/results.md has what each left unanswered.
	enoughInHand = 640
)

// The reasons why new work is refused, as merchants read them.
const (
	closedDisk    = "storage is nearly full: new requests are refused for now"
	closedStalled = "storage does not answer: new requests are refused for now"
	closedBusy    = "too many requests in hand: new requests are refused for now"
)

func newAdmission(c *Config, s *wal.Store, inHand *atomic.Int64, late *atomic.Bool) *admission {
	d := &admission{
		free: s.Free, minFree: uint64(max(c.MinFreeDisk, 0)), inHand: inHand, late: late, alerts: c.alerts, log: c.Log, deadline: cmp.Or(c.commitLimit, commitLimit),
		progress: func() (wal.Ticket, wal.Ticket) {
			durable := s.Durable() // read before submitted, so that durable is never more than submitted
			return s.Submitted(), durable
		},
	}
	d.look(time.Now())
	return d
}

// Closed returns why new work is refused; empty: new work is accepted. The call costs two
// atomic loads.
func (d *admission) Closed() string {
	switch {
	case d.lowDisk.Load():
		return closedDisk
	case d.stalled.Load():
		return closedStalled
	}
	return ""
}

// Busy returns why new work of accounts with more than their share is refused; empty: it is
// accepted. The call costs two or three atomic loads.
func (d *admission) Busy() string {
	if n := d.inHand.Load(); n > httpapi.MaxInHand || n > enoughInHand && d.late.Load() {
		return closedBusy
	}
	return ""
}

// watch calls look every lookEvery until ctx ends.
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

// lookAtJournal finds a commit that takes longer than deadline: entries wait to become
// durable, and for that long none has become durable.
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

// lookAtDisk compares the free space with minFree. Where the free space cannot be read, the
// admission stays as it is: a disk that is really full ends the process at the next write.
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
