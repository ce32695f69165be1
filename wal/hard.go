package wal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
)

// The journal's own settings. Their values may never change after the store was created.
const (
	settingFormat   = "format"
	settingChecksum = "checksum"

	// formatVersion grows when records or rows get a kind or a field that earlier versions do
	// not know. A store of an earlier format is opened, and is of this one from then on, so
	// that an earlier version refuses it instead of meeting what it cannot read.
	formatVersion = 9
	formatCluster = 10 // that of a store whose journal is shared by several nodes; see Store.Join
	checksumName  = "xxh64"
)

// olderCluster reports whether a format is formatCluster of an earlier version. A node's store has it until the log has
// records or rows of this version; see Store.raiseFormat.
func olderCluster(format int) bool { return format == 6 || format == 8 }

// clusterFormat is the format of a node's store while the log may have records and rows of a level.
func clusterFormat(level int) int {
	switch {
	case level >= formatVersion:
		return formatCluster
	case level >= 7:
		return 8
	}
	return 6
}

// wantedHard joins the caller's settings with the journal's own.
func wantedHard(caller map[string]string) map[string]string {
	all := maps.Clone(caller)
	if all == nil {
		all = make(map[string]string)
	}
	for name, value := range map[string]string{
		settingFormat:   strconv.Itoa(formatVersion),
		settingChecksum: checksumName,
	} {
		if _, taken := all[name]; taken {
			panic("wal: open: hard setting " + name + " is the journal's own")
		}
		all[name] = value
	}
	return all
}

func writeHard(db *pebble.DB, caller map[string]string) error {
	b := db.NewBatch()
	for name, value := range wantedHard(caller) {
		if err := b.Set(metaKey(hardPrefix+name), []byte(value), nil); err != nil {
			return err
		}
	}
	return errors.Join(b.Commit(pebble.Sync), db.Flush())
}

// checkHard compares the stored settings with the wanted ones. It compares the format
// first, because a newer format may give the other settings another meaning.
func (s *Store) checkHard() error {
	if err := s.checkFormat(); err != nil {
		return err
	}
	wanted := wantedHard(s.opts.Hard)
	delete(wanted, settingFormat)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		stored, ok, err := get(s.source(), metaKey(hardPrefix+name))
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("setting %q is not in the store, this process wants %q", name, wanted[name])
		}
		if string(stored) != wanted[name] {
			return fmt.Errorf("setting %q is %q in the store and cannot change, this process wants %q", name, stored, wanted[name])
		}
	}
	return nil
}

func (s *Store) checkFormat() error {
	v, err := s.format()
	switch {
	case err != nil:
		return err
	case v > formatCluster:
		return fmt.Errorf("written by a newer version: format %d, this binary knows %d", v, formatCluster)
	case v < 1:
		return fmt.Errorf("setting %q is %d in the store, this process wants %d", settingFormat, v, formatVersion)
	}
	return nil
}

// format reads the store's format.
func (s *Store) format() (int, error) {
	stored, ok, err := get(s.source(), metaKey(hardPrefix+settingFormat))
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fmt.Errorf("setting %q is not in the store, this process wants \"%d\"", settingFormat, formatVersion)
	}
	v, err := strconv.Atoi(string(stored))
	if err != nil {
		return 0, fmt.Errorf("setting %q is %q in the store and no number", settingFormat, stored)
	}
	return v, nil
}

// raiseFormat gives a store of an earlier format this one, durably. A node's store is raised only once
// the log's owner writes as this version does: until then a binary of the earlier version may take it over again.
func (s *Store) raiseFormat() error {
	v, err := s.format()
	to := formatVersion
	switch {
	case err != nil:
		return err
	case olderCluster(v) && s.shared != nil && clusterFormat(s.shared.owner.Level) > v:
		to = clusterFormat(s.shared.owner.Level)
	case v >= formatVersion || olderCluster(v):
		return nil
	}
	return s.db.Set(metaKey(hardPrefix+settingFormat), []byte(strconv.Itoa(to)), pebble.Sync)
}

// raiseWith adds to the batch that makes a node of a level the owner the format that a node's store has from then on.
func (s *Store) raiseWith(b *pebble.Batch, level int) error {
	v, err := s.format()
	if to := clusterFormat(level); err == nil && to > v {
		err = b.Set(metaKey(hardPrefix+settingFormat), []byte(strconv.Itoa(to)), nil)
	}
	return err
}

// HardSetting reads a setting that may never change, as it was stored when the store was
// created; false where the store has no setting of that name.
func (s *Store) HardSetting(name string) (string, bool, error) {
	v, ok, err := s.Get(metaKey(hardPrefix + name))
	return string(v), ok, err
}
