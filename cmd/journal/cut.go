package journal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/snapshot"
	"pixd/wal"
)

// CutOptions say what CutFolder works on. DataDir, To, Until and Now are always needed.
type CutOptions struct {
	DataDir  string // of an engine that does not run
	To       string // the new data folder, which must not exist, or be empty
	Until    pix.Millis
	Now      time.Time
	TempDir  string         // where rows are sorted; empty: the system's folder
	FS       wal.FS         // nil: the disk
	Progress func(Progress) // called often, but never by two goroutines at once; may be nil
	// Context ends the work early, with its error and without anything left behind; nil: nothing
	// does.
	Context context.Context //nolint:containedctx // options of one call
}

// CutJournal is a journal that was cut: what was removed, and what is left, which was verified.
type CutJournal struct {
	wal.Cut
	Until pix.Millis
	Left  Verified
}

// CutCopy is the result of CutFolder.
type CutCopy struct {
	Before Verified // the other folder's journal
	Cut    *CutJournal
	Mark   *restored.Mark
}

// CutFolder makes a data folder with the journal of another as it was at an instant: what is newer is
// cut off. The other folder is only read, and the copy of its journal is verified before it is cut. The new
// folder is in place once all is well, with a mark as a restored one has.
func CutFolder(o CutOptions) (*CutCopy, error) {
	if o.To == "" {
		return nil, errors.New("--to is empty")
	}
	if o.FS == nil {
		o.FS = snapshot.Disk
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	if within(o.DataDir, o.To) {
		return nil, fmt.Errorf("--to %s is in the folder %s, which is only read", o.To, o.DataDir)
	}
	t, err := snapshot.NewTarget(o.FS, filepath.Clean(o.To))
	if err != nil {
		return nil, err
	}
	c := new(CutCopy)
	if err := o.fill(t, c); err != nil {
		return nil, errors.Join(err, t.Abort())
	}
	return c, t.Finish(Folder)
}

// within reports whether a path is below a folder.
func within(folder, path string) bool {
	from, err := filepath.Abs(folder)
	to, err2 := filepath.Abs(path)
	if err != nil || err2 != nil {
		return false
	}
	way, err := filepath.Rel(from, to)
	return err == nil && way != "." && way != ".." && !strings.HasPrefix(way, ".."+string(filepath.Separator))
}

// fill copies the journal into the target's folder, and cuts it.
func (o *CutOptions) fill(t *snapshot.Target, c *CutCopy) error {
	dir := filepath.Join(t.Folder(), Folder)
	if err := wal.Copy(o.FS, filepath.Join(o.DataDir, Folder), dir, func(done, total int64) error {
		o.Progress(Progress{Stage: "files", Bytes: done, OfBytes: total})
		return o.Context.Err()
	}); err != nil {
		return err
	}
	at, how := copied(o.FS, dir), VerifyOptions{TempDir: o.TempDir, Progress: o.Progress, ended: o.Context.Err}
	reading := at
	reading.ReadOnly = true
	var err error
	if c.Before, err = verify(reading, how); err == nil {
		c.Cut, err = cutJournal(at, o.Until, how)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.DataDir, err)
	}
	now := pix.Millis(o.Now.UnixMilli())
	c.Mark = &restored.Mark{Position: c.Cut.Position, Newest: pix.Millis(c.Cut.Time), Restored: now, Until: o.Until}
	if c.Cut.Batches == 0 {
		c.Mark.Until = min(now, o.Until)
	}
	return writeMark(at, c.Mark)
}

// cutJournal cuts a verified copy of a journal at an instant, makes its rows what the records that are
// left make of them, and verifies the result.
func cutJournal(at wal.Options, until pix.Millis, o VerifyOptions) (*CutJournal, error) {
	changing := at
	changing.NoCompactions = false // without them, writes would stop for ever after many changes
	changing.CacheBytes, changing.MemTableBytes = 0, 0
	cut, err := wal.CutOff(changing, int64(until))
	if early := new(wal.TooEarly); errors.As(err, &early) {
		return nil, early // without the name of the copy, which is removed
	}
	if err == nil {
		err = mend(changing, until, o)
	}
	if err != nil {
		return nil, err
	}
	at.ReadOnly = true
	left, err := verify(at, o)
	if err != nil {
		return nil, fmt.Errorf("cut at %v: %w", until, err)
	}
	return &CutJournal{Cut: cut, Until: until, Left: left}, nil
}
