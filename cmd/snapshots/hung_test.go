package snapshots

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/pix"
	"pixd/cmd/journal"
	"pixd/wal"
)

// elsewhere is a file system whose folder backup does not answer, or fails, while gate is there.
type elsewhere struct {
	vfs.FS
	gate func() error
}

func (f *elsewhere) at(name string) error {
	if strings.HasPrefix(name, "backup") {
		return f.gate()
	}
	return nil
}

// RemoveAll implements vfs.FS.
func (f *elsewhere) RemoveAll(name string) error {
	if err := f.at(name); err != nil {
		return err
	}
	return f.FS.RemoveAll(name)
}

// MkdirAll implements vfs.FS.
func (f *elsewhere) MkdirAll(name string, perm os.FileMode) error {
	if err := f.at(name); err != nil {
		return err
	}
	return f.FS.MkdirAll(name, perm)
}

// List implements vfs.FS.
func (f *elsewhere) List(name string) ([]string, error) {
	if err := f.at(name); err != nil {
		return nil, err
	}
	return f.FS.List(name)
}

// GetDiskUsage implements vfs.FS.
func (f *elsewhere) GetDiskUsage(name string) (vfs.DiskUsage, error) {
	if err := f.at(name); err != nil {
		return vfs.DiskUsage{}, err
	}
	return vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40}, nil
}

// within fails the test where fn has not returned soon.
func within(t *testing.T, what string, fn func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); fn() }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s waits for the folder", what)
	}
}

