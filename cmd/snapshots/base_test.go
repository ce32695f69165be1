package snapshots

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/snapshot"
)

// made is a folder with snapshots, each upon the one of the number in bases; -1: it is full.
func made(t *testing.T, bases ...int) *Maker {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("copy", 0o700); err != nil {
		t.Fatal(err)
	}
	if file, err := fs.Create("copy/lock", vfs.WriteCategoryUnspecified); err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	s := &Maker{Options: Options{FS: fs, Dir: "snaps"}}
	var all []*snapshot.Snapshot
	for i, b := range bases {
		at := time.Unix(1_790_000_000+int64(i), 0).UTC()
		m := &snapshot.Manifest{
			Format: snapshot.Format, CreatedAt: at, Engine: "1", Logs: []snapshot.Log{{Position: uint64(i), Time: at, Sum: "0000000000000001"}},
			Balance: new(big.Int), Pending: new(big.Int), MEDHeld: new(big.Int),
		}
		c := snapshot.Contents{Folder: "copy"}
		if b >= 0 {
			c.Base = all[b]
		}
		path, err := snapshot.Create(fs, c, s.Dir, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		one, err := snapshot.Open(fs, path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return s
}

// nameOf is the name of the snapshot of a number.
func nameOf(n int) string {
	return "pixd-" + time.Unix(1_790_000_000+int64(n), 0).UTC().Format("20060102T150405Z") + fmt.Sprintf("-%d.snap", n)
}

// TestBase checks which snapshot an increment is made upon, and what is refused.
func TestBase(t *testing.T) {
	s := made(t, -1, 0, -1)
	for word, want := range map[string]string{
		"": "", "auto": "snaps/" + nameOf(2), nameOf(0): "snaps/" + nameOf(0), nameOf(1): "snaps/" + nameOf(1), "/mnt/other/" + nameOf(1): "snaps/" + nameOf(1),
	} {
		if got, err := s.base(word); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", word, got, err, want)
		}
	}
	if err := s.FS.Remove("snaps/" + nameOf(0)); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		nameOf(0): "no snapshot " + nameOf(0) + " in snaps", nameOf(7): "no snapshot " + nameOf(7), "x": "base must be the name of a snapshot, or auto", "AUTO": "base must be",
		nameOf(1): "needs " + nameOf(0) + ", which is not beside it",
	} {
		if got, err := s.base(word); err == nil || got != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", word, got, err, want)
		}
	}
	if err := s.FS.Remove("snaps/" + nameOf(2)); err != nil {
		t.Fatal(err)
	}
	for _, none := range []*Maker{s, made(t)} { // one increment that is not usable, and nothing at all
		if got, err := none.base("auto"); err != nil || got != "" {
			t.Errorf("auto: %q, %v", got, err)
		}
	}
}

// TestScheduled checks which of the snapshots that are due by the clock are increments.
func TestScheduled(t *testing.T) {
	for _, c := range []struct {
		bases []int
		full  int
		want  string
	}{
		{nil, 3, ""},
		{[]int{-1}, 1, ""},
		{[]int{-1}, 2, "auto"},
		{[]int{-1}, 3, "auto"},
		{[]int{-1, 0}, 2, ""},
		{[]int{-1, 0}, 3, "auto"},
		{[]int{-1, 0, 1}, 3, ""},
		{[]int{-1, 0, 1}, 4, "auto"},
		{[]int{-1, 0, 1, -1}, 2, "auto"},
		{[]int{-1, 0, 1, -1, 3}, 2, ""},
		{[]int{-1, 0, 0}, 3, "auto"},
		{[]int{-1, 0, 0}, 2, ""},
	} {
		s := made(t, c.bases...)
		s.Full = c.full
		want := ""
		if c.want != "" {
			want = "snaps/" + nameOf(len(c.bases)-1)
		}
		if got, err := s.scheduled(); err != nil || got != want {
			t.Errorf("%v, one of %d full: %q, %v, want %q", c.bases, c.full, got, err, c.want)
		}
	}
	unread := made(t)
	unread.Full = 24
	if err := unread.FS.MkdirAll("snaps/"+nameOf(0), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := unread.scheduled(); err != nil || got != "" {
		t.Errorf("beside a folder of a snapshot's name alone: %q, %v", got, err)
	}
	if got, err := unread.base("auto"); err != nil || got != "" {
		t.Errorf("auto: %q, %v", got, err)
	}
	lost := made(t, -1, 0, 1)
	lost.Full = 24
	if err := lost.FS.Remove("snaps/" + nameOf(0)); err != nil {
		t.Fatal(err)
	}
	if got, err := lost.scheduled(); err != nil || got != "" {
		t.Errorf("after the full one was lost: %q, %v", got, err)
	}
}
