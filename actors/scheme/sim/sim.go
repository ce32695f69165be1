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
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// Options configure a simulator.
type Options struct {
	Dir         string
	ReadOnly    bool          // the book in Dir is only read: no file is made or changed, and what would change the book fails with ErrReadOnly
	FS          wal.FS        // nil: the machine's file system
	Store       Store         // the store of the book, instead of one in Dir; Close closes it
	OwnISPB     string        // ISPB of the engine's institution; empty: the constant OwnISPB
	SettleDelay time.Duration // from submission to settlement; 0: a payment settles inside the submit call
	OpenAtOnce  int           // largest number of notices that are delivered and not acknowledged; 0: 4,096
	Now         func() pix.Millis
	Entropy     func() [10]byte
	OnFailure   func(error)
	Log         *slog.Logger
	Starting    context.Context // ends Open, with its error, while it reads the book; nil: nothing does

	CacheBytes    int64  // see wal.Options; default 16 MiB
	MemTableBytes uint64 // see wal.Options; default 32 MiB
}

// OwnISPB is the ISPB of the engine's institution if Options.OwnISPB is empty.
const OwnISPB = "99999004"

// Sim simulates the scheme, the counterparties' banks and the customers.
type Sim struct {
	opts  Options
	store Store
	last  atomic.Int64 // the newest time that the method now has returned, in ms
	ahead int64        // ms that are added to Options.Now, because that was behind the book at Open

	// order is held from taking a time and a number for a row until the row is appended, so
	// that rows are appended in the order of their times and numbers.
	order sync.Mutex
	count uint64 // number of the newest movement

	mu      sync.Mutex           // guards the maps of rows that are not durable yet; taken after order
	holders map[string]pix.TxID  // for end-to-end ids whose row is not durable yet, the transaction that has the id
	keys    map[string]keyChange // the last change of each key that has changes which are not durable yet
	changes uint64               // number of the newest change of a key
	limited map[pix.TxID]uint64  // number of limits met, for payouts whose limit row is not durable yet
	lookups atomic.Uint32        // the Capacity that was set last

	adding   sync.Mutex   // held while movements are added to the stored sums
	added    mark         // the mark up to which the sums count; guarded by adding
	openFrom pix.Millis   // no notice about money is open before this time; guarded by adding
	unadded  atomic.Int64 // number of movements booked since addUp last began
	counting atomic.Bool  // a goroutine is adding movements to the sums

	single sync.Mutex // held by calls that read the book before they add to it, so that only one such call runs at a time

	ids  *keyed.Filter // filter over every end-to-end id in the book, complete once fill has run; nil with Options.Store and Options.ReadOnly
	out  *deliverer
	stop context.CancelFunc
	ctx  context.Context // cancelled by Close
	work sync.WaitGroup
}

// idFilter is the size of ids in bytes: enough for six million ids.
const idFilter = 8 << 20

var _ scheme.Scheme = (*Sim)(nil)

// bookFormat marks a store as a simulator's book, so that it is never taken for an engine's
// journal.
const bookFormat = "pixd-sim-1"

// Open opens the book, or creates it, unless Options.ReadOnly says that it is only read. It
// delivers no notice: Start or Due does.
func Open(o Options) (*Sim, error) {
	if o.OwnISPB == "" {
		o.OwnISPB = OwnISPB
	}
	s := &Sim{
		opts: o, store: o.Store, holders: map[string]pix.TxID{}, keys: map[string]keyChange{},
		limited: map[pix.TxID]uint64{},
	}
	if s.store == nil {
		store, err := wal.Open(wal.Options{
			Dir: o.Dir, FS: o.FS, ReadOnly: o.ReadOnly, Hard: map[string]string{"book": bookFormat}, OnFailure: o.OnFailure, Log: o.Log,
			CacheBytes: cmp.Or(o.CacheBytes, 16<<20), MemTableBytes: cmp.Or(o.MemTableBytes, 32<<20),
		})
		if err != nil {
			return nil, fmt.Errorf("simulator: %w", err)
		}
		s.store = store
		if !o.ReadOnly {
			s.ids = keyed.NewFilter(idFilter)
		}
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

// restore reads the state that an earlier process left in the book.
func (s *Sim) restore() error {
	if err := s.restoreMovements(); err != nil {
		return err
	}
	if err := s.makeOthers(); err != nil {
		return err
	}
	if err := s.restoreCapacity(); err != nil {
		return err
	}
	return s.store.Scan([]byte{rowOpen}, []byte{rowOpen + 1}, func(k, v []byte) (bool, error) {
		if err := s.stopped(); err != nil {
			return false, err
		}
		i, err := s.reopen(k, v)
		if err == nil {
			s.out.add(i)
		}
		return true, err
	})
}

// stopped returns an error where Open must end.
func (s *Sim) stopped() error {
	if s.opts.Starting == nil {
		return nil
	}
	return s.opts.Starting.Err()
}

// fill adds every end-to-end id in the book to the filter. The method hold adds the ids that
// are booked while fill runs.
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

// Start gives due notices to the feed, first those that an earlier process sent without
// getting an acknowledgement. It is called once, and not together with Due.
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

// Lookup implements scheme.Scheme. Limits are checked before the key is looked at.
func (s *Sim) Lookup(_ context.Context, q scheme.Query) (pix.Party, error) {
	o := script(q.Key)
	limit, err := s.limit(q.Tx, o)
	if err != nil {
		return pix.Party{}, err
	}
	if limit != ledger.RefuseNothing {
		return pix.Party{}, &scheme.Refused{Code: limit}
	}
	if o.lookup != ledger.RefuseNothing {
		return pix.Party{}, &scheme.Refused{Code: o.lookup}
	}
	return owner(q.Key, o), nil
}
