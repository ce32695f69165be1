package snapshots

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/snapshot"
)

// unknownFree is a file system that does not say how much is free, and then that little is.
type unknownFree struct {
	vfs.FS
	tells atomic.Bool // it says so
}

// GetDiskUsage implements vfs.FS.
func (f *unknownFree) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if !f.tells.Load() {
		return vfs.DiskUsage{}, errors.New("for the test")
	}
	return vfs.DiskUsage{AvailBytes: 1000}, nil
}

// TestFreeUnknownBesideSnapshot checks that a snapshot is made on although the data folder's disk
// does not say how much is free, and that it is given up when that disk is full the next time.
func TestFreeUnknownBesideSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := &unknownFree{FS: vfs.NewMem()}
		s := &Maker{Options: Options{DataDir: "data", FS: fs, MinFree: 1 << 30}}
		ctx, giveUp := context.WithCancelCause(t.Context())
		go s.watchDisk(ctx, giveUp)
		time.Sleep(3 * DiskEvery)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("given up: %v", context.Cause(ctx))
		}
		fs.tells.Store(true)
		time.Sleep(2 * DiskEvery)
		synctest.Wait()
		if why := context.Cause(ctx); why == nil || !strings.Contains(why.Error(), "too little disk is free beside a snapshot") {
			t.Errorf("not given up: %v", why)
		}
		giveUp(nil)
	})
}

// TestUntilNext checks that the schedule counts from the newest snapshot in the folder.
func TestUntilNext(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("copy", 0o700); err != nil {
		t.Fatal(err)
	}
	every := &Maker{Options: Options{FS: fs, Dir: "elsewhere", Every: time.Hour}}
	newest := time.Unix(1_790_000_000, 0).UTC()
	if got := every.untilNext(newest); got != 0 {
		t.Errorf("without a snapshot: %v", got)
	}
	m := &snapshot.Manifest{
		Format: snapshot.Format, CreatedAt: newest, Engine: "1", Logs: []snapshot.Log{{Position: 1, Time: newest, Sum: "0000000000000001"}},
		Balance: new(big.Int), Pending: new(big.Int), MEDHeld: new(big.Int),
	}
	if _, err := snapshot.Create(fs, snapshot.Contents{Folder: "copy"}, "elsewhere", m, func(int64, int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]time.Duration{
		0: time.Hour, 10 * time.Minute: 50 * time.Minute, 2 * time.Hour: 0, -time.Hour: time.Hour, // a clock that was set back does not delay it further
	} {
		if got := every.untilNext(newest.Add(after)); got != want {
			t.Errorf("%v after the newest one: %v, want %v", after, got, want)
		}
	}
}
