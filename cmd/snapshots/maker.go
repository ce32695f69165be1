package snapshots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/pix"
	"pixd/cmd/journal"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/snapshot"
	"pixd/wal"
)

// checkpointFolder is the folder within a data folder in which a snapshot's copy of the
// journal lies while it is packed. Its files are links to the journal's, so it must be on the
// journal's file system.
const checkpointFolder = "checkpoint"

// AlertFailed is the kind of the alert that a snapshot could not be made.
const AlertFailed = "snapshot_failed"

// Options are what a Maker works with.
type Options struct {
	DataDir     string // the engine's data folder
	Dir         string // folder of the snapshots
	SimDir      string // folder of the book of the simulator in this process; empty: there is none
	ISPB        string // the service's own ISPB
	Version     string // of the program
	Every       time.Duration
	Turn        func() bool // reports whether this process, of several, makes the next one of Every; nil: it does
	Full        int         // where Every makes them, each upon the one before, so many make a row of which the first has all its files; 1: each has
	Keep        int         // how many snapshots are kept; 0: all
	MaxSize     int64       // bytes of all kept snapshots together; 0: no limit
	MinFree     uint64      // least number of free bytes on the disks of DataDir and Dir
	PackCommand []string    // arguments with which this program calls PlayPacker; nil: this process packs
	FS          snapshot.FS // of DataDir and Dir

	Store *wal.Store
	Now   func() pix.Millis
	Raise func(kind, message string) // raises an alert that belongs to no account
	// Folder is shared by all that one process makes for Dir, one after the other: the end of one may not have waited for what
	// it did there. Nil: there is no other.
	Folder *sync.RWMutex
	Ending context.Context //nolint:containedctx // ends with the engine, and cuts short the snapshot that is being made
	Log    *slog.Logger
}

// Maker makes snapshots of a running engine, one at a time, and verifies them, one at a time.
type Maker struct {
	Options

	mu           sync.Mutex
	run          *admin.SnapshotRun   // the snapshot that is being made; nil: none
	last         *admin.SnapshotRun   // the one that ended last since the start; nil: none
	made, unmade uint64               // how many were finished since the start, and how many failed
	check        *admin.SnapshotCheck // the verification that runs; nil: none
	checked      *admin.SnapshotCheck // the one that ended last since the start; nil: none
	ended        bool
	left         bool      // Close has left work undone
	latest       time.Time // when the newest snapshot in the folder was made, as it was read last; zero: there is none
	looked       bool      // the folder could be read
	// What only the snapshot that is being made uses:
	sums   map[string]string  // SHA-256 of the journal's tables, by their paths in a copy
	newest *snapshot.Manifest // of the one made last since the start; nil: none was

	swept   chan struct{}  // closed when what a crash has left in Dir is removed, or cannot be
	copying sync.WaitGroup // what uses Store
	work    sync.WaitGroup // that, and what uses Dir
}

// NewMaker makes a maker, after it has removed what a crash has left of an unfinished snapshot in the data folder. The folder
// of snapshots may be on another machine, which does not answer: no start waits for it, and none fails because of it.
func NewMaker(o Options) (*Maker, error) {
	if err := o.FS.RemoveAll(filepath.Join(o.DataDir, checkpointFolder)); err != nil {
		return nil, fmt.Errorf("what an unfinished snapshot has left: %w", err)
	}
	s := &Maker{Options: o, swept: make(chan struct{})}
	if s.Folder == nil {
		s.Folder = new(sync.RWMutex)
	}
	go func() {
		s.sweep()
		s.watchFolder()
	}()
	return s, nil
}

// sweep removes what a crash has left of an unfinished snapshot, and of a verification, in the folder of snapshots, once
// nobody else of this process works there.
func (s *Maker) sweep() {
	s.Folder.Lock()
	defer s.Folder.Unlock()
	defer close(s.swept)
	if s.Ending.Err() != nil {
		return
	}
	if err := errors.Join(s.FS.RemoveAll(filepath.Join(s.Dir, verifyFolder)), snapshot.Sweep(s.FS, s.Dir)); err != nil && s.Ending.Err() == nil {
		s.Raise(AlertFailed, "what an unfinished snapshot or a verification has left is not removed: "+err.Error())
	}
}

// sweptWithin is how long a request for a snapshot or a verification waits for what is removed after a start.
const sweptWithin = 5 * time.Second

