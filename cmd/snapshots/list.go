package snapshots

import (
	"path/filepath"
	"time"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
	"pixd/snapshot"
)

// InFuture is the warning about a snapshot that was made later than now, by its own word.
const InFuture = "its time lies in the future: a clock is or was wrong"

// List returns the snapshots in a folder, newest first, with a warning for each that is
// more than a minute younger than now. A nil fsys is the machine's.
func List(fsys snapshot.FS, dir string, now time.Time) ([]admin.Snapshot, error) {
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
		row := admin.Snapshot{File: filepath.Base(l.Path), Path: l.Path, Size: l.Size, Needs: []string{}}
		if l.Err != nil {
			why := l.Err.Error()
			row.Err = &why
		} else {
			m := l.Manifest
			created, newest, position := formatTime(m.CreatedAt), formatTime(m.Logs[0].Time), m.Position()
			row.CreatedAt, row.Newest, row.Position, row.Accounts = &created, &newest, &position, &m.Accounts
			if m.CreatedAt.After(now.Add(time.Minute)) {
				why := InFuture
				row.Warning = &why
			}
			if row.Needs = append(row.Needs, m.Needs()...); m.Base != "" {
				row.Base = &m.Base
			}
			row.Balance, row.Pending, row.MEDHeld = m.Balance, m.Pending, m.MEDHeld
		}
		all = append(all, row)
	}
	return all, nil
}

// formatTime returns a time as operators see it.
func formatTime(t time.Time) string { return pix.Millis(t.UnixMilli()).String() }
