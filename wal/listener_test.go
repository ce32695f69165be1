package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// TestBackgroundErrors checks that damage which a compaction finds closes off no store, because one account's block may be all
// that is damaged, and that every other error of Pebble's own work does.
func TestBackgroundErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		fails bool
	}{
		"damage": {fmt.Errorf("block 7: %w", pebble.ErrCorruption), false}, "a full disk": {errors.New("no space left on device"), true},
	} {
		var log strings.Builder
		fail := newFailure()
		listener(Options{Dir: "journal", Log: slog.New(slog.NewTextHandler(&log, nil))}, fail, new(flushNotes)).BackgroundError(c.err)
		if fail.set.Load() != c.fails || !c.fails && !strings.Contains(log.String(), "damage met in the background") {
			t.Errorf("%s: the store has failed: %v\n%s", name, fail.set.Load(), log.String())
		}
	}
}
