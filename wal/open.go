package wal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
)

// storeName is the folder within Options.Dir that only Pebble uses.
const storeName = "store"

// Open opens the store in o.Dir; if the folder is empty or missing, it creates the store.
// It first reads the store without writing. It refuses the store, and leaves it as it is,
// if another process has it open, a setting differs, a newer version of the engine wrote
// it, it is shorter than its anchor says, or the batches after the verified mark or their
// records cannot be verified.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	s, err := openStore(o)
	if err != nil {
		return nil, fmt.Errorf("wal: open %s: %w", o.Dir, err)
	}
	return s, nil
}

func openStore(o Options) (*Store, error) {
	takeFolder := lockReading
	if !o.ReadOnly {
		takeFolder = lockFolder
		if err := makeFolder(o.FS, o.Dir); err != nil {
			return nil, err
		}
	}
	lock, err := takeFolder(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := openLocked(o)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	s.lock = lock
	return s, nil
}

func openLocked(o Options) (*Store, error) {
	anchor, err := prepare(o)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: o, fail: newFailure(), notes: &flushNotes{}, readers: newReaders(), newest: map[Stream]Ticket{}}
	if err := s.inspect(anchor); err != nil {
		return nil, err
	}
	if o.ReadOnly {
		return s, nil
	}
	if err := s.start(anchor); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare reads the anchor of an existing store, or creates a store.
func prepare(o Options) (slot, error) {
	anchor, ok, err := readAnchor(o.FS, o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return slot{}, err
	}
	filled, ferr := isFilled(o.FS, o.FS.PathJoin(o.Dir, storeName))
	switch {
	case ferr != nil:
		return slot{}, ferr
	case ok && anchor.state == stateReady:
		return anchor, nil
	case !ok && filled && err != nil:
		return slot{}, fmt.Errorf("file %q is missing, and %q is not empty: without it nobody can tell whether the journal is whole", anchorName, storeName)
	case !ok && filled:
		return slot{}, fmt.Errorf("file %q is damaged in both slots: without it nobody can tell whether the journal is whole", anchorName)
	case o.ReadOnly:
		return slot{}, errors.New("there is no store")
	}
	return create(o)
}

// isFilled reports whether the folder exists and is not empty.
func isFilled(fsys FS, dir string) (bool, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(names) > 0, err
}

// inspect opens the store without writing to it and verifies it. With ReadOnly the store
// then stays open in this way.
func (s *Store) inspect(anchor slot) error {
	db, err := s.openPebble(true)
	if err != nil {
		return err
	}
	s.db = db
	if err = s.verify(anchor); err != nil || !s.opts.ReadOnly {
		err = errors.Join(err, db.Close())
		s.db = nil
	}
	return err
}

// verify checks the settings, that the journal is as long as its anchor says, and the chain
// of batches.
func (s *Store) verify(anchor slot) error {
	if err := errors.Join(s.checkHard(), s.checkCluster()); err != nil {
		return err
	}
	var err error
	if !s.opts.ReadOnly {
		if s.segment, err = s.newestSegment(); err != nil {
			return err
		}
	}
	err = s.verifyBatches(anchor)
	if s.opts.ReadOnly && s.opts.Doubtful {
		s.doubt, err = err, nil
	}
	return err
}

func (s *Store) verifyBatches(anchor slot) error {
	newest, err := s.newestBatch()
	if err != nil {
		return err
	}
	if newest < anchor.at.Position {
		return fmt.Errorf("the journal ends at batch %d, its anchor says that it reached %d", newest, anchor.at.Position)
	}
	if anchor.at.Position > 0 {
		at, err := s.batchHead(anchor.at.Position)
		if err != nil {
			return err
		}
		if at.Sum != anchor.at.Sum {
			return fmt.Errorf("batch %d has the sum %016x, its anchor says %016x", at.Position, at.Sum, anchor.at.Sum)
		}
	}
	s.head, err = s.verifyTail(newest, anchor.at.Position)
	return err
}

// start opens the store, which has been verified, for writing, and starts the goroutines of
// the writer and the anchor.
func (s *Store) start(anchor slot) error {
	verified := s.head
	db, err := s.openPebble(false)
	if err != nil {
		return err
	}
	s.db = db
	if err := s.begin(anchor, verified); err != nil {
		return s.fail.close(db, err)
	}
	return nil
}

func (s *Store) begin(anchor slot, verified Head) error {
	newest, err := s.newestBatch()
	if err != nil {
		return err
	}
	if newest != verified.Position {
		return fmt.Errorf("the journal ended at batch %d before it was opened for writing and at %d after", verified.Position, newest)
	}
	for _, step := range []func() error{s.raiseFormat, s.beginOnce, s.leaveCluster} {
		if err := s.fail.guard(step); err != nil {
			return err
		}
	}
	s.anchor, err = openAnchor(s.opts.FS, s.opts.Dir, anchor)
	if err != nil {
		return err
	}
	s.anchored = anchor.at
	// The batches that were verified are durable now: pebble.Open has flushed the logs that
	// it replayed.
	if err := s.writeAnchor(verified); err != nil {
		return errors.Join(err, s.anchor.close())
	}
	if err := s.fail.arm(s.onFailure); err != nil {
		return errors.Join(err, s.anchor.close())
	}
	s.notes.committed.Store(verified.Position)
	s.notes.flushed.Store(verified.Position)
	s.wake = make(chan struct{}, 1)
	s.stopped = make(chan struct{})
	s.stopAnchor = make(chan struct{})
	s.anchorDone = make(chan struct{})
	s.synced.Store(s.anchored.Position)
	if s.shared == nil {
		go newWriter(s, verified).run(context.Background())
	}
	go s.followJournal()
	return nil
}

func (s *Store) onFailure(err error) {
	s.opts.Log.Error("wal: failed, nothing is answered any more", "dir", s.opts.Dir, "err", err)
	if s.opts.OnFailure != nil {
		s.opts.OnFailure(err)
	}
}

func (s *Store) openPebble(readOnly bool) (*pebble.DB, error) {
	o := s.opts
	o.ReadOnly = readOnly
	return openPebble(o, o.pebbleOptions(s.fail, s.notes), s.fail)
}

// openPebble opens Pebble and returns an error even where Pebble calls Fatalf or panics.
func openPebble(o Options, p *pebble.Options, fail *failure) (*pebble.DB, error) {
	var db *pebble.DB // read only after success: where guard gives up, Pebble may still be opening
	err := fail.guard(func() (err error) {
		db, err = pebble.Open(o.FS.PathJoin(o.Dir, storeName), p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", storeName, err)
	}
	return db, nil
}
