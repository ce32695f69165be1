package snapshot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestOrder checks that snapshots are kept by epoch and position, whatever the clock said when
// they were made, and that the one just made is never removed.
func TestOrder(t *testing.T) {
	type made struct {
		epoch, position uint64
		hours           int // of the clock
	}
	for name, c := range map[string]struct {
		made []made
		keep int
		want string // epoch and position of those left, oldest first
	}{
		"the clock was ahead":        {[]made{{0, 1, 9000}, {0, 2, 9001}, {0, 3, 1}, {0, 4, 2}}, 2, "0/3 0/4"},
		"more digits":                {[]made{{0, 9, 1}, {0, 10, 1}}, 1, "0/10"},
		"restored to an earlier one": {[]made{{0, 50, 1}, {0, 60, 2}, {1, 40, 3}, {1, 55, 4}}, 3, "0/60 1/40 1/55"},
		"restored, clock behind":     {[]made{{0, 50, 5}, {1, 40, 1}}, 1, "1/40"},
		"at one position":            {[]made{{0, 5, 1}, {0, 5, 2}}, 1, "0/5"},
		"the one made is the oldest": {[]made{{1, 5, 1}, {1, 6, 2}, {0, 9, 3}}, 1, "0/9 1/6"},
	} {
		fsys := vfs.NewMem()
		someFiles().write(t, fsys, "/data")
		for _, one := range c.made {
			m := manifest(0, one.position)
			m.Epoch, m.CreatedAt = one.epoch, m.CreatedAt.Add(time.Duration(one.hours)*time.Hour)
			path, err := Create(fsys, Contents{Folder: "/data"}, "/snaps", m, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Retain(fsys, "/snaps", path, c.keep, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := fsys.Stat(path); err != nil {
				t.Errorf("%s: %s is removed as it is made", name, path)
			}
		}
		all, err := List(fsys, "/snaps")
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, l := range all {
			left = append(left, fmt.Sprintf("%d/%d", l.Manifest.Epoch, l.Manifest.Position()))
		}
		if got := strings.Join(left, " "); got != c.want {
			t.Errorf("%s: left %s, want %s", name, got, c.want)
		}
		at, ok, err := Newest(fsys, "/snaps")
		if want := all[len(all)-1].Manifest.CreatedAt; err != nil || !ok || !at.Equal(want) {
			t.Errorf("%s: the newest is of %v, want %v; %v", name, at, want, err)
		}
	}
}
