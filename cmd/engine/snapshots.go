package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/snapshot"
)

// checkpointFolder is the folder within a data folder in which a snapshot's copy of the
// journal lies while it is packed. Its files are links to the journal's, so it must be on the
// journal's file system.
const checkpointFolder = "checkpoint"

// alertSnapshot is the kind of the alert that a snapshot could not be made.
const alertSnapshot = "snapshot_failed"

// snapshots makes snapshots of a running engine, one at a time.
type snapshots struct {
	e *Engine

	mu           sync.Mutex
	run          *admin.SnapshotRun // the snapshot that is being made; nil: none
	last         *admin.SnapshotRun // the one that ended last since the start; nil: none
	made, unmade uint64             // how many were finished since the start, and how many failed
	ended        bool
	work         sync.WaitGroup
}

func (c *Config) snapshotDir() string {
	if c.SnapshotDir != "" {
		return c.SnapshotDir
	}
	return filepath.Join(c.DataDir, "snapshots")
}

// files is the file system of the data folder and of the snapshots.
func (c *Config) files() snapshot.FS {
	if c.FS != nil {
		return c.FS
	}
	return snapshot.Disk
}

// begin removes what a crash has left, and starts the schedule of --snapshot-every.
func (s *snapshots) begin(ctx context.Context) error {
	c := &s.e.Config
	if err := errors.Join(c.files().RemoveAll(filepath.Join(c.DataDir, checkpointFolder)), snapshot.Sweep(c.files(), c.snapshotDir())); err != nil {
		return fmt.Errorf("what an unfinished snapshot has left: %w", err)
	}
	if c.SnapshotEvery > 0 {
		s.e.work.Go(func() { s.schedule(ctx) })
	}
	return nil
}

// schedule makes a snapshot each SnapshotEvery, counted from the newest one in the folder.
func (s *snapshots) schedule(ctx context.Context) {
	timer := time.NewTimer(s.untilNext(time.Now()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if _, err := s.Start(); err != nil && !errors.Is(err, errSnapshotRuns) && ctx.Err() == nil {
			s.failed("", err)
		}
		timer.Reset(s.e.Config.SnapshotEvery)
	}
}

// untilNext is how long the schedule waits for its first snapshot.
func (s *snapshots) untilNext(now time.Time) time.Duration {
	c := &s.e.Config
	at, ok, err := snapshot.Newest(c.files(), c.snapshotDir())
	if err != nil || !ok {
		return 0
	}
	return min(max(at.Add(c.SnapshotEvery).Sub(now), 0), c.SnapshotEvery)
}

var errSnapshotRuns = control.Refuse(fasthttp.StatusConflict, "a snapshot is under way")

// Start implements admin.Snapshots.
func (s *snapshots) Start() (admin.SnapshotRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return admin.SnapshotRun{}, errNotReady
	case s.run != nil:
		return *s.run, errSnapshotRuns
	}
	if err := s.room(s.e.Store.DiskUsage()); err != nil {
		return admin.SnapshotRun{}, err
	}
	s.run = &admin.SnapshotRun{StartedAt: s.e.Clock.Now(), Stage: "copying"}
	s.work.Add(1)
	go s.carryOut()
	return *s.run, nil
}

// room refuses a snapshot after which less than the free-disk mark would be left. need is how
// many bytes it may still write: compressed it is smaller.
func (s *snapshots) room(need uint64) error {
	c := &s.e.Config
	dir := c.snapshotDir()
	if err := c.files().MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("folder of snapshots: %w", err)
	}
	free, err := snapshot.Free(c.files(), dir)
	if err != nil {
		return err
	}
	if mark := uint64(max(c.MinFreeDisk, 0)); free < need+mark {
		return control.Refuse(fasthttp.StatusServiceUnavailable, "too little disk is free for a snapshot: it may need %s, %s has %s, and %s must stay free",
			humanize.IBytes(need), dir, humanize.IBytes(free), humanize.IBytes(mark))
	}
	return nil
}

