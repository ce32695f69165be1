package snapshots

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
	"pixd/snapshot"
)

// TestListed checks each field of a snapshot in the list, and from when on its time is one in the future.
func TestListed(t *testing.T) {
	s := made(t, -1)
	at := time.Unix(1_790_000_100, 0).UTC()
	m := &snapshot.Manifest{
		Format: snapshot.Format, CreatedAt: at, Engine: "1", Logs: []snapshot.Log{{Position: 7, Time: at.Add(-time.Second), Sum: "0000000000000001"}},
		Accounts: 4, Balance: big.NewInt(1), Pending: big.NewInt(2), MEDHeld: big.NewInt(3),
	}
	base, err := snapshot.Open(s.FS, "snaps/"+nameOf(0))
	if err != nil {
		t.Fatal(err)
	}
	path, err := snapshot.Create(s.FS, snapshot.Contents{Folder: "copy", Base: base}, s.Dir, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	for ago, warned := range map[time.Duration]bool{0: false, -time.Minute: false, -time.Minute - 1: true} {
		all, err := List(s.FS, s.Dir, at.Add(ago))
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		l := all[0]
		if l.Path != path || *l.Position != 7 || *l.Accounts != 4 || *l.Base != nameOf(0) || len(l.Needs) != 1 ||
			l.Balance.Int64() != 1 || l.Pending.Int64() != 2 || l.MEDHeld.Int64() != 3 ||
			*l.CreatedAt != pix.Millis(at.UnixMilli()).String() || *l.Newest != pix.Millis(at.UnixMilli()-1000).String() || l.Size == 0 || l.Err != nil {
			t.Errorf("%+v", l)
		}
		if (l.Warning != nil) != warned {
			t.Errorf("%v before its time the warning is %v", -ago, l.Warning)
		}
	}
}

// TestFailuresCounted checks that a snapshot that was not made counts as failed, and one that was made and after which
// something stayed does not.
func TestFailuresCounted(t *testing.T) {
	var said []string
	s := &Maker{Options: Options{Raise: func(_, message string) { said = append(said, message) }}}
	s.failed("x.snap", errors.New("why"))
	s.failed("", errors.New("why"))
	if made, failed := s.Counts(); made != 0 || failed != 1 || len(said) != 2 {
		t.Errorf("%d made, %d failed, said %q", made, failed, said)
	}
}

// TestDueBesideAnother checks that a snapshot which is due while another is made raises no alert.
func TestDueBesideAnother(t *testing.T) {
	s := made(t)
	s.Every, s.Full, s.Raise = time.Millisecond, 1, func(_, message string) { t.Error(message) }
	s.run = &admin.SnapshotRun{}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	s.Run(ctx)
}

// twoDisks are disks with so much free, by the beginning of the path.
type twoDisks struct {
	vfs.FS
	free map[string]uint64
}

// GetDiskUsage implements vfs.FS.
func (d twoDisks) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	for prefix, n := range d.free {
		if strings.HasPrefix(path, prefix) {
			return vfs.DiskUsage{AvailBytes: n}, nil
		}
	}
	return vfs.DiskUsage{}, vfs.ErrUnsupported
}

// TestCheckRoomOfBothDisks checks that a verification is given up when either disk gets full.
func TestCheckRoomOfBothDisks(t *testing.T) {
	for full, free := range map[string]map[string]uint64{
		"": {"data": 10, "snaps": 10}, "data": {"data": 9, "snaps": 10}, "snaps": {"data": 10, "snaps": 9},
	} {
		s := &Maker{Options: Options{FS: twoDisks{vfs.NewMem(), free}, DataDir: "data", Dir: "snaps", MinFree: 10, Log: slog.New(slog.DiscardHandler)}}
		if err := s.checkRoom(); (err != nil) != (full != "") || err != nil && !strings.Contains(err.Error(), full) {
			t.Errorf("%s full: %v", full, err)
		}
	}
}
