package snapshots

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/valyala/fasthttp"

	"pixd/cmd/journal"
	"pixd/httpapi/control"
	"pixd/snapshot"
)

// What room is asked for.
const (
	aSnapshot    = "for a snapshot"
	verification = "to verify a snapshot"
)

// room refuses what would leave less than the free-disk mark in the folder of snapshots. need is how
// many bytes it may still write: a snapshot is smaller once it is compressed.
func (s *Maker) room(what string, need uint64) error {
	if err := s.FS.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("folder of snapshots: %w", err)
	}
	free, err := snapshot.Free(s.FS, s.Dir)
	if err != nil {
		return err
	}
	if free < need+s.MinFree {
		return control.Refuse(fasthttp.StatusServiceUnavailable, "too little disk is free %s: it may need %s, %s has %s, and %s must stay free",
			what, humanize.IBytes(need), s.Dir, humanize.IBytes(free), humanize.IBytes(s.MinFree))
	}
	return nil
}

// DiskEvery is the time between two looks at the free space of the data folder's disk while a
// snapshot is made or verified.
const DiskEvery = time.Second

// watchDisk gives the snapshot up when the data folder's disk gets full, which need not be the
// disk of the snapshots: the copy's links keep tables there that the journal has dropped.
func (s *Maker) watchDisk(ctx context.Context, giveUp context.CancelCauseFunc) {
	watch(ctx, giveUp, s.dataRoom)
}

// watch asks every DiskEvery whether there is room, until ctx ends, and gives up with the error if there is not.
func watch(ctx context.Context, giveUp context.CancelCauseFunc, room func() error) {
	ticker := time.NewTicker(DiskEvery)
	defer ticker.Stop()
	for {
		if err := room(); err != nil {
			giveUp(err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// dataRoom returns an error where less than the free-disk mark is left on the data folder's
// disk. A disk that does not say how much is free counts as one with room.
func (s *Maker) dataRoom() error {
	free, err := snapshot.Free(s.FS, s.DataDir)
	if err == nil && free < s.MinFree {
		return fmt.Errorf("too little disk is free beside a snapshot: %s has %s, and %s must stay free", s.DataDir, humanize.IBytes(free), humanize.IBytes(s.MinFree))
	}
	return nil
}

// roomEvery is the number of bytes that are packed between two looks at the free disk space.
const roomEvery = 64 << 20

// packing returns what is told of the progress of a snapshot. It ends the work when the engine
// ends, and when the disk gets full beside it.
func (s *Maker) packing(ctx context.Context) func(journal.Packing) error {
	looked := int64(0)
	return func(p journal.Packing) error {
		if p.Need > 0 {
			return s.room(aSnapshot, uint64(p.Need))
		}
		s.mu.Lock()
		s.run.Stage, s.run.Done, s.run.Total = p.Stage, p.Done, p.Total
		s.mu.Unlock()
		if p.Done-looked >= roomEvery {
			looked = p.Done
			if err := s.room(aSnapshot, 0); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	}
}