// awaitSweep waits until what a crash has left is removed, which takes room, for sweptWithin at most.
func (s *Maker) awaitSweep() error {
	select {
	case <-s.Ending.Done():
		return errEnded
	case <-s.swept:
		return nil
	case <-time.After(sweptWithin):
		return control.Refuse(fasthttp.StatusServiceUnavailable, "what an unfinished snapshot has left is still being removed from %s", s.Dir)
	}
}

// Run makes a snapshot each Every, counted from the newest one in the folder, until ctx ends. It
// returns at once if Every is 0.
func (s *Maker) Run(ctx context.Context) {
	if s.Every == 0 {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-s.swept:
	}
	timer := time.NewTimer(s.untilNext(time.Now()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if s.Turn != nil && !s.Turn() {
			timer.Reset(min(s.Every, turnEvery))
			continue
		}
		upon, err := s.scheduled()
		if err == nil {
			_, err = s.begin(upon)
		}
		if errors.Is(err, errEnded) {
			return
		}
		if err != nil && !errors.Is(err, errRuns) && ctx.Err() == nil {
			s.failed("", err)
		}
		timer.Reset(s.Every)
	}
}

// turnEvery is how often a process whose turn it is not asks again.
const turnEvery = time.Second

// untilNext is how long the schedule waits for its first snapshot.
func (s *Maker) untilNext(now time.Time) time.Duration {
	at, ok, err := snapshot.Newest(s.FS, s.Dir)
	if err != nil || !ok {
		return 0
	}
	return min(max(at.Add(s.Every).Sub(now), 0), s.Every)
}

var (
	errRuns  = control.Refuse(fasthttp.StatusConflict, "a snapshot is under way")
	errEnded = control.Refuse(fasthttp.StatusServiceUnavailable, "the engine is starting or ending")
)

// Start implements admin.Snapshots.
func (s *Maker) Start(base string) (admin.SnapshotRun, error) {
	if err := s.awaitSweep(); err != nil {
		return admin.SnapshotRun{}, err
	}
	upon, err := s.base(base)
	if err != nil {
		return admin.SnapshotRun{}, err
	}
	return s.begin(upon)
}

// begin begins a snapshot upon the one of a path; empty: it has all its files.
func (s *Maker) begin(upon string) (run admin.SnapshotRun, err error) {
	need := func() uint64 {
		if upon != "" {
			return 0 // how much has changed is known once the copy is read: see packing
		}
		return s.Store.DiskUsage()
	}
	err = s.admit(aSnapshot, s.mayBegin, need, func() {
		s.run = &admin.SnapshotRun{StartedAt: s.Now(), Stage: "copying"}
		if upon != "" {
			s.run.Base = filepath.Base(upon)
		}
		run = *s.run
		s.copying.Add(1)
		s.work.Add(1)
		go s.carryOut(upon)
	})
	return run, err
}

// admit begins work where it may and where there is room. may and begin are called with the lock, and need, of how many bytes
// it may write, as well; the folder is asked without it, because it may not answer, and figures need the lock.
func (s *Maker) admit(what string, may func() error, need func() uint64, begin func()) error {
	s.mu.Lock()
	err := may()
	var bytes uint64
	if err == nil {
		bytes = need()
	}
	s.mu.Unlock()
	if err == nil {
		err = s.room(what, bytes)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := may(); err != nil {
		return err
	}
	begin()
	return nil
}

// mayBegin returns an error where no snapshot may begin now. It is called with the lock.
func (s *Maker) mayBegin() error {
	switch {
	case s.ended:
		return errEnded
	case s.run != nil:
		return errRuns
	}
	return nil
}

// checkpoint copies the journal into the folder, which must be on its file system, and returns
// the job to pack it. After it the store is not used.
func (s *Maker) checkpoint(ctx context.Context, folder string) (j journal.PackJob, err error) {
	defer s.copying.Done()
	s.awaitSecond(ctx)
	if err := s.FS.RemoveAll(folder); err != nil {
		return j, err
	}
	j = journal.PackJob{
		Folder: folder, Dir: s.Dir, CreatedAt: time.UnixMilli(int64(s.Now())), Engine: s.Version, ISPB: s.ISPB, SimDir: s.SimDir,
	}
	if abs, err := filepath.Abs(j.SimDir); j.SimDir != "" && err == nil {
		j.SimDir = abs
	}
	j.Verified.Position, j.Verified.Time, j.Verified.Sum, err = s.Store.Checkpoint(filepath.Join(folder, journal.Folder))
	return j, err
}

// carryOut makes the snapshot that Start began, and says how it ended.
func (s *Maker) carryOut(base string) {
	defer s.work.Done()
	s.Folder.RLock()
	defer s.Folder.RUnlock()
	ctx, cancel := context.WithCancelCause(s.Ending)
	watched := make(chan struct{})
	go func() { defer close(watched); s.watchDisk(ctx, cancel) }()
	path, err := s.create(ctx, base)
	cancel(nil)
	<-watched
	if err != nil && s.Ending.Err() == nil {
		s.failed(path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.run = s.run, nil
	s.last.FinishedAt, s.last.Path = s.Now(), path
	if path == "" {
		s.last.Err = err.Error()
		return
	}
	s.made++
	s.Log.Info("snapshot made", "file", path, "took", (time.Duration(s.last.FinishedAt-s.last.StartedAt) * time.Millisecond).String())
}

// failed raises the alert that no snapshot was made, or, if path names one, that what had to be
// removed after it is still there.
func (s *Maker) failed(path string, err error) {
	why := "no snapshot was made: "
	if path != "" {
		why = path + " was made, but old snapshots or the journal's copy could not be removed: "
	} else {
		s.mu.Lock()
		s.unmade++
		s.mu.Unlock()
	}
	s.Raise(AlertFailed, why+err.Error())
}

// create copies the journal, packs the copy upon a base, and removes it and the oldest snapshots. If only
// the removing fails, it returns both the snapshot's path and an error.
func (s *Maker) create(ctx context.Context, base string) (path string, err error) {
	folder := filepath.Join(s.DataDir, checkpointFolder)
	defer func() { err = errors.Join(err, s.FS.RemoveAll(folder)) }()
	job, err := s.checkpoint(ctx, folder)
	if err != nil {
		return "", err
	}
	job.Base = base
	var tables []string
	if job.Sums, tables, err = s.knownOf(folder); err != nil {
		return "", err
	}
	if s.PackCommand == nil {
		path, err = journal.Pack(s.FS, job, s.packing(ctx))
	} else {
		path, err = packOutside(ctx, s.PackCommand, job, s.packing(ctx))
	}
	if why := context.Cause(ctx); why != nil && path == "" {
		err = why // what ended the work, in place of what it says of its end
	}
	if err != nil {
		return "", errors.Join(err, snapshot.Sweep(s.FS, s.Dir))
	}
	if err := s.learn(path, tables); err != nil {
		return "", err
	}
	err = s.retain(path)
	s.lookAtFolder()
	s.tellDoubtful()
	return path, err
}

// awaitSecond waits until the next second where a snapshot of the journal as it is now would have the
// name of the one before.
func (s *Maker) awaitSecond(ctx context.Context) {
	position, _, _ := s.Store.Head()
	now := time.UnixMilli(int64(s.Now()))
	if s.newest == nil || s.newest.Position() != position || !s.newest.CreatedAt.Equal(now.Truncate(time.Second)) {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(s.newest.CreatedAt.Add(time.Second).Sub(now)):
	}
}

// closeWithin is how long Close waits for what is done in the folder of snapshots.
const closeWithin = 2 * time.Second

// Close waits for the snapshot that is being made and for the verification, which the engine's end cuts
// short, and refuses every later one. The store is not used after it; work in a folder that does not answer is left to itself.
func (s *Maker) Close() {
	s.mu.Lock()
	s.ended = true
	left := s.left
	s.mu.Unlock()
	s.copying.Wait()
	if left {
		return // it has been waited for
	}
	ended := make(chan struct{})
	go func() {
		s.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(closeWithin):
		s.mu.Lock()
		s.left = true
		s.mu.Unlock()
		s.Log.Warn("the folder of snapshots does not answer, and is not waited for", "folder", s.Dir)
	}
}

// Runs implements admin.Snapshots.
func (s *Maker) Runs() (run, last *admin.SnapshotRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.run), copied(s.last)
}

func copied[T any](r *T) *T {
	if r == nil {
		return nil
	}
	c := *r
	return &c
}

// List implements admin.Snapshots.
func (s *Maker) List() ([]admin.Snapshot, error) {
	return List(s.FS, s.Dir, time.UnixMilli(int64(s.Now())))
}
