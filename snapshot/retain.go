package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Listed is a file with a snapshot's name.
type Listed struct {
	Snapshot
	Err error // why it is no usable snapshot; nil: the manifest was read
}

// unread tells whether the file system did not give the file. What is in it then, nobody knows.
func (l *Listed) unread() bool {
	return l.Manifest == nil && (errors.As(l.Err, new(*fs.PathError)) || errors.As(l.Err, new(syscall.Errno)))
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
// position, which no clock has a part in. Files without a usable manifest, and increments without
// what they need, come before the others. It reads the manifests and does not compare checksums.
// A folder that does not exist has none.
func List(fsys FS, dir string) ([]Listed, error) {
	files, err := names(fsys, dir)
	if err != nil {
		return nil, err
	}
	var all []Listed
	read := map[string]Listed{}
	for _, name := range files {
		l := Listed{Snapshot: Snapshot{Path: fsys.PathJoin(dir, name), fs: fsys}}
		if l.Err = l.readFile(); errors.Is(l.Err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		all, read[name] = append(all, l), l
	}
	for i := range all {
		if l := &all[i]; l.Err == nil {
			l.Err = l.gather(func(name string) (*Snapshot, error) { return found(read, name) })
		}
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

// found returns a snapshot of those that were read.
func found(read map[string]Listed, name string) (*Snapshot, error) {
	l, ok := read[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &l.Snapshot, l.Err
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

// LastEpoch returns the largest epoch of the snapshots in dir, also of increments whose bases are
// elsewhere, which may come back; 0: there is none.
func LastEpoch(fsys FS, dir string) (epoch uint64, err error) {
	all, err := List(fsys, dir)
	for _, l := range all {
		if l.Manifest != nil {
			epoch = max(epoch, l.Manifest.Epoch)
		}
	}
	return epoch, err
}

// Retain removes the oldest snapshots in dir until at most keep are left and their files have
// at most maxSize bytes together; 0 stands for no such limit. It always leaves the newest
// usable one, the one whose path is made, and whatever those that are left need, beyond the limits
// too. It removes no file that cannot be read as a snapshot, and no increment without what it
// needs; and nothing at all as long as the file system does not give one of the files, because
// nobody knows what that one needs. It returns the paths of the removed ones.
func Retain(fsys FS, dir, made string, keep int, maxSize int64) (removed []string, err error) {
	all, err := List(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.unread() {
			return nil, fmt.Errorf("snapshot: none is removed: %s: %w", l.Path, l.Err)
		}
	}
	slices.Reverse(all) // the newest one first, and at last those that are not usable
	for _, l := range superfluous(fsys, all, made, keep, maxSize) {
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

// superfluous returns those of the snapshots, of which the newest is the first, that nothing keeps:
// no limit, no reason of their own, and no other one that stays. An increment comes before what it
// needs, so that none is left without that when the work is cut short.
func superfluous(fsys FS, all []Listed, made string, keep int, maxSize int64) (over []Listed) {
	var left []Listed
	var size int64
	for i, l := range all {
		size += l.Size
		if l.Err != nil || i == 0 || l.Path == made || (keep == 0 || i < keep) && (maxSize == 0 || size <= maxSize) {
			left = append(left, l)
		} else {
			over = append(over, l)
		}
	}
	for {
		names := neededBy(left)
		i := slices.IndexFunc(over, func(l Listed) bool { return names[fsys.PathBase(l.Path)] })
		if i < 0 {
			return dependentsFirst(fsys, over)
		}
		left, over = append(left, over[i]), slices.Delete(over, i, i+1)
	}
}

// dependentsFirst orders snapshots so that each comes before those that it needs.
func dependentsFirst(fsys FS, all []Listed) (ordered []Listed) {
	for len(all) > 0 {
		names := neededBy(all)
		i := max(0, slices.IndexFunc(all, func(l Listed) bool { return !names[fsys.PathBase(l.Path)] }))
		ordered, all = append(ordered, all[i]), slices.Delete(all, i, i+1)
	}
	return ordered
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
