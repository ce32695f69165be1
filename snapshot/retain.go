package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Listed is a file with a snapshot's name.
type Listed struct {
	Snapshot
	Err error // why it is no usable snapshot; nil: the manifest was read
}

// names returns the names of the files in dir that have a snapshot's name, oldest first.
func names(fsys FS, dir string) ([]string, error) {
	all, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: list %s: %w", dir, err)
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(name string) bool { return !IsName(name) }), nil
}

// List returns the files in dir that have a snapshot's name, oldest first: by epoch and
// position, which no clock has a part in. Files without a usable manifest come before the
// others. It reads the manifests and does not compare checksums. A folder that does not exist
// has none.
func List(fsys FS, dir string) ([]Listed, error) {
	files, err := names(fsys, dir)
	if err != nil {
		return nil, err
	}
	var all []Listed
	for _, name := range files {
		l := Listed{Snapshot: Snapshot{Path: fsys.PathJoin(dir, name), fs: fsys}}
		if l.Err = l.readFile(); errors.Is(l.Err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b Listed) int {
		switch {
		case a.Err != nil && b.Err != nil:
			return 0
		case a.Err != nil || b.Err != nil:
			return cmp.Compare(usable(a), usable(b))
		}
		m, n := a.Manifest, b.Manifest
		return cmp.Or(cmp.Compare(m.Epoch, n.Epoch), cmp.Compare(m.Position(), n.Position()), m.CreatedAt.Compare(n.CreatedAt))
	})
	return all, nil
}

func usable(l Listed) int {
	if l.Err != nil {
		return 0
	}
	return 1
}

// Newest returns when the newest usable snapshot in dir was made, by the clock of that time;
// false where there is none.
func Newest(fsys FS, dir string) (at time.Time, ok bool, err error) {
	all, err := List(fsys, dir)
	if n := len(all); err == nil && n > 0 && all[n-1].Err == nil {
		return all[n-1].Manifest.CreatedAt, true, nil
	}
	return time.Time{}, false, err
}

// LastEpoch returns the largest epoch of the usable snapshots in dir; 0: there is none.
func LastEpoch(fsys FS, dir string) (epoch uint64, err error) {
	all, err := List(fsys, dir)
	if n := len(all); err == nil && n > 0 && all[n-1].Err == nil {
		epoch = all[n-1].Manifest.Epoch
	}
	return epoch, err
}

// Retain removes the oldest snapshots in dir until at most keep are left and their files have
// at most maxSize bytes together; 0 stands for no such limit. It always leaves the newest
// usable one and the one whose path is made, and it removes no file that cannot be read as a
// snapshot. It returns the paths of the removed ones.
func Retain(fsys FS, dir, made string, keep int, maxSize int64) (removed []string, err error) {
	listed, err := List(fsys, dir)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(listed, func(l Listed) bool { return l.Err != nil })
	slices.Reverse(all) // the newest one first
	var size int64
	for i, l := range all {
		size += l.Size
		if i == 0 || l.Path == made || (keep == 0 || i < keep) && (maxSize == 0 || size <= maxSize) {
			continue
		}
		if err := fsys.Remove(l.Path); err != nil {
			return removed, fmt.Errorf("snapshot: remove %s: %w", l.Path, err)
		}
		removed = append(removed, l.Path)
	}
	if len(removed) > 0 {
		err = syncFolder(fsys, dir)
	}
	return removed, err
}

// Sweep removes the unfinished snapshots that a crash has left in dir. No snapshot may be
// written there meanwhile.
func Sweep(fsys FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot: list %s: %w", dir, err)
	}
	for _, name := range names {
		if whole, left := strings.CutSuffix(name, unfinished); left && IsName(whole) {
			if err := fsys.Remove(fsys.PathJoin(dir, name)); err != nil {
				return fmt.Errorf("snapshot: remove %s: %w", name, err)
			}
		}
	}
	return nil
}
