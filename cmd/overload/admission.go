package overload

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

// Options are what an Admission works with.
type Options struct {
	Free        func() (uint64, error) // free bytes of the disk on which the journal lies
	MinFree     uint64                 // with fewer free bytes, new work is refused; 0: the disk is not looked at
	Progress    func() (submitted, durable wal.Ticket)
	InHand      func() int64               // number of merchants' requests in hand
	Late        func() bool                // requests wait too long before they are read
	Raise       func(kind, message string) // raises an alert that belongs to no account
	Log         *slog.Logger
	CommitLimit time.Duration // longest time without a newly durable entry while entries wait; 0: 5 s
}

// Admission decides whether merchants' new work is refused before any money is held or any
// row written: because the disk is nearly full, the journal does not answer, or too many
// requests are in hand. Reads, notices, outcomes and operators' requests are never refused by
// it, because they help to finish work that has begun.
type Admission struct {
	Options
	Refused atomic.Uint64 // requests that were refused because too many are in hand

	enough int64 // see EnoughInHand

	lowDisk, stalled atomic.Bool // written by the goroutine of Run alone

	// The state that Run keeps between two calls of look.
	diskAt  time.Time // time at which lookAtDisk runs next
	blind   bool      // the last attempt to read the free space failed
	waiting bool      // at the last look, an entry was submitted that was not durable yet
	last    wal.Ticket
	movedAt time.Time // when last was first seen as the newest durable ticket
}

// AlertLowDisk is the kind of the alert that little disk is free.
const AlertLowDisk = "low_disk"

const (
	lookEvery   = 250 * time.Millisecond
	diskEvery   = time.Second
	commitLimit = 5 * time.Second
)

// The reasons why new work is refused, as merchants read them.
const (
	ClosedDisk    = "storage is nearly full: new requests are refused for now"
	ClosedStalled = "storage does not answer: new requests are refused for now"
	ClosedBusy    = "too many requests in hand: new requests are refused for now"
)

// NewAdmission makes an admission and looks at the journal and the disk once; Run goes on.
func NewAdmission(o Options) *Admission {
	o.CommitLimit = cmp.Or(o.CommitLimit, commitLimit)
	a := &Admission{Options: o, enough: int64(EnoughInHand())}
	a.look(time.Now())
	return a
}

// Closed returns why new work is refused; empty: new work is accepted. The call costs two
// atomic loads.
func (a *Admission) Closed() string {
	switch {
	case a.lowDisk.Load():
		return ClosedDisk
	case a.stalled.Load():
		return ClosedStalled
	}
	return ""
}

// Busy returns why new work of accounts with more than their share is refused; empty: it is
// accepted. The call costs two or three atomic loads.
func (a *Admission) Busy() string {
	if n := a.InHand(); n > httpapi.MaxInHand || n > a.enough && a.Late() {
		return ClosedBusy
	}
	return ""
}

// Run looks at the journal and the disk every lookEvery until ctx ends.
func (a *Admission) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.look(time.Now())
		}
	}
}

func (a *Admission) look(at time.Time) {
	a.lookAtJournal(at)
	if a.MinFree > 0 && !at.Before(a.diskAt) {
		a.diskAt = at.Add(diskEvery)
		a.lookAtDisk()
	}
}

// lookAtJournal finds a commit that takes longer than deadline: entries wait to become
// durable, and for that long none has become durable.
func (a *Admission) lookAtJournal(at time.Time) {
	submitted, durable := a.Progress()
	if waited := a.waiting; submitted == durable {
		a.waiting = false
	} else if a.waiting = true; !waited || durable != a.last {
		a.last, a.movedAt = durable, at
	}
	stalled := a.waiting && at.Sub(a.movedAt) >= a.CommitLimit
	if stalled == a.stalled.Load() {
		return
	}
	a.stalled.Store(stalled)
	if stalled {
		a.Log.Error("the journal does not answer: merchants' new work is refused", "for", at.Sub(a.movedAt).String(), "waiting", uint64(submitted-durable))
	} else {
		a.Log.Info("the journal answers again: merchants' new work is taken")
	}
}

// lookAtDisk compares the free space with minFree. Where the free space cannot be read, the
// admission stays as it is: a disk that is really full ends the process at the next write.
func (a *Admission) lookAtDisk() {
	free, err := a.Free()
	if err != nil {
		if !a.blind {
			a.Log.Warn("the free disk space cannot be told", "error", err)
		}
		a.blind = true
		return
	}
	a.blind = false
	low := free < a.MinFree
	if low == a.lowDisk.Load() {
		return
	}
	a.lowDisk.Store(low)
	if low {
		a.Raise(AlertLowDisk, fmt.Sprintf("little disk is free: merchants' new work is refused: %s of at least %s",
			humanize.IBytes(free), humanize.IBytes(a.MinFree)))
	} else {
		a.Log.Info("enough disk is free again: merchants' new work is taken",
			"free", humanize.IBytes(free), "min_free_disk", humanize.IBytes(a.MinFree))
	}
}
