package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/actors/scheme"
	"pixd/wal"
)

// Options are what a simulator is made of.
type Options struct {
	Dir         string
	FS          wal.FS        // nil: the disk
	Store       Store         // the book, instead of one in Dir; Close closes it
	OwnISPB     string        // the engine's institution; empty: OwnISPB
	SettleDelay time.Duration // from submission to settlement; 0 settles inside the submit call
	OpenAtOnce  int           // notices delivered and not acknowledged; 0: 4,096
	Now         func() ledger.Millis
	Entropy     func() [10]byte
	OnFailure   func(error)
	Log         *slog.Logger

	CacheBytes    int64  // see wal.Options; default 16 MiB
	MemTableBytes uint64 // default 32 MiB
}

// OwnISPB is the engine's institution where Options name none.
const OwnISPB = "99999004"

// Sim is the scheme and everyone behind it.
type Sim struct {
	opts  Options
	store Store
	last  atomic.Int64 // the newest instant that now gave
	ahead int64        // ms that the clock runs ahead, where it had gone back before Open

	// order is held from giving an instant and a number to appending what has
	// them, so that they stand in the book in the order they were given.
	order sync.Mutex
	count uint64 // the newest movement's number

	mu      sync.Mutex             // guards what is on its way to the book; taken after order
	holders map[string]ledger.TxID // end-to-end ids whose row is not durable yet
	keys    map[string]keyRow      // keys whose row is not durable yet
	limited map[ledger.TxID]uint64 // limits met by a payout, likewise
	lookups atomic.Uint32          // Capacity: what every lookup meets

	adding   sync.Mutex    // held while movements are added up
	added    mark          // how far they are; guarded by adding
	openFrom ledger.Millis // no notice about money is open before it; guarded by adding
	unadded  atomic.Int64  // movements booked since the mark was moved
	counting atomic.Bool   // a goroutine is at it

	single sync.Mutex // held by what looks at the book before it adds to it: one at a time

	ids  *keyed.Filter // every end-to-end id in the book, once it was filled
	out  *deliverer
	stop context.CancelFunc
	ctx  context.Context // ends with Close
	work sync.WaitGroup
}

// idFilter is its size, in bytes: good for six million ids.
const idFilter = 8 << 20

var _ scheme.Scheme = (*Sim)(nil)

// bookFormat names the book, so that it is never taken for an engine's journal.
const bookFormat = "pixd-sim-1"

// Open opens the book, or makes it. Nothing is delivered before Start or Due.
func Open(o Options) (*Sim, error) {
	if o.OwnISPB == "" {
		o.OwnISPB = OwnISPB
	}
	s := &Sim{
		opts: o, store: o.Store, holders: map[string]ledger.TxID{}, keys: map[string]keyRow{},
		limited: map[ledger.TxID]uint64{},
	}
	if s.store == nil {
		store, err := wal.Open(wal.Options{
			Dir: o.Dir, FS: o.FS, Hard: map[string]string{"book": bookFormat}, OnFailure: o.OnFailure, Log: o.Log,
			CacheBytes: cmp.Or(o.CacheBytes, 16<<20), MemTableBytes: cmp.Or(o.MemTableBytes, 32<<20),
		})
		if err != nil {
			return nil, fmt.Errorf("simulator: %w", err)
		}
		s.store, s.ids = store, keyed.NewFilter(idFilter)
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.out = newDeliverer(s)
	if s.out.outbox.most = o.OpenAtOnce; o.OpenAtOnce == 0 {
		s.out.outbox.most = openAtOnce
	}
	if err := s.restore(); err != nil {
		s.stop()
		return nil, fmt.Errorf("simulator: %w", errors.Join(err, s.store.Close()))
	}
	if s.ids != nil {
		s.work.Go(s.fill)
	}
	return s, nil
}

// restore reads what an earlier process left.
func (s *Sim) restore() error {
	if err := s.restoreMovements(); err != nil {
		return err
	}
	if err := s.restoreCapacity(); err != nil {
		return err
	}
	return s.store.Scan([]byte{rowOpen}, []byte{rowOpen + 1}, func(k, v []byte) (bool, error) {
		i, err := s.reopen(k, v)
		if err == nil {
			s.out.add(i)
		}
		return true, err
	})
}

// fill tells the filter every end-to-end id in the book; ids that come meanwhile
// are told by hold.
func (s *Sim) fill() {
	err := s.store.Scan([]byte{rowHolder}, []byte{rowHolder + 1}, func(k, _ []byte) (bool, error) {
		s.ids.Add(k)
		return s.ctx.Err() == nil, nil
	})
	if err != nil {
		s.opts.Log.Error("simulator: filter not filled: every payment asks the book", "error", err)
	} else if s.ctx.Err() == nil {
		s.ids.Ready()
	}
}

// Start delivers to the feed what is due, beginning with what an earlier
// process left unacknowledged. It is called once, and not together with Due.
func (s *Sim) Start(feed scheme.Feed) error {
	s.out.start(feed)
	return nil
}

// Close stops delivering and closes the book.
func (s *Sim) Close() error {
	s.out.close()
	s.stop()
	s.work.Wait()
	return s.store.Close()
}

// RegisterKey makes a key of the engine's known to customers.
func (s *Sim) RegisterKey(ctx context.Context, k ledger.Key, a ledger.AccountID) error {
	row := keyRow{Account: a, Type: k.Type}
	s.mu.Lock()
	_, onItsWay := s.keys[k.Value]
	s.mu.Unlock()
	// What is only on its way may be lost: it is written again, and waited for.
	if known, ok, err := s.key(k.Value); err != nil || ok && known == row && !onItsWay {
		return err
	}
	s.mu.Lock()
	s.keys[k.Value] = row
	s.mu.Unlock()
	return wait(ctx, s.append([]wal.Op{set(key(rowKey, k.Value), row)}, func() {
		s.mu.Lock()
		delete(s.keys, k.Value)
		s.mu.Unlock()
	}))
}

func (s *Sim) key(k string) (keyRow, bool, error) {
	s.mu.Lock()
	row, ok := s.keys[k]
	s.mu.Unlock()
	if ok {
		return row, true, nil
	}
	ok, err := read(s.store, key(rowKey, k), &row)
	return row, ok, err
}

// Lookup is the directory. What limits it comes before what it knows.
func (s *Sim) Lookup(_ context.Context, q scheme.Query) (ledger.Party, error) {
	o := script(q.Key)
	limit, err := s.limit(q.Tx, o)
	if err != nil {
		return ledger.Party{}, err
	}
	if limit != ledger.RefuseNothing {
		return ledger.Party{}, &scheme.Refused{Code: limit}
	}
	if o.lookup != ledger.RefuseNothing {
		return ledger.Party{}, &scheme.Refused{Code: o.lookup}
	}
	return owner(q.Key, o), nil
}
