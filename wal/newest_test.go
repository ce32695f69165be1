package wal

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// grown opens a store and appends records to some streams: n records to stream n.
func grown(t testing.TB, o Options, streams ...Stream) (*Store, map[Stream]tail) {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	tails := map[Stream]tail{}
	for _, stream := range streams {
		var at tail
		for range stream {
			sealed := Seal(at.sum, Record{Stream: stream, Seq: at.seq + 1, Kind: 3, Time: int64(stream), Body: fmt.Append(nil, stream)})
			s.Append(&Entry{Stream: stream, Expect: at.seq, Records: []Sealed{sealed}})
			at = tail{sealed.Seq, sealed.Sum}
		}
		tails[stream] = at
	}
	flushed(t, s)
	return s, tails
}

// flushed waits until everything appended is durable.
func flushed(t testing.TB, s *Store) {
	t.Helper()
	done := make(waitOut, 1)
	s.Append(&Entry{Out: []Out{done}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

type waitOut chan error

// Release implements Out.
func (w waitOut) Release(err error) { w <- err }

// TestNewest checks that each stream's newest record is found, in order, that damage is reported,
// and that an error ends it.
func TestNewest(t *testing.T) {
	const last = 1<<64 - 1
	s, tails := grown(t, Options{Dir: "j", FS: vfs.NewMem()}, 1, 2, 7)
	sealed := Seal(0, Record{Stream: last, Seq: 1, Kind: 3, Body: []byte("x")})
	s.Append(&Entry{Stream: last, Records: []Sealed{sealed}, Ops: []Op{{OpSet, []byte("a"), nil}}})
	tails[last] = tail{1, sealed.Sum}
	flushed(t, s)
	v := s.View()
	got, order := map[Stream]tail{}, []Stream{}
	if err := v.Newest(func(r Record) error {
		got[r.Stream] = tail{r.Seq, r.Sum}
		order = append(order, r.Stream)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, tails) || !reflect.DeepEqual(order, []Stream{1, 2, 7, last}) {
		t.Errorf("%v in the order %v, want %v", got, order, tails)
	}
	enough := errors.New("enough")
	if err := v.Newest(func(Record) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("an error of fn: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	value, _, err := s.Get(keyOf(s.db, 2, 2))
	if err != nil {
		t.Fatal(err)
	}
	value[12] ^= 1
	if err := s.db.Set(keyOf(s.db, 2, 2), value, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	v = s.View()
	damage := new(Damage)
	if err := v.Newest(func(Record) error { return nil }); !errors.As(err, &damage) || damage.Stream != 2 || damage.Seq != 2 {
		t.Errorf("a changed record: %v", err)
	}
	if err := errors.Join(v.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.View().Newest(func(Record) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}

// TestVerifiedCopy checks that the copy of a checkpoint opens without verifying what its caller
// has vouched for, that it does verify what comes later, and that another batch than the
// journal's is refused.
func TestVerifiedCopy(t *testing.T) {
	fs := vfs.NewMem()
	s, _ := grown(t, Options{Dir: "j", FS: fs}, 3, 40)
	if s.DiskUsage() == 0 {
		t.Error("the store has no bytes on disk")
	}
	value, _, err := s.Get(keyOf(s.db, 3, 1))
	if err != nil {
		t.Fatal(err)
	}
	value[12] ^= 1 // found only where the batch is verified
	if err := s.db.Set(keyOf(s.db, 3, 1), value, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	position, at, sum, err := s.Checkpoint("copy")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open := func(verified Head) error {
		c, err := Open(Options{Dir: "copy", FS: Unsynced(fs), Verified: verified, NoCompactions: true})
		if err != nil {
			return err
		}
		if p, _, s := c.Head(); p != position || s != sum {
			t.Errorf("the copy ends at %d, %x", p, s)
		}
		return c.Close()
	}
	if err := open(Head{}); !IsDamage(err) {
		t.Errorf("without a batch to begin at: %v", err)
	}
	other := Head{position, at, sum + 1}
	if err := open(other); err == nil {
		t.Error("a batch that is not the journal's was taken")
	}
	if err := open(Head{position, at, sum}); err != nil {
		t.Fatal(err)
	}
}
