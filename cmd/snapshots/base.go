package snapshots

import (
	"path/filepath"

	"pixd/cmd/journal"
	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/snapshot"
	"pixd/wal"
)

// base returns the path of the snapshot that an increment is made upon. word is the name of one
// in the folder, perhaps with a folder before it, or admin.AutoBase for the newest usable one; the
// path is empty, and every file is packed, where there is none or word is empty.
func (s *Maker) base(word string) (string, error) {
	if word == "" {
		return "", nil
	}
	all, err := snapshot.List(s.FS, s.Dir)
	if err != nil {
		return "", err
	}
	if word == admin.AutoBase {
		if n := len(all); n > 0 && all[n-1].Err == nil {
			return all[n-1].Path, nil
		}
		return "", nil
	}
	name := filepath.Base(word)
	if !snapshot.IsName(name) {
		return "", control.Bad("base must be the name of a snapshot, or %s", admin.AutoBase)
	}
	for _, l := range all {
		if filepath.Base(l.Path) != name {
			continue
		}
		if l.Err != nil {
			return "", control.Bad("base: %v", l.Err)
		}
		return l.Path, nil
	}
	return "", control.Missing("no snapshot %s in %s", name, s.Dir)
}

// scheduled returns the path of what a snapshot that is due by the clock is made upon: the newest one, unless
// that is the last of a row of Full, or not usable; then the path is empty.
func (s *Maker) scheduled() (string, error) {
	all, err := snapshot.List(s.FS, s.Dir)
	if err != nil {
		return "", err
	}
	bases := map[string]string{}
	for _, l := range all {
		if l.Err == nil {
			bases[l.Manifest.Name()] = l.Manifest.Base
		}
	}
	n := len(all)
	if n == 0 || all[n-1].Err != nil || inRow(bases, all[n-1].Manifest.Name()) >= s.Full {
		return "", nil
	}
	return all[n-1].Path, nil
}

// inRow is the number of snapshots from one with all its files up to name, each of which is the
// base of the next.
func inRow(bases map[string]string, name string) int {
	n := 1
	for met := map[string]bool{}; bases[name] != "" && !met[name]; n++ {
		met[name] = true
		name = bases[name]
	}
	return n
}

// knownOf returns the checksums of those tables of the copy in folder that this process knows, and
// the paths of all tables.
func (s *Maker) knownOf(folder string) (known map[string]string, tables []string, err error) {
	tables, err = wal.Tables(s.FS, filepath.Join(folder, journal.Folder))
	known = map[string]string{}
	for i, name := range tables {
		tables[i] = filepath.ToSlash(filepath.Join(journal.Folder, name))
		if sum := s.sums[tables[i]]; sum != "" {
			known[tables[i]] = sum
		}
	}
	return known, tables, err
}

// learn keeps the checksums of tables that the finished snapshot in a file names. Its error says that the
// snapshot cannot be used.
func (s *Maker) learn(file string, tables []string) error {
	made, err := snapshot.Open(s.FS, file)
	if err != nil {
		return err
	}
	s.newest = made.Manifest
	named := map[string]string{}
	for _, f := range made.Manifest.Files {
		named[f.Name] = f.SHA256
	}
	s.sums = map[string]string{}
	for _, name := range tables {
		if sum := named[name]; sum != "" {
			s.sums[name] = sum
		}
	}
	return nil
}
