package snapshots

import "pixd/snapshot"

// retain removes the oldest snapshots. While one is verified it removes none, because that one may need any of
// them: the next snapshot does it.
func (s *Maker) retain(made string) error {
	if running, _ := s.Checks(); running != nil {
		s.Log.Info("no old snapshot is removed while one is verified", "file", running.File)
		return nil
	}
	removed, err := snapshot.Retain(s.FS, s.Dir, made, s.Keep, s.MaxSize)
	for _, r := range removed {
		s.Log.Info("old snapshot removed", "file", r)
	}
	return err
}

// tellDoubtful logs which snapshots cannot be used, such as increments whose bases are gone, and which
// were made, by their own word, in the future.
func (s *Maker) tellDoubtful() {
	all, err := s.List()
	if err != nil {
		return // Retain has just said why
	}
	for _, l := range all {
		if l.Err != nil {
			s.Log.Warn("snapshot that cannot be used", "file", l.Path, "error", *l.Err)
		}
		if l.Warning != nil {
			s.Log.Warn("snapshot: "+*l.Warning, "file", l.Path, "created_at", *l.CreatedAt)
		}
	}
}
