package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

const harnessDir = "/data/journal"

// harness appends random entries, notes which of them were appended and which released, and
// checks the entries of a store that was opened again.
type harness struct {
	rng     *rand.Rand
	entries []spec // the appended entries, in order of submission
	tails   map[Stream]tail

	mu       sync.Mutex
	released int // number of entries, counted from the oldest, that were released
	wrong    error
}

// spec describes one appended entry: which records and rows the store must have because of
// it.
type spec struct {
	id      int
	stream  Stream
	first   uint64
	records int
	rows    int
	refuse  bool
}

func newHarness(seed uint64) *harness {
	return &harness{rng: rand.New(rand.NewPCG(seed, 1)), tails: make(map[Stream]tail)}
}

type harnessOut struct {
	w *harness
	n int // index of the entry in harness.entries
}

func (o harnessOut) Release(err error) {
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	sp := o.w.entries[o.n]
	switch {
	case o.n != o.w.released:
		o.w.wrong = fmt.Errorf("entry %d released after %d", o.n, o.w.released)
	case sp.refuse != errors.Is(err, ErrSequence), !sp.refuse && err != nil:
		o.w.wrong = fmt.Errorf("entry %d released with %w", o.n, err)
	}
	o.w.released = o.n + 1
}

func (w *harness) releasedCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.released
}

// next makes a random entry and appends it.
func (w *harness) next(s *Store) {
	sp := spec{id: len(w.entries), stream: Stream(w.rng.IntN(6)), rows: w.rng.IntN(4)}
	if w.rng.IntN(5) > 0 {
		sp.records = 1 + w.rng.IntN(4)
	}
	t := w.tails[sp.stream]
	sp.first = t.seq + 1
	e := &Entry{Stream: sp.stream, Expect: t.seq, Forget: w.rng.IntN(10) == 0, Lazy: w.rng.IntN(4) == 0}
	for i := range sp.records {
		body := fmt.Appendf(nil, "%d.%d ", sp.id, i)
		body = append(body, make([]byte, w.rng.IntN(600))...)
		sealed := Seal(t.sum, Record{Stream: sp.stream, Seq: t.seq + 1, Kind: 3, Time: int64(sp.id), Body: body})
		e.Records = append(e.Records, sealed)
		t = tail{sealed.Seq, sealed.Sum}
	}
	for i := range sp.rows {
		e.Ops = append(e.Ops, Op{OpSet, rowKey(sp.id, i), make([]byte, w.rng.IntN(300))})
	}
	if sp.records > 0 && w.rng.IntN(12) == 0 {
		sp.refuse = true
		e.Expect += 3
	} else {
		w.tails[sp.stream] = t
	}
	w.mu.Lock()
	e.Out = []Out{harnessOut{w, len(w.entries)}}
	w.entries = append(w.entries, sp)
	w.mu.Unlock()
	s.Append(e)
}

func rowKey(id, i int) []byte { return fmt.Appendf(nil, "e%08d.%d", id, i) }

// run appends n entries. After some of them it waits until all entries are released.
func (w *harness) run(s *Store, n int) error {
	for range n {
		w.next(s)
		if w.rng.IntN(4) == 0 {
			if err := w.settle(s); err != nil {
				return err
			}
		}
	}
	return w.settle(s)
}

// settle waits until every entry is released or the store has failed.
func (w *harness) settle(s *Store) error {
	for range 20000 {
		w.mu.Lock()
		n, wrong := w.released, w.wrong
		w.mu.Unlock()
		if wrong != nil || n == len(w.entries) {
			return wrong
		}
		if s.Err() != nil {
			return nil
		}
		time.Sleep(50 * time.Microsecond)
	}
	return errors.New("entries are not released")
}

// judge opens the store on fs and checks its entries: the first released entries must be
// complete, each later entry must be complete or missing, and no entry may follow a missing
// one. It returns the open store and the number of entries that are complete.
func (w *harness) judge(fs FS, released int, opts Options) (*Store, int, error) {
	opts.FS, opts.Dir = fs, harnessDir
	s, err := Open(opts)
	if err != nil {
		return nil, 0, err
	}
	n, err := w.survivors(s, released)
	if err == nil {
		_, err = s.Verify(nil, nil)
	}
	if err != nil {
		return nil, 0, errors.Join(err, s.Close())
	}
	return s, n, nil
}

func (w *harness) survivors(s *Store, released int) (int, error) {
	w.mu.Lock()
	entries := w.entries
	w.mu.Unlock()
	alive, gap := 0, -1
	for i, sp := range entries {
		there, of, err := presence(s, sp)
		if err != nil {
			return 0, err
		}
		switch {
		case of == 0 || sp.refuse && there == 0:
			continue
		case sp.refuse:
			return 0, fmt.Errorf("entry %d was refused and %d of %d parts are there", i, there, of)
		case there != 0 && there != of:
			return 0, fmt.Errorf("entry %d: %d of %d parts are there", i, there, of)
		case there == 0 && i < released:
			return 0, fmt.Errorf("entry %d was released (%d were) and is lost", i, released)
		case there == 0 && gap < 0:
			gap = i
		case there > 0 && gap >= 0:
			return 0, fmt.Errorf("entry %d is there, %d before it is not", i, gap)
		case there > 0:
			alive = i + 1
		}
	}
	return alive, nil
}

// presence counts how many records and rows the entry has (of), and how many of these the
// store has (there).
func presence(s *Store, sp spec) (there, of int, err error) {
	for i := range sp.records {
		r, ok, err := s.Record(sp.stream, sp.first+uint64(i))
		if err != nil {
			return 0, 0, err
		}
		mine := fmt.Sprintf("%d.%d ", sp.id, i)
		if ok && len(r.Body) >= len(mine) && string(r.Body[:len(mine)]) == mine {
			there++
		}
	}
	for i := range sp.rows {
		_, ok, err := s.Get(rowKey(sp.id, i))
		if err != nil {
			return 0, 0, err
		}
		if ok {
			there++
		}
	}
	return there, sp.records + sp.rows, nil
}

// restart forgets the entries that did not survive and goes on with a store that was opened
// again.
func (w *harness) restart(s *Store, alive int) error {
	w.entries = w.entries[:alive:alive]
	w.released = alive
	for stream := range Stream(6) {
		seq, sum, err := s.Last(stream)
		if err != nil {
			return err
		}
		w.tails[stream] = tail{seq, sum}
	}
	return nil
}

// smallOptions make Pebble begin new logs and tables after few entries.
func smallOptions() Options {
	return Options{
		segmentRecords: 5, MemTableBytes: 64 << 10, CacheBytes: 1 << 20, AnchorEvery: time.Millisecond,
		Hard: map[string]string{"ispb": "12345678"},
	}
}

// onWrite wraps fs so that before is called ahead of each operation that writes, on the
// goroutine of the operation.
func onWrite(fs FS, before func(errorfs.Op) error) FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return before(op)
		}
		return nil
	}))
}

func mustOpen(t testing.TB, opts Options) *Store {
	t.Helper()
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keyOf is the key that a record has in a store.
func keyOf(db pebble.Reader, stream Stream, seq uint64) []byte {
	r := &records{from: source{from: db}}
	defer r.close()
	if err := r.find(stream, seq); err != nil {
		panic(err)
	}
	return r.place.key(stream, seq)
}
