package engine

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/audit"
	"pixd/actors/clock"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/cmd/journal"
	"pixd/cmd/machine"
	"pixd/wal"
)

// wrongTotals journals a credit whose record has wrong account totals, as a bug might.
func wrongTotals(t *testing.T, s *wal.Store, id pix.AccountID) {
	t.Helper()
	seq, sum, err := s.Last(wal.Stream(id))
	if err != nil {
		t.Fatal(err)
	}
	r := ledger.Record{Account: id, Seq: seq + 1, Time: now(), Kind: ledger.Credited}
	r.Tx = &ledger.Transaction{ID: pix.NewTxID(now(), [10]byte{9}), Kind: pix.TxTED, Status: pix.StatusCompleted, Amount: 5, Ordinal: 9, Booking: 9}
	r.Totals = ledger.Totals{Balance: 1_000_006, Items: 9, Bookings: 9}
	sealed := wal.Seal(sum, wal.Record{Stream: wal.Stream(id), Seq: r.Seq, Kind: uint8(r.Kind), Time: int64(r.Time), Body: r.Encode()})
	done := make(written, 1)
	s.Append(&wal.Entry{Stream: wal.Stream(id), Expect: seq, Records: []wal.Sealed{sealed}, Out: []wal.Out{done}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// ended returns the configuration and the merchant of an engine that has ended, and whose data is
// in memory.
func ended(t *testing.T) (Config, *harness) {
	t.Helper()
	return endedIn(t, "data", vfs.NewMem())
}

// endedIn is ended with a data folder. A nil file system is the disk.
func endedIn(t *testing.T, dir string, fs vfs.FS) (Config, *harness) {
	t.Helper()
	c := Defaults()
	c.DataDir, c.FS, c.AdminToken, c.Log = dir, fs, "token", slog.New(slog.DiscardHandler)
	c.Listen, c.AdminListen, c.OnFailure = "127.0.0.1:0", "127.0.0.1:0", func(err error) { t.Error(err) }
	s, err := Serve(c, Build{})
	if err != nil {
		t.Fatal(err)
	}
	w := &harness{Served: s, t: t}
	w.setUp()
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	return c, w
}

// TestAuditOffline checks that an audit of files finds no difference after a clean end,
// also without the simulator's book, and finds wrong totals and a record that cannot be
// read.
func TestAuditOffline(t *testing.T) {
	t.Parallel()
	c, w := ended(t)
	r, err := auditOffline(t.Context(), c)
	if err != nil || len(r.Differences) > 0 || r.Accounts != 1 || r.Balance.Int64() != 1_000_000 || r.Book == "" {
		t.Fatalf("%+v %v", r, err)
	}
	id, _ := pix.ParseAccountID(w.ID)
	store := openJournal(t, c.FS)
	wrongTotals(t, store, id)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	r, err = auditOffline(t.Context(), c)
	if err != nil || len(r.Differences) != 1 || r.Differences[0].Kind != "totals" || r.Rows[0].Balance != 1_000_006 ||
		!strings.Contains(r.Differences[0].Message, "carries balance 1000006, pending 0, 0 held by cases, 0 owed: the records make 1000005, 0, 0 and 0") {
		t.Errorf("%+v %v", r, err)
	}
	store = openJournal(t, c.FS)
	seq, sum, err := store.Last(wal.Stream(id))
	if err != nil {
		t.Fatal(err)
	}
	done := make(written, 1)
	sealed := wal.Seal(sum, wal.Record{Stream: wal.Stream(id), Seq: seq + 1, Kind: 63, Time: int64(now()), Body: []byte{0xa0}})
	store.Append(&wal.Entry{Stream: wal.Stream(id), Expect: seq, Records: []wal.Sealed{sealed}, Out: []wal.Out{done}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = auditOffline(t.Context(), c); err != nil || len(r.Differences) != 2 || r.Differences[0].Kind != "damage" {
		t.Errorf("%+v %v", r, err)
	}
}

// TestAuditOfflineBook checks that a payment is in flight while its notice is
// unacknowledged, and that an acknowledged payment which the engine does not have is a
// difference.
func TestAuditOfflineBook(t *testing.T) {
	t.Parallel()
	c, w := ended(t)
	pay := func(feed scheme.Feed) {
		t.Helper()
		e := &Engine{Clock: clock.New(machine.Clocks(), 0), Config: c, entropy: machine.NewEntropy()}
		if err := e.connect(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.Sim.Pay(t.Context(), sim.Payment{Key: w.EVP, Amount: 30}); err != nil {
			t.Fatal(err)
		}
		if feed != nil {
			if err := e.Sim.Start(feed); err != nil {
				t.Fatal(err)
			}
			w.becomes("acknowledged", soon, func() bool { b, err := e.Sim.Book(t.Context()); return err == nil && b.OldestOpen == 0 })
		}
		if err := e.Sim.Close(); err != nil {
			t.Fatal(err)
		}
	}
	pay(nil)
	r, err := auditOffline(t.Context(), c)
	if err != nil || len(r.Differences) > 0 || !strings.Contains(r.Book, ": notices of it are not acknowledged") {
		t.Errorf("%+v %v", r, err)
	}
	pay(func(_ scheme.Notice, done func(error)) { done(nil) })
	r, err = auditOffline(t.Context(), c)
	if err != nil || len(r.Differences) != 1 || r.Book != audit.Compared || *r.Differences[0].Field != "received" || *r.Differences[0].Engine != 0 || *r.Differences[0].Scheme != 60 {
		t.Errorf("%+v %v", r, err)
	}
	time.Sleep(2 * time.Millisecond) // so that the next payment has a later millisecond
	pay(nil)                         // the new payment's notice is not acknowledged; the earlier payment's is, so it is still a difference
	r, err = auditOffline(t.Context(), c)
	if err != nil || len(r.Differences) != 1 || *r.Differences[0].Engine != 0 || *r.Differences[0].Scheme != 60 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestAuditOfflineRefused checks that a payment which was refused while an earlier one was in
// flight hides no payment that the engine lacks.
func TestAuditOfflineRefused(t *testing.T) {
	t.Parallel()
	c, w := ended(t)
	e := &Engine{Clock: clock.New(machine.Clocks(), 0), Config: c, entropy: machine.NewEntropy()}
	if err := e.connect(); err != nil {
		t.Fatal(err)
	}
	const lost, inFlight, refused = 20, 7, 30
	if err := e.Sim.Start(func(n scheme.Notice, done func(error)) {
		done(map[pix.Amount]error{lost: nil, inFlight: errNotReady, refused: scheme.ErrNoPayee}[n.Arrived.Amount])
	}); err != nil {
		t.Fatal(err)
	}
	for _, amount := range []pix.Amount{lost, inFlight, refused} {
		time.Sleep(2 * time.Millisecond) // so that each payment has a later millisecond
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, _, err := e.Sim.Pay(within, sim.Payment{Key: w.EVP, Amount: amount}); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	if err := e.Sim.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := auditOffline(t.Context(), c)
	if err != nil || len(r.Differences) != 1 || *r.Differences[0].Engine != 0 || *r.Differences[0].Scheme != lost {
		t.Errorf("%+v %v", r, err)
	}
}

// TestAuditOfflineRefund checks that a refund whose notice is unacknowledged is in flight, and
// no difference.
func TestAuditOfflineRefund(t *testing.T) {
	t.Parallel()
	c, w := ended(t)
	e := &Engine{Clock: clock.New(machine.Clocks(), 0), Config: c, entropy: machine.NewEntropy()}
	e.Config.SettleDelay = 0
	if err := e.connect(); err != nil {
		t.Fatal(err)
	}
	id, _ := pix.ParseAccountID(w.ID)
	paid, _, err := e.Sim.Pay(t.Context(), sim.Payment{Key: w.EVP, Amount: 30})
	if err != nil {
		t.Fatal(err)
	}
	state, err := e.Sim.Return(t.Context(), scheme.Refund{
		Tx: pix.NewTxID(now(), [10]byte{3}), Account: id, EndToEnd: "D" + pix.EndToEnd(c.ISPB, now(), "refundrefun")[1:],
		Original: paid, Amount: 10, Reason: "MD06",
	})
	if err != nil || state.Progress != scheme.Settled {
		t.Fatal(state, err)
	}
	if err := e.Sim.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := auditOffline(t.Context(), c)
	if err != nil || len(r.Differences) > 0 || !strings.Contains(r.Book, ": notices of it are not acknowledged") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestAuditOfflineReadOnly checks that an audit of files makes and changes none, with lock files
// and without, and that it reads both books on a medium that cannot be written.
func TestAuditOfflineReadOnly(t *testing.T) {
	t.Parallel()
	c, w := ended(t)
	fs := c.FS
	e := &Engine{Clock: clock.New(machine.Clocks(), 0), Config: c, entropy: machine.NewEntropy()}
	if err := e.connect(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Sim.Pay(t.Context(), sim.Payment{Key: w.EVP, Amount: 30}); err != nil {
		t.Fatal(err)
	}
	if err := e.Sim.Start(func(_ scheme.Notice, done func(error)) { done(nil) }); err != nil {
		t.Fatal(err)
	}
	w.becomes("acknowledged", soon, func() bool { b, err := e.Sim.Book(t.Context()); return err == nil && b.OldestOpen == 0 })
	if err := e.Sim.Close(); err != nil {
		t.Fatal(err)
	}
	refuse := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			return &os.PathError{Op: "open", Path: op.Path, Err: syscall.EROFS}
		}
		return nil
	}))
	for range 2 {
		before := files(t, fs, c.DataDir)
		for name, on := range map[string]wal.FS{"written": fs, "read-only": refuse} {
			c.FS = on
			r, err := auditOffline(t.Context(), c)
			if err != nil || len(r.Differences) != 1 || r.Book != audit.Compared || *r.Differences[0].Scheme != 30 {
				t.Errorf("%s: %+v %v", name, r, err)
			}
		}
		if after := files(t, fs, c.DataDir); !maps.Equal(before, after) {
			t.Errorf("before %q\nafter %q", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
		}
		for name := range before {
			if base := filepath.Base(name); base == "lock" || base == "LOCK" {
				if err := fs.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestAuditOfflineLeavesTimes checks that an audit of files changes neither the names, sizes and times
// of the files on the disk, nor the times of their folders.
func TestAuditOfflineLeavesTimes(t *testing.T) {
	t.Parallel()
	c, _ := endedIn(t, t.TempDir(), nil)
	old := time.Unix(1_700_000_000, 0)
	each := func(fn func(path string, info iofs.FileInfo) error) {
		t.Helper()
		err := filepath.WalkDir(c.DataDir, func(path string, d iofs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			return errors.Join(err, fn(path, info))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	before := map[string]int64{}
	each(func(path string, info iofs.FileInfo) error {
		before[path] = info.Size()
		return os.Chtimes(path, old, old)
	})
	if r, err := auditOffline(t.Context(), c); err != nil || len(r.Differences) > 0 || r.Book != audit.Compared {
		t.Fatalf("%+v %v", r, err)
	}
	each(func(path string, info iofs.FileInfo) error {
		if size, there := before[path]; !there || info.Size() != size || !info.ModTime().Equal(old) {
			t.Errorf("%s: %d bytes, there were %d, changed at %v", path, info.Size(), size, info.ModTime())
		}
		delete(before, path)
		return nil
	})
	if len(before) != 0 {
		t.Errorf("gone: %v", before)
	}
}

// files returns the content of every file below a folder, by its name.
func files(t *testing.T, fs wal.FS, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		name := fs.PathJoin(dir, n)
		if i, err := fs.Stat(name); err != nil {
			t.Fatal(err)
		} else if i.IsDir() {
			maps.Copy(all, files(t, fs, name))
			continue
		}
		f, err := fs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

// auditOffline audits the files of an engine that has ended.
func auditOffline(ctx context.Context, c Config) (*audit.Report, error) {
	return journal.Audit(ctx, journal.AuditOptions{DataDir: c.DataDir, SimDir: c.SimDir, FS: c.FS, Now: clock.New(c.clocks(), 0).Now})
}
