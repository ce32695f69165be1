package snapshots

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/big"
	"path/filepath"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"pixd/cmd/journal"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/snapshot"
)

// verifyFolder is the folder within that of the snapshots in which one is unpacked while it is verified,
// and its rows are sorted. It is removed afterwards, and at the next start.
const verifyFolder = "verifying"

var errVerifies = control.Refuse(fasthttp.StatusConflict, "a snapshot is being verified")

// Verify implements admin.Snapshots.
func (s *Maker) Verify(file string) (check admin.SnapshotCheck, err error) {
	if err := s.awaitSweep(); err != nil {
		return check, err
	}
	need, err := s.unpackedSize(file)
	if err != nil {
		return check, err
	}
	err = s.admit(verification, s.mayVerify, func() uint64 { return need }, func() {
		s.check = &admin.SnapshotCheck{File: file, StartedAt: s.Now(), Stage: "checksum"}
		check = *s.check
		s.work.Add(1)
		go s.carryOutCheck(filepath.Join(s.Dir, file))
	})
	return check, err
}

// mayVerify returns an error where no verification may begin now. It is called with the lock.
func (s *Maker) mayVerify() error {
	switch {
	case s.ended:
		return errEnded
	case s.check != nil:
		return errVerifies
	case s.run != nil:
		return errRuns
	}
	return nil
}

// unpackedSize returns how many bytes the snapshot of a name has once it is unpacked. Of one that cannot be
// used it is 0: its verification says why.
func (s *Maker) unpackedSize(name string) (uint64, error) {
	if !snapshot.IsName(name) {
		return 0, control.Missing("no snapshot %q", name)
	}
	file := filepath.Join(s.Dir, name)
	if _, err := s.FS.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return 0, control.Missing("no snapshot %q in %s", name, s.Dir)
	}
	var size uint64
	if made, err := snapshot.Open(s.FS, file); err == nil {
		size = uint64(made.Manifest.Size())
	}
	return size, nil
}

// carryOutCheck carries out the verification that Verify began, and says how it ended.
func (s *Maker) carryOutCheck(file string) {
	defer s.work.Done()
	s.Folder.RLock()
	defer s.Folder.RUnlock()
	ctx, cancel := context.WithCancelCause(s.Ending)
	watched := make(chan struct{})
	go func() { defer close(watched); watch(ctx, cancel, s.checkRoom) }()
	totals, err := s.verify(ctx, file)
	if why := context.Cause(ctx); why != nil && err != nil {
		err = why // what ended the work, in place of what it says of its end
	}
	cancel(nil)
	<-watched
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked, s.check = s.check, nil
	s.checked.FinishedAt, s.checked.Totals = s.Now(), totals
	if err == nil {
		s.Log.Info("snapshot verified", "file", file)
		return
	}
	s.checked.Err = err.Error()
	if s.Ending.Err() == nil {
		s.Log.Error("snapshot not verified", "file", file, "error", err)
	}
}

// checkRoom returns an error where less than the free-disk mark is left on one of the disks.
func (s *Maker) checkRoom() error {
	if err := s.dataRoom(); err != nil {
		return err
	}
	return s.room(verification, 0)
}

// verify verifies the snapshot in a file.
func (s *Maker) verify(ctx context.Context, file string) (*admin.SnapshotTotals, error) {
	j := verifyJob{File: file, TempDir: filepath.Join(s.Dir, verifyFolder)}
	if err := errors.Join(s.FS.RemoveAll(j.TempDir), s.FS.MkdirAll(j.TempDir, 0o700)); err != nil {
		return nil, err
	}
	defer func() {
		if err := s.FS.RemoveAll(filepath.Join(s.Dir, verifyFolder)); err != nil {
			s.Log.Error("what a verification has left is not removed", "error", err)
		}
	}()
	if s.PackCommand != nil {
		return verifyOutside(ctx, s.PackCommand, j, s.checking)
	}
	if s.FS != snapshot.Disk {
		j.TempDir = "" // rows are sorted on the machine's disk, whatever file system a test has
	}
	return j.verify(ctx, s.FS, s.checking)
}

// checking takes the progress of the verification. Bytes are those of the stages that count them.
func (s *Maker) checking(p journal.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.check
	c.Stage, c.Records, c.Rows, c.Batches, c.OfBatches = p.Stage, p.Records, p.Rows, p.Batches, p.Of
	if p.OfBytes > 0 {
		c.Done, c.Total = p.Bytes, p.OfBytes
	}
}

// Checks implements admin.Snapshots.
func (s *Maker) Checks() (running, last *admin.SnapshotCheck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.check), copied(s.checked)
}

// verifyJob is the verification of a snapshot.
type verifyJob struct {
	File    string
	TempDir string // an empty folder; empty: the system's for temporary files
}

// verifying is the progress of a verifyJob or, with Totals or Err, its end.
type verifying struct {
	At     journal.Progress
	Totals *admin.SnapshotTotals
	Err    string // why it failed
}

// verify does the job.
func (j *verifyJob) verify(ctx context.Context, fsys snapshot.FS, tell func(journal.Progress)) (*admin.SnapshotTotals, error) {
	v, err := journal.VerifySnapshot(journal.SnapshotOptions{File: j.File, TempDir: j.TempDir, FS: fsys, Progress: tell, Context: ctx})
	if err != nil {
		return nil, err
	}
	f := &v.Found
	return &admin.SnapshotTotals{
		Position: f.Position, Records: f.Records, Rows: f.Rows, Accounts: f.Accounts,
		Balance: new(big.Int).Set(&f.Balance), Pending: new(big.Int).Set(&f.Pending), MEDHeld: new(big.Int).Set(&f.MEDHeld),
	}, nil
}

// report does the job and reports it.
func (j *verifyJob) report(reports *json.Encoder) error {
	var stage string
	var reported time.Time
	ctx, giveUp := context.WithCancelCause(context.Background())
	totals, err := j.verify(ctx, snapshot.Disk, func(p journal.Progress) {
		if p.Stage == stage && time.Since(reported) < reportEvery {
			return
		}
		stage, reported = p.Stage, time.Now()
		if err := reports.Encode(verifying{At: p}); err != nil {
			giveUp(err) // nobody listens any more
		}
	})
	giveUp(nil)
	end := verifying{Totals: totals}
	if err != nil {
		end.Err = err.Error()
	}
	return reports.Encode(end)
}

// verifyOutside has another process do the job.
func verifyOutside(ctx context.Context, args []string, j verifyJob, tell func(journal.Progress)) (totals *admin.SnapshotTotals, err error) {
	err = outside(ctx, args, job{Verify: &j}, func(out io.Reader) (bool, error) {
		totals, err = followCheck(out, tell)
		return totals != nil, err
	})
	return totals, err
}

// followCheck reads what a process that verifies reports, up to its end.
func followCheck(out io.Reader, tell func(journal.Progress)) (totals *admin.SnapshotTotals, err error) {
	err = reports("verifies", out, func(r *verifying) (bool, error) {
		switch {
		case r.Err != "":
			return true, errors.New(r.Err)
		case r.Totals != nil:
			totals = r.Totals
			return true, nil
		}
		tell(r.At)
		return false, nil
	})
	return totals, err
}
