package snapshots

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/valyala/fasthttp"

	"pixd/httpapi/control"
	"pixd/snapshot"
)

// room refuses a snapshot after which less than the free-disk mark would be left. need is how
// many bytes it may still write: compressed it is smaller.
func (s *Maker) room(need uint64) error {
	if err := s.FS.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("folder of snapshots: %w", err)
	}
	free, err := snapshot.Free(s.FS, s.Dir)
	if err != nil {
		return err
	}
	if free < need+s.MinFree {
		return control.Refuse(fasthttp.StatusServiceUnavailable, "too little disk is free for a snapshot: it may need %s, %s has %s, and %s must stay free",
			humanize.IBytes(need), s.Dir, humanize.IBytes(free), humanize.IBytes(s.MinFree))
	}
	return nil
}

// DiskEvery is the time between two looks at the free space of the data folder's disk while a
// snapshot is made.
const DiskEvery = time.Second

// watchDisk gives the snapshot up when the data folder's disk gets full, which need not be the
// disk of the snapshots: the copy's links keep tables there that the journal has dropped.
func (s *Maker) watchDisk(ctx context.Context, giveUp context.CancelCauseFunc) {
	ticker := time.NewTicker(DiskEvery)
	defer ticker.Stop()
	for {
		if err := s.dataRoom(); err != nil {
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
