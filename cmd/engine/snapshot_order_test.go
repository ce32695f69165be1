package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/clock"
	"pixd/actors/pix"
	"pixd/cmd/machine"
	"pixd/cmd/snapshots"
)

// TestSnapshotAhead makes a snapshot while the clock is a year ahead, and others after it was set
// right. They are kept, and the one in the future is named in the log and in the list until it
// is the oldest.
func TestSnapshotAhead(t *testing.T) {
	fs := vfs.NewMem()
	var said bytes.Buffer
	at := func(years int) func(*Config) {
		return func(c *Config) {
			real := machine.Clocks()
			ahead := clock.Sources{Wall: func() pix.Millis { return real.Wall() + pix.Millis(years)*365*24*3600*1000 }, Elapsed: real.Elapsed}
			c.Clocks, c.SnapshotKeep, c.Log = &ahead, 2, slog.New(slog.NewTextHandler(&said, nil))
		}
	}
	w := newHarness(t, fs, at(1))
	first := w.snap()
	w.stop()
	if strings.Contains(said.String(), snapshots.InFuture) {
		t.Errorf("while the clock is ahead: %s", said.String())
	}
	w = serveHarness(t, fs, at(0))
	for n, want := range []bool{true, false} {
		w.made("/admin/accounts", `{"name":"Loja","document":"12345678909"}`) // so that the position is another
		path := w.snap()
		all, err := w.snapshots.List()
		if err != nil || len(all) != 2 || all[0].Path != path || all[0].Warning != nil {
			t.Fatalf("%v: %+v", err, all)
		}
		if got := all[1].Path == first && all[1].Warning != nil; got != want {
			t.Errorf("snapshot %d: the one in the future is listed: %v", n, got)
		}
	}
	w.stop()
	if n := strings.Count(said.String(), snapshots.InFuture); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
}
