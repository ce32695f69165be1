package wal_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/wal"
	"pixd/wal/waltest"
)

// copyOf is one machine's copy of a journal that a tape has.
type copyOf struct {
	t     *testing.T
	name  string
	fs    *vfs.MemFS
	reel  *waltest.Reel
	store *wal.Store
	sum   uint64 // of the newest record of stream 7
	seq   uint64
	lost  atomic.Bool // the node is not certain to be the owner
	fell  chan error
	to    wal.Log // where it writes to as the owner; nil: the reel
}

func sharedOptions(c *copyOf) wal.Options {
	return wal.Options{
		Dir: "/data/journal", FS: c.fs, MemTableBytes: 1 << 20, CacheBytes: 1 << 20, AnchorEvery: time.Hour, SetOnce: []byte("o"), Shared: true,
		OnFailure: func(err error) { c.fell <- err },
	}.WithPatience(100 * time.Millisecond)
}

func openShared(t *testing.T, tape *waltest.Tape, name string, fs *vfs.MemFS) *copyOf {
	t.Helper()
	c := &copyOf{t: t, name: name, fs: fs, reel: tape.Log(), fell: make(chan error, 1)}
	var err error
	if c.store, err = wal.Open(sharedOptions(c)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.reel.Found(t.Context(), wal.Cluster{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	if err := c.store.Join("c"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.store.Close() })
	return c
}

// follow applies what the tape has.
func (c *copyOf) follow() error {
	at, _, _ := c.store.Head()
	return c.reel.Poll(c.t.Context(), 0, &at, c.store.Apply)
}

// own makes the copy the one that is written.
func (c *copyOf) own() {
	c.t.Helper()
	if err := c.follow(); err != nil {
		c.t.Fatal(err)
	}
	after, batch, err := c.store.OwnBatch(wal.Owner{Name: c.name, Run: c.name + "1"})
	if err == nil {
		err = c.reel.Take(c.t.Context(), 0, after, wal.NodeVersion{}, batch)
	}
	if err == nil {
		err = c.follow()
	}
	if c.to == nil {
		c.to = c.reel
	}
	if err == nil {
		err = c.store.Lead(wal.Lead{Log: c.to, Certain: func() bool { return !c.lost.Load() }})
	}
	if err == nil {
		c.seq, c.sum, err = c.store.Last(7)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// out is an Out that hands its result on.
type out chan error

func (o out) Release(err error) { o <- err }

// append appends an entry with a record, a row that stays and one that is set once.
func (c *copyOf) append() out {
	c.seq++
	r := wal.Seal(c.sum, wal.Record{Stream: 7, Seq: c.seq, Kind: 3, Time: int64(c.seq), Body: fmt.Append(nil, "body ", c.seq)})
	c.sum = r.Sum
	ops := []wal.Op{{Kind: wal.OpSet, Key: fmt.Append(nil, "r", c.seq%5), Value: fmt.Append(nil, c.seq)}, {Kind: wal.OpSet, Key: fmt.Append(nil, "o", c.seq), Value: []byte{1}}}
	if c.seq > 3 {
		ops = append(ops, wal.Op{Kind: wal.OpDelete, Key: fmt.Append(nil, "o", c.seq-3)})
	}
	if c.seq%50 == 0 {
		ops = append(ops, wal.Op{Kind: wal.OpDeleteRange, Key: []byte("r1"), Value: []byte("r3")})
	}
	done := make(out, 1)
	c.store.Append(&wal.Entry{Stream: 7, Expect: c.seq - 1, Records: []wal.Sealed{r}, Ops: ops, Out: []wal.Out{done}})
	return done
}

func (c *copyOf) mustAppend(n int) {
	c.t.Helper()
	for range n {
		select {
		case err := <-c.append():
			if err != nil {
				c.t.Fatal(err)
			}
		case <-time.After(10 * time.Second):
			c.t.Fatal("an entry was not released")
		}
	}
}

// content is everything that a store has beside what each machine writes for itself.
func content(t *testing.T, s *wal.Store) string {
	t.Helper()
	var b strings.Builder
	err := s.Scan([]byte{'!'}, nil, func(k, v []byte) (bool, error) {
		if !bytes.HasPrefix(k, []byte("!wal/verified")) {
			fmt.Fprintf(&b, "%q %x\n", k, v)
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// same checks that two copies have the same journal, and that it can be verified.
func same(t *testing.T, a, b *wal.Store) {
	t.Helper()
	if one, two := content(t, a), content(t, b); one != two {
		t.Errorf("the copies differ:\n%s\n%s", one, two)
	}
	for _, s := range []*wal.Store{a, b} {
		if _, err := s.Verify(nil, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestSharedFollows checks that a copy that follows has what the owner has, and goes on from there.
func TestSharedFollows(t *testing.T) {
	tape := waltest.NewTape()
	a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewMem())
	a.own()
	a.mustAppend(120)
	if err := a.store.WriteRows(wal.Shared, wal.Op{Kind: wal.OpSet, Key: []byte("shared"), Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	if err := b.follow(); err != nil {
		t.Fatal(err)
	}
	same(t, a.store, b.store)
	if o := b.store.Owner(); o.Name != "a" || o.Epoch != 1 {
		t.Errorf("the owner is %+v", o)
	}
	b.own()
	b.mustAppend(20)
	if _, err := b.store.Verify(nil, nil); err != nil {
		t.Error(err)
	}
}

// TestSharedFenced checks that a copy whose log another has taken writes nothing and releases nothing.
func TestSharedFenced(t *testing.T) {
	tape := waltest.NewTape()
	a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewMem())
	a.own()
	a.mustAppend(3)
	b.own()
	done := a.append()
	select {
	case err := <-a.fell:
		if !errors.Is(err, wal.ErrFenced) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the writer goes on")
	}
	read := make(out, 1)
	a.store.Append(&wal.Entry{Stream: 7, Out: []wal.Out{read}})
	select {
	case err := <-done:
		t.Error("an entry that the log does not have was released:", err)
	case err := <-read:
		t.Error("a read was released after the failure:", err)
	case <-time.After(50 * time.Millisecond):
	}
	if at, _, _ := a.store.Head(); at != 4 {
		t.Errorf("the fenced copy has batch %d", at)
	}
	if err := a.store.Close(); !errors.Is(err, wal.ErrFenced) {
		t.Error(err)
	}
	again := openShared(t, tape, "a", a.fs) // the folder is free, and its journal goes on where the log does
	if err := again.follow(); err != nil {
		t.Error(err)
	}
	same(t, again.store, b.store)
	b.mustAppend(2)
	if _, err := b.store.Verify(nil, nil); err != nil {
		t.Error(err)
	}
}

// TestSharedUncertain checks that a read leaves only while the node is certain, and that an answer
// which the log has proves it by itself.
func TestSharedUncertain(t *testing.T) {
	tape := waltest.NewTape()
	a := openShared(t, tape, "a", vfs.NewMem())
	a.own()
	a.mustAppend(1)
	a.lost.Store(true)
	a.mustAppend(1)
	read := make(out, 1)
	a.store.Append(&wal.Entry{Stream: 7, Out: []wal.Out{read}})
	select {
	case err := <-read:
		t.Error("a read was released by a node that is not certain to be the owner:", err)
	case err := <-a.fell:
		if !errors.Is(err, wal.ErrFenced) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing came of the read")
	}
}

// TestSharedAnswerLost checks that a batch whose answer is lost is added once, and released only when
// the log is known to have it.
func TestSharedAnswerLost(t *testing.T) {
	for _, fault := range []waltest.Fault{waltest.Lost, waltest.Refused, waltest.Doubled} {
		tape := waltest.NewTape()
		a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewMem())
		a.own()
		a.mustAppend(1)
		a.reel.Next(fault, fault)
		a.mustAppend(1)
		tape.Arrive()
		a.mustAppend(3)
		if err := b.follow(); err != nil {
			t.Fatal(fault, err)
		}
		same(t, a.store, b.store)
	}
	tape := waltest.NewTape()
	a := openShared(t, tape, "a", vfs.NewMem())
	a.own()
	a.reel.Cut(true)
	done := a.append()
	select {
	case err := <-done:
		t.Fatal("an entry was released that the log does not have:", err)
	case <-time.After(100 * time.Millisecond):
	}
	a.reel.Cut(false)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestSharedCrash checks that a copy that loses its newest batches with the machine follows them
// again, wherever it is cut.
func TestSharedCrash(t *testing.T) {
	for seed := range uint64(20) {
		tape := waltest.NewTape()
		a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewCrashableMem())
		a.own()
		a.mustAppend(20)
		if err := b.follow(); err != nil {
			t.Fatal(err)
		}
		cut := b.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed % 3 * 50), RNG: rand.New(rand.NewPCG(seed, 1))})
		again := openShared(t, tape, "b", cut)
		if err := again.follow(); err != nil {
			t.Fatal(err)
		}
		same(t, a.store, again.store)
	}
}

// TestSharedSynced checks that the anchor never names a batch that a lost machine does not have.
func TestSharedSynced(t *testing.T) {
	tape := waltest.NewTape()
	a := openShared(t, tape, "a", vfs.NewMem())
	a.own()
	a.mustAppend(5)
	fs := vfs.NewCrashableMem()
	b := &copyOf{t: t, name: "b", fs: fs, reel: tape.Log(), fell: make(chan error, 1)}
	o := sharedOptions(b)
	o.AnchorEvery = time.Millisecond
	var err error
	if b.store, err = wal.Open(o); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.store.Close() }()
	if err := b.follow(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); b.store.Synced() < 6; {
		if time.Now().After(until) {
			t.Fatalf("synced up to %d", b.store.Synced())
		}
		time.Sleep(time.Millisecond)
	}
	again := openShared(t, tape, "b", fs.CrashClone(vfs.CrashCloneCfg{}))
	if at, _, _ := again.store.Head(); at != 6 {
		t.Errorf("after the crash there is batch %d, and the anchor named 6", at)
	}
}

// TestSharedAlone checks that a copy is not written alone before it has left the cluster, and that it
// is one of its own afterwards.
func TestSharedAlone(t *testing.T) {
	tape := waltest.NewTape()
	a := openShared(t, tape, "a", vfs.NewMem())
	a.own()
	a.mustAppend(3)
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	o := sharedOptions(a)
	o.Shared = false
	if _, err := wal.Open(o); !errors.Is(err, wal.ErrOfCluster) {
		t.Fatal(err)
	}
	o.LeaveCluster = true
	s, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WriteRows(wal.Shared, wal.Op{Kind: wal.OpSet, Key: []byte("alone"), Value: []byte("1")}); err != nil {
		t.Error(err)
	}
	if id, err := s.Cluster(); id != "" || err != nil {
		t.Error(id, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.LeaveCluster = false
	if s, err = wal.Open(o); err != nil {
		t.Fatal(err)
	}
	if format, _, err := s.HardSetting("format"); format != "9" || err != nil {
		t.Error(format, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSharedOutOfPlace checks that a copy takes no batch but the one that continues its journal.
func TestSharedOutOfPlace(t *testing.T) {
	tape := waltest.NewTape()
	a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewMem())
	a.own()
	a.mustAppend(3)
	var all [][]byte
	at := uint64(0)
	if err := b.reel.Poll(t.Context(), 0, &at, func(_ uint64, batch []byte) error { all = append(all, batch); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.store.Apply(1, all[0]), b.store.Apply(2, all[1])); err != nil {
		t.Fatal(err)
	}
	resummed := func(change func(batch []byte)) []byte {
		batch := bytes.Clone(all[2])
		change(batch)
		end := len(batch) - 8
		binary.BigEndian.PutUint64(batch[end:], xxhash.Sum64(batch[:end]))
		return batch
	}
	for name, c := range map[string]struct {
		position uint64
		batch    []byte
		want     string
	}{
		"the one before":   {2, all[1], "this node has 2"},
		"one left out":     {4, all[3], "this node has 2"},
		"another position": {3, all[3], "this node has 2"},
		"a flipped bit":    {3, append(bytes.Clone(all[2][:40]), append([]byte{all[2][40] ^ 1}, all[2][41:]...)...), "checksum"},
		"cut":              {3, all[2][:20], "too short"},
		"another version":  {3, append([]byte{9}, all[2][1:]...), "version 9"},
		"another log":      {3, resummed(func(b []byte) { b[2] = 1 }), "of log 1"},
		"another epoch":    {3, resummed(func(b []byte) { b[10] = 9 }), "written by the owner since batch 9"},
		"another sum":      {3, resummed(func(b []byte) { b[26] ^= 1 }), "the sum before it"},
	} {
		err := b.store.Apply(c.position, c.batch)
		if wrong := (*wal.OutOfPlace)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(b.store.Apply(3, all[2]), b.store.Apply(4, all[3])); err != nil {
		t.Fatal(err)
	}
	same(t, a.store, b.store)
}

// TestSharedResign checks that a handover is the last batch of whoever hands over, and that there is
// no owner then.
func TestSharedResign(t *testing.T) {
	tape := waltest.NewTape()
	a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewMem())
	a.own()
	waits := a.append()
	if err := a.store.Resign("b"); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
	late := a.append()
	if err := a.store.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-late:
		t.Error("an entry after the handover was released:", err)
	default:
	}
	if err := b.follow(); err != nil {
		t.Fatal(err)
	}
	if o := b.store.Owner(); o != (wal.Owner{Next: "b", Level: 9}) {
		t.Errorf("the owner is %+v", o)
	}
	b.own()
	b.mustAppend(1)
}

// TestSharedLead checks that only the owner of the newest batch may write.
func TestSharedLead(t *testing.T) {
	tape := waltest.NewTape()
	a, b := openShared(t, tape, "a", vfs.NewMem()), openShared(t, tape, "b", vfs.NewMem())
	if err := b.store.Lead(wal.Lead{}); err == nil {
		t.Error("a copy that nobody owns may be written")
	}
	a.own()
	a.mustAppend(1)
	if err := b.follow(); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Lead(wal.Lead{}); err == nil {
		t.Error("a copy may be written although the journal goes on behind its owner")
	}
}

// TestSharedClose checks that a copy closes although its log does not answer.
func TestSharedClose(t *testing.T) {
	tape := waltest.NewTape()
	a := openShared(t, tape, "a", vfs.NewMem())
	a.own()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a.reel.Cut(true)
	done := a.append()
	closed := make(chan error, 1)
	go func() { closed <- a.store.Close() }()
	select {
	case err := <-closed:
		if err == nil {
			t.Error("a store that could not write its last entry closed without an error")
		}
	case <-ctx.Done():
		t.Fatal("Close does not return")
	}
	select {
	case err := <-done:
		t.Error("the entry was released:", err)
	default:
	}
}

// TestSharedResignNobody checks that a handover ends though no other node is there to take it.
func TestSharedResignNobody(t *testing.T) {
	tape := waltest.NewTape()
	a := openShared(t, tape, "a", vfs.NewMem())
	a.own()
	a.reel.Cut(true)
	resigned := make(chan error, 1)
	go func() { resigned <- a.store.Resign("b") }()
	select {
	case err := <-resigned:
		if err == nil {
			t.Error("the log was handed over although it takes nothing")
		}
	case <-time.After(time.Minute):
		t.Fatal("Resign does not return")
	}
	if err := a.store.Close(); err == nil {
		t.Error("the store closed without an error")
	}
}
