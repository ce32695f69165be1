package snapshots

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/pix"
	"pixd/httpapi/admin"
	"pixd/snapshot"
	"pixd/wal"
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

// exchanged is a file system of which the listed folder may become another's.
type exchanged struct {
	vfs.FS
	mu    sync.Mutex
	lists vfs.FS
	other bool
}

func (e *exchanged) set(fs vfs.FS) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lists, e.other = fs, true
}

func (e *exchanged) of() vfs.FS {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.other {
		return e.lists
	}
	return e.FS
}

// List implements vfs.FS.
func (e *exchanged) List(dir string) ([]string, error) { return e.of().List(dir) }

// Open implements vfs.FS.
func (e *exchanged) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	return e.of().Open(name, o...)
}

// Stat implements vfs.FS.
func (e *exchanged) Stat(name string) (vfs.FileInfo, error) { return e.of().Stat(name) }

// TestFolderWatched checks that the figure of the newest snapshot follows the folder, also where another process writes into
// it, and that nobody who asks for figures waits for the folder.
func TestFolderWatched(t *testing.T) {
	s := made(t, -1)
	disk := s.FS
	store, err := wal.Open(wal.Options{Dir: "j", FS: vfs.NewMem(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.Store = store
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		at := &exchanged{FS: vfs.NewMem()}
		s.FS, s.Ending = at, ctx
		go s.watchFolder()
		synctest.Wait()
		if !s.looked || !s.latest.IsZero() {
			t.Errorf("a folder without any: %v %v", s.looked, s.latest)
		}
		at.set(disk)
		time.Sleep(folderEvery + time.Second)
		synctest.Wait()
		if newest, _, err := snapshot.Newest(disk, s.Dir); !s.looked || !s.latest.Equal(newest) || newest.IsZero() || err != nil {
			t.Errorf("%v %v, expected %v; %v", s.looked, s.latest, newest, err)
		}
		at.set(nil) // whoever looks at it now panics
		out := make(chan prometheus.Metric, 9)
		s.Collect(out)
		if len(out) != 4 {
			t.Errorf("%d figures", len(out))
		}
	})
	if err := store.Close(); err != nil {
		t.Error(err)
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
