package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// onceRows is more than one commit of rewriteOnce.
const onceRows = 2*rowsInRewrite + 500

func onceKey(i int) []byte { return fmt.Appendf(nil, "o%05d", i) }

func openOn(t *testing.T, fs FS, o Options) *Store {
	t.Helper()
	o.Dir, o.FS, o.CacheBytes, o.MemTableBytes = harnessDir, fs, 1<<20, 1<<20
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// changeAll writes a change of each row, and moves it into tables.
func changeAll(t *testing.T, s *Store, kind OpKind, value string) {
	t.Helper()
	ops := make([]Op, onceRows)
	for i := range ops {
		ops[i] = Op{Kind: kind, Key: onceKey(i), Value: []byte(value)}
	}
	if err := s.WriteRows(Local, ops...); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
}

func rowsOf(t *testing.T, s *Store) (n int, values map[string]bool) {
	t.Helper()
	values = map[string]bool{}
	if err := s.Rows(func(_, v []byte) error { n++; values[string(v)] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	return n, values
}

// leavesNone checks that all rows have the value, and that none is back once they were deleted. It
// closes the store.
func leavesNone(t *testing.T, what string, s *Store, value string) {
	t.Helper()
	if n, values := rowsOf(t, s); n != onceRows || len(values) != 1 || !values[value] {
		t.Errorf("%s: %d rows with the values %v", what, n, values)
	}
	changeAll(t, s, OpDelete, "")
	if err := s.db.Compact(t.Context(), []byte("a"), []byte("z"), false); err != nil {
		t.Fatal(err)
	}
	if n, values := rowsOf(t, s); n != 0 {
		t.Errorf("%s: %d deleted rows are back, with the values %v", what, n, values)
	}
	closeStore(t, s)
}

// TestSetOnceLater checks that rows which were set more than once, before Options.SetOnce named them,
// stay as they are, and that no value comes back once they are deleted.
func TestSetOnceLater(t *testing.T) {
	for name, openings := range map[string][]string{
		"at once":                {""},
		"other rows":             {"z"},
		"after an opening with":  {"o", ""},
		"after one with another": {"", "pz"},
	} {
		fs := vfs.NewMem()
		for i, once := range openings {
			s := openOn(t, fs, Options{SetOnce: []byte(once)})
			if strings.Contains(once, "o") { // it may not set a row twice
				closeStore(t, s)
				continue
			}
			changeAll(t, s, OpSet, fmt.Sprint("first", i))
			changeAll(t, s, OpSet, fmt.Sprint("second", i))
			closeStore(t, s)
		}
		s := openOn(t, fs, Options{SetOnce: []byte("ao")})
		leavesNone(t, name, s, fmt.Sprint("second", len(openings)-1))
	}
}

// TestSetOnceLeavesNothing checks that a row which is set once and deleted is in no table, not even
// as a deletion, and that the deletion of another row is.
func TestSetOnceLeavesNothing(t *testing.T) {
	s := openOn(t, vfs.NewMem(), Options{SetOnce: []byte("o")})
	defer closeStore(t, s)
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]uint64{"o1": 0, "n1": 1} {
		before := entries(t, s)
		for _, op := range []Op{{Kind: OpSet, Key: []byte(key), Value: []byte("v")}, {Kind: OpDelete, Key: []byte(key)}} {
			if err := s.WriteRows(Local, op); err != nil {
				t.Fatal(err)
			}
			if _, there, err := s.Get([]byte(key)); err != nil || there != (op.Kind == OpSet) {
				t.Errorf("%s: there %v, %v", key, there, err)
			}
		}
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := entries(t, s) - before; got != want {
			t.Errorf("%s: %d entries in tables, want %d", key, got, want)
		}
	}
}

// entries counts the values and deletions of rows in all tables.
func entries(t *testing.T, s *Store) (n uint64) {
	t.Helper()
	levels, err := s.db.SSTables(pebble.WithProperties())
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range levels {
		for i := range level {
			n += level[i].Properties.NumEntries
		}
	}
	return n
}

// TestSetOnceBroken checks that the log says so where a row was set twice before its deletion.
func TestSetOnceBroken(t *testing.T) {
	var log lockedBuffer
	s := openOn(t, vfs.NewMem(), Options{SetOnce: []byte("o"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer closeStore(t, s)
	for _, kind := range []OpKind{OpSet, OpSet, OpDelete} {
		changeAll(t, s, kind, "v")
	}
	if err := s.db.Compact(t.Context(), []byte("a"), []byte("z"), false); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "set twice") || !strings.Contains(got, "o00000") {
		t.Errorf("the log has %q", got)
	}
}

// lockedBuffer is a buffer that goroutines may write to at once.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestRewriteCut checks that an opening which ends within the rewriting of rows that are to be set once
// leaves a store that says nothing of them and that an earlier version refuses, and that the next
// opening rewrites them.
func TestRewriteCut(t *testing.T) {
	for fault := 1; ; fault += 400 {
		fs := vfs.NewMem()
		s := openOn(t, fs, Options{})
		changeAll(t, s, OpSet, "first")
		changeAll(t, s, OpSet, "second")
		closeStore(t, s)
		ofFormat(t, fs, "3")
		var armed atomic.Bool
		left := fault
		o := Options{Dir: harnessDir, FS: fs, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, SetOnce: []byte("o")}
		o.ReadFault = func() error {
			if !armed.Load() {
				return nil
			}
			if left--; left == 0 {
				return syscall.EIO
			}
			return nil
		}
		o.FS = armOn(fs, &armed)
		s, err := Open(o)
		if err == nil {
			closeStore(t, s)
			if fault < 1000 {
				t.Errorf("fault %d: opened", fault)
			}
			break
		}
		spoil(t, fs, func(db *pebble.DB) error {
			if v, c, err := db.Get(metaKey(onceName)); err == nil {
				t.Errorf("fault %d: marked %q", fault, v)
				_ = c.Close()
			}
			v, c, err := db.Get(metaKey(hardPrefix + settingFormat))
			if err == nil {
				if string(v) != strconv.Itoa(formatVersion) && fault > 10 {
					t.Errorf("fault %d: format %q", fault, v)
				}
				err = c.Close()
			}
			return err
		})
		s = openOn(t, fs, Options{SetOnce: []byte("o")})
		leavesNone(t, fmt.Sprint("fault ", fault), s, "second")
	}
}

// armOn arms once the store is opened for writing: when it makes a log.
func armOn(fs FS, armed *atomic.Bool) FS { return arming{fs, armed} }

type arming struct {
	FS
	armed *atomic.Bool
}

func (a arming) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".log") {
		a.armed.Store(true)
	}
	return a.FS.Create(name, c)
}

// startingFor is a context that has ended once over is true.
type startingFor struct {
	context.Context
	over *atomic.Bool
}

func (s startingFor) Err() error {
	if s.over.Load() {
		return context.Canceled
	}
	return nil
}

// TestRewriteEnds checks that Options.Starting ends the rewriting of rows, and does not change it where it
// goes on.
func TestRewriteEnds(t *testing.T) {
	for _, ends := range []bool{true, false} {
		fs := vfs.NewMem()
		s := openOn(t, fs, Options{})
		changeAll(t, s, OpSet, "first")
		changeAll(t, s, OpSet, "second")
		closeStore(t, s)
		var over, unused atomic.Bool
		o := Options{
			Dir: harnessDir, FS: armOn(fs, &over), CacheBytes: 1 << 20, MemTableBytes: 1 << 20, SetOnce: []byte("o"),
			Starting: startingFor{t.Context(), &over},
		}
		if !ends {
			o.FS = armOn(fs, &unused)
		}
		s, err := Open(o)
		if ends {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("Open: %v", err)
			}
			s = openOn(t, fs, Options{SetOnce: []byte("o")})
		} else if err != nil {
			t.Fatal(err)
		}
		leavesNone(t, fmt.Sprint("ends ", ends), s, "second")
	}
}
