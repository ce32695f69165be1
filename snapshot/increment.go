package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// An increment is a snapshot that has only the files which its base does not have. Its manifest
// lists all files, and names for each the snapshot that has its bytes: the base, or, where that
// is an increment too, the one that the base names. So reading an increment never follows a chain:
// it opens the snapshots that its files name, which lie beside it.

// Needs returns the names of the snapshots without which this one cannot be unpacked, in order:
// those that have bytes of its files, and the base itself. A snapshot with all its files needs none.
func (m *Manifest) Needs() []string {
	names := map[string]bool{}
	if m.Base != "" {
		names[m.Base] = true
	}
	for _, f := range m.Files {
		if f.In != "" {
			names[f.In] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// checkNeeds finds a manifest that takes files from what cannot be another snapshot, or takes
// any although it is no increment.
func (m *Manifest) checkNeeds() error {
	needs := m.Needs()
	if (m.Format == FormatIncrement) != (m.Base != "") || m.Base == "" && len(needs) > 0 {
		return fmt.Errorf("the manifest has the format %d and the base %q", m.Format, m.Base)
	}
	for _, name := range needs {
		if !IsName(name) || name == m.Name() {
			return fmt.Errorf("the manifest takes files from %q", name)
		}
	}
	return nil
}

// own returns the files whose bytes are in the snapshot itself.
func (m *Manifest) own() []File { return m.in("") }

// in returns the files whose bytes are in the snapshot of a name.
func (m *Manifest) in(name string) (files []File) {
	for _, f := range m.Files {
		if f.In == name {
			files = append(files, f)
		}
	}
	return files
}

// takeFrom makes the manifest an increment's: it names, for each file that the base has as
// well, the snapshot with the file's bytes.
func (m *Manifest) takeFrom(base *Snapshot) {
	name := base.Manifest.Name()
	m.Format, m.Base = FormatIncrement, name
	from := map[File]string{}
	for _, f := range base.Manifest.Files {
		in := f.In
		if in == "" {
			in = name
		}
		f.In = ""
		from[f] = in
	}
	for i, f := range m.Files {
		m.Files[i].In = from[f]
	}
}

// spareNeeded moves the manifest's time forward, by whole seconds, to where its name is not that of
// a snapshot in dir which another one needs, or may need, or this one.
func (m *Manifest) spareNeeded(fsys FS, dir string) error {
	for {
		if _, err := fsys.Stat(fsys.PathJoin(dir, m.Name())); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		all, err := List(fsys, dir)
		if err != nil {
			return err
		}
		unread := slices.ContainsFunc(all, func(l Listed) bool { return l.unread() })
		if !unread && !neededBy(all)[m.Name()] && !slices.Contains(m.Needs(), m.Name()) {
			return nil
		}
		m.CreatedAt = m.CreatedAt.Add(time.Second)
	}
}

// neededBy returns the names of what some snapshots need, also those of them that are not usable.
func neededBy(all []Listed) map[string]bool {
	names := map[string]bool{}
	for _, l := range all {
		if l.Manifest == nil {
			continue
		}
		for _, name := range l.Manifest.Needs() {
			names[name] = true
		}
	}
	return names
}

// gather opens the snapshots that this one needs, with find, and checks that they name each
// file that it takes from them.
func (s *Snapshot) gather(find func(name string) (*Snapshot, error)) error {
	s.holders = nil
	for _, name := range s.Manifest.Needs() {
		other, err := find(name)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("it is an increment and needs %s, which is not beside it", name)
		}
		if err != nil {
			return fmt.Errorf("it is an increment and needs %s: %w", name, err)
		}
		has := map[File]bool{}
		for _, f := range other.Manifest.own() {
			has[f] = true
		}
		for _, f := range s.Manifest.in(name) {
			if f.In = ""; !has[f] {
				return fmt.Errorf("it is an increment and needs %s of %s, which that does not have", f.Name, name)
			}
		}
		s.holders = append(s.holders, other)
	}
	return nil
}

// beside reads the manifest of another snapshot in the same folder.
func (s *Snapshot) beside(name string) (*Snapshot, error) {
	other := &Snapshot{Path: s.fs.PathJoin(s.fs.PathDir(s.Path), name), fs: s.fs}
	return other, other.readFile()
}