func hungMaker(t *testing.T, fs *elsewhere, raise func(kind, message string)) (*Maker, context.CancelFunc) {
	t.Helper()
	store, err := wal.Open(wal.Options{Dir: "data/journal", FS: fs, Hard: journal.HardSettings("99999004")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	ending, end := context.WithCancel(t.Context())
	var s *Maker
	within(t, "a start", func() {
		s, err = NewMaker(Options{
			DataDir: "data", Dir: "backup", ISPB: "99999004", Keep: 9, Full: 1, FS: fs, Store: store, Ending: ending, Raise: raise,
			Now: func() pix.Millis { return 1_790_000_000_000 }, Log: slog.New(slog.DiscardHandler),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, end
}

// TestFolderHangs checks that a folder of snapshots that does not answer keeps no start, no figures and no end waiting, and
// that a snapshot is made, or one verified, once it answers.
func TestFolderHangs(t *testing.T) {
	answers := make(chan chan struct{}, 1) // closed: the folder answers
	now := make(chan struct{})
	answers <- now
	fs := &elsewhere{vfs.NewMem(), func() error {
		c := <-answers
		answers <- c
		<-c
		return nil
	}}
	if err := fs.FS.MkdirAll("backup", 0o700); err != nil {
		t.Fatal(err)
	}
	const file = "pixd-20260921T141320Z-1.snap"
	if f, err := fs.FS.Create("backup/"+file, vfs.WriteCategoryUnspecified); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	s, end := hungMaker(t, fs, func(kind, message string) { t.Error(kind, message) })
	if _, err := s.Start(""); err == nil || !strings.Contains(err.Error(), "still being removed") {
		t.Errorf("while it hangs after the start: %v", err)
	}
	close(now)
	<-s.swept

	<-answers
	hangs := make(chan struct{})
	answers <- hangs
	begun := make(chan error, 2)
	go func() { _, err := s.begin(""); begun <- err }()
	go func() { _, err := s.Verify(file); begun <- err }()
	time.Sleep(200 * time.Millisecond)
	if len(begun) > 0 {
		t.Errorf("it does not ask the folder for room: %v", <-begun)
	}
	within(t, "Runs", func() { s.Runs() })
	within(t, "Checks", func() { s.Checks() })
	within(t, "/metrics", func() {
		out := make(chan prometheus.Metric, 100)
		s.Collect(out)
	})
	close(hangs)
	if err1, err2 := <-begun, <-begun; err1 != nil && err2 != nil {
		t.Error(err1, err2)
	}
	within(t, "the snapshot", func() {
		for run, _ := s.Runs(); run != nil; run, _ = s.Runs() {
			time.Sleep(time.Millisecond)
		}
		for check, _ := s.Checks(); check != nil; check, _ = s.Checks() {
			time.Sleep(time.Millisecond)
		}
	})
	end()
	s.Close()
}

// TestNextMakerWaits checks that the next Maker of a process does nothing in the folder while one whose end has not waited for
// it is still at work there: it removes what crashes have left, makes a snapshot, or verifies one.
func TestNextMakerWaits(t *testing.T) {
	const file = "pixd-20260921T141320Z-1.snap"
	for name, begin := range map[string]func(*Maker) error{
		"it removes": nil,
		"it makes":   func(s *Maker) error { _, err := s.begin(""); return err },
		"it verifies": func(s *Maker) error {
			_, err := s.Verify(file)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers, calls := make(chan struct{}), make(chan struct{}, 1000)
			var left atomic.Int64 // so many calls are answered
			fs := &elsewhere{vfs.NewMem(), func() error {
				if left.Add(-1) < 0 {
					calls <- struct{}{}
					<-answers
				}
				return nil
			}}
			if begin != nil {
				left.Store(1 << 40)
			}
			if err := fs.FS.MkdirAll("backup", 0o700); err != nil {
				t.Fatal(err)
			}
			if f, err := fs.FS.Create("backup/"+file, vfs.WriteCategoryUnspecified); err != nil || f.Close() != nil {
				t.Fatal(err)
			}
			one, end := hungMaker(t, fs, func(string, string) {})
			if begin != nil {
				one.awaitLooked()
				left.Store(2) // is there room?
				if err := begin(one); err != nil {
					t.Fatal(err)
				}
			}
			<-calls
			end()
			within(t, "the end", one.Close)
			for len(calls) > 0 { // a verification has two goroutines there
				<-calls
			}
			o := one.Options
			o.Ending = t.Context()
			var two *Maker
			within(t, "the next start", func() { two, _ = NewMaker(o) })
			time.Sleep(200 * time.Millisecond)
			select {
			case <-two.swept:
				t.Error("the next has been in the folder")
			case <-calls:
				t.Error("the next is in the folder")
			default:
			}
			left.Store(1 << 40)
			close(answers)
			within(t, "the next", func() { <-two.swept })
			one.work.Wait()
			two.Close()
		})
	}
}

// awaitLooked waits until the folder was looked at for the figures, which is done after the start.
func (s *Maker) awaitLooked() {
	for looked := false; !looked; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		looked = s.looked
		s.mu.Unlock()
	}
}

// TestSweepBeforeRoom checks that the first snapshot by the clock waits until what a crash has left is removed: it may have
// taken the room.
func TestSweepBeforeRoom(t *testing.T) {
	gate := make(chan struct{})
	fs := &elsewhere{vfs.NewMem(), func() error { <-gate; return nil }}
	s, end := hungMaker(t, fs, func(kind, message string) { t.Error(kind, message) })
	s.Every = time.Hour
	ran := make(chan struct{})
	go func() { defer close(ran); s.Run(s.Ending) }()
	time.Sleep(50 * time.Millisecond)
	close(gate)
	within(t, "the snapshot", func() {
		for _, last := s.Runs(); last == nil || last.Path == ""; _, last = s.Runs() {
			time.Sleep(time.Millisecond)
		}
	})
	end()
	<-ran
	s.Close()
}

// TestEndBesideHungFolder checks that the end waits for a snapshot's use of the journal, and not for a folder that does not
// answer, and once alone.
func TestEndBesideHungFolder(t *testing.T) {
	answers, waits := make(chan struct{}), make(chan struct{}, 100)
	var left atomic.Int64 // so many calls are answered
	left.Store(1 << 40)
	s, end := hungMaker(t, &elsewhere{vfs.NewMem(), func() error {
		if left.Add(-1) < 0 {
			waits <- struct{}{}
			<-answers
		}
		return nil
	}}, func(string, string) {})
	s.awaitLooked()
	left.Store(2) // is there room?
	if _, err := s.Start(""); err != nil {
		t.Fatal(err)
	}
	<-waits
	end()
	began := time.Now()
	within(t, "the end", s.Close)
	if took := time.Since(began); took < closeWithin {
		t.Errorf("it has waited for %v alone", took)
	}
	began = time.Now()
	if s.Close(); time.Since(began) > closeWithin/2 {
		t.Error("asked again to end, it waits once more")
	}
	close(answers)
	s.work.Wait()
	if _, err := s.Start(""); !errors.Is(err, errEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// TestFolderFails checks that an engine starts beside a folder of snapshots that cannot be read, and tells of it.
func TestFolderFails(t *testing.T) {
	told := make(chan string, 1)
	s, end := hungMaker(t, &elsewhere{vfs.NewMem(), func() error { return errors.New("stale file handle") }}, func(kind, message string) { told <- kind + ": " + message })
	if got := <-told; !strings.HasPrefix(got, AlertFailed+": what an unfinished snapshot") || !strings.Contains(got, "stale file handle") {
		t.Error(got)
	}
	if _, err := s.Start(""); err == nil || !strings.Contains(err.Error(), "stale file handle") {
		t.Errorf("a snapshot: %v", err)
	}
	end()
	s.Close()
}