// carryOut makes the snapshot that Start began, and says how it ended.
func (s *snapshots) carryOut() {
	defer s.work.Done()
	ctx, cancel := context.WithCancelCause(s.e.ending)
	watched := make(chan struct{})
	go func() { defer close(watched); s.watchDisk(ctx, cancel) }()
	path, err := s.create(ctx)
	cancel(nil)
	<-watched
	if err != nil && s.e.ending.Err() == nil {
		s.failed(path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.run = s.run, nil
	s.last.FinishedAt, s.last.Path = s.e.Clock.Now(), path
	if path == "" {
		s.last.Err = err.Error()
		return
	}
	s.made++
	s.e.Config.Log.Info("snapshot made", "file", path, "took", (time.Duration(s.last.FinishedAt-s.last.StartedAt) * time.Millisecond).String())
}

// failed raises the alert that no snapshot was made, or, if path names one, that what had to be
// removed after it is still there.
func (s *snapshots) failed(path string, err error) {
	why := "no snapshot was made: "
	if path != "" {
		why = path + " was made, but old snapshots or the journal's copy could not be removed: "
	} else {
		s.mu.Lock()
		s.unmade++
		s.mu.Unlock()
	}
	s.e.Config.alerts.raise(alertSnapshot, why+err.Error())
}

// create copies the journal, packs the copy, and removes it and the oldest snapshots. If only
// the removing fails, it returns both the snapshot's path and an error.
func (s *snapshots) create(ctx context.Context) (path string, err error) {
	c := &s.e.Config
	folder := filepath.Join(c.DataDir, checkpointFolder)
	defer func() { err = errors.Join(err, c.files().RemoveAll(folder)) }()
	job, err := s.checkpoint(folder)
	if err != nil {
		return "", err
	}
	if c.PackCommand == nil {
		path, err = Pack(c.files(), job, s.packing(ctx))
	} else {
		path, err = packOutside(ctx, c.PackCommand, job, s.packing(ctx))
	}
	if why := context.Cause(ctx); why != nil && path == "" {
		err = why // what ended the work, in place of what it says of its end
	}
	if err != nil {
		return "", errors.Join(err, snapshot.Sweep(c.files(), c.snapshotDir()))
	}
	removed, err := snapshot.Retain(c.files(), c.snapshotDir(), path, c.SnapshotKeep, c.SnapshotMaxSize)
	for _, r := range removed {
		c.Log.Info("old snapshot removed", "file", r)
	}
	s.tellFuture()
	return path, err
}

// tellFuture logs which snapshots were made, by their own word, in the future.
func (s *snapshots) tellFuture() {
	all, err := s.List()
	if err != nil {
		return // Retain has just said why
	}
	for _, l := range all {
		if l.Warning != nil {
			s.e.Config.Log.Warn("snapshot: "+*l.Warning, "file", l.Path, "created_at", *l.CreatedAt)
		}
	}
}

// roomEvery is the number of bytes that are packed between two looks at the free disk space.
const roomEvery = 64 << 20

// packing returns what is told of the progress of a snapshot. It ends the work when the engine
// ends, and when the disk gets full beside it.
func (s *snapshots) packing(ctx context.Context) func(Packing) error {
	looked := int64(0)
	return func(p Packing) error {
		s.mu.Lock()
		s.run.Stage, s.run.Done, s.run.Total = p.Stage, p.Done, p.Total
		s.mu.Unlock()
		if p.Done-looked >= roomEvery {
			looked = p.Done
			if err := s.room(0); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	}
}

// watchDisk gives the snapshot up when the data folder's disk gets full, which need not be the
// disk of the snapshots: the copy's links keep tables there that the journal has dropped.
func (s *snapshots) watchDisk(ctx context.Context, giveUp context.CancelCauseFunc) {
	ticker := time.NewTicker(diskEvery)
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
func (s *snapshots) dataRoom() error {
	c := &s.e.Config
	free, err := snapshot.Free(c.files(), c.DataDir)
	if mark := uint64(max(c.MinFreeDisk, 0)); err == nil && free < mark {
		return fmt.Errorf("too little disk is free beside a snapshot: %s has %s, and %s must stay free", c.DataDir, humanize.IBytes(free), humanize.IBytes(mark))
	}
	return nil
}

// end waits for the snapshot that is being made, which the engine's end cuts short, and refuses
// every later one.
func (s *snapshots) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.work.Wait()
}

// Runs implements admin.Snapshots.
func (s *snapshots) Runs() (run, last *admin.SnapshotRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.run), copied(s.last)
}

func copied(r *admin.SnapshotRun) *admin.SnapshotRun {
	if r == nil {
		return nil
	}
	c := *r
	return &c
}

// List implements admin.Snapshots.
func (s *snapshots) List() ([]admin.Snapshot, error) {
	return ListSnapshots(s.e.Config.files(), s.e.Config.snapshotDir(), time.UnixMilli(int64(s.e.Clock.Now())))
}

// inFuture is the warning about a snapshot that was made later than now, by its own word.
const inFuture = "its time lies in the future: a clock is or was wrong"

// ListSnapshots returns the snapshots in a folder, newest first, with a warning for each that is
// more than a minute younger than now. A nil fsys is the machine's.
func ListSnapshots(fsys snapshot.FS, dir string, now time.Time) ([]admin.Snapshot, error) {
	if fsys == nil {
		fsys = snapshot.Disk
	}
	listed, err := snapshot.List(fsys, dir)
	if err != nil {
		return nil, err
	}
	all := make([]admin.Snapshot, 0, len(listed))
	for i := len(listed) - 1; i >= 0; i-- {
		l := &listed[i]
		row := admin.Snapshot{File: filepath.Base(l.Path), Path: l.Path, Size: l.Size}
		if l.Err != nil {
			why := l.Err.Error()
			row.Err = &why
		} else {
			m := l.Manifest
			created, newest, position := stamp(m.CreatedAt), stamp(m.Logs[0].Time), m.Position()
			row.CreatedAt, row.Newest, row.Position, row.Accounts = &created, &newest, &position, &m.Accounts
			if m.CreatedAt.After(now.Add(time.Minute)) {
				why := inFuture
				row.Warning = &why
			}
			row.Balance, row.Pending, row.MEDHeld = m.Balance, m.Pending, m.MEDHeld
		}
		all = append(all, row)
	}
	return all, nil
}

// stamp is a time as operators see it.
func stamp(t time.Time) string { return pix.Millis(t.UnixMilli()).String() }
