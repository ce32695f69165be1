package wal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// shared is what a store has beyond others if its journal is in a Log. All but lead is used by
// one goroutine at a time: whoever calls Apply, and after Lead the writer.
type shared struct {
	log      uint16
	owner    Owner
	batch    *pebble.Batch
	resigned atomic.Bool        // Resign was called: the log may have another owner
	lead     *Lead              // nil: the store follows
	cancel   context.CancelFunc // ends the writer's waiting for the log
}

// Cluster returns the ID of the cluster whose journal the store has; empty: none's.
func (s *Store) Cluster() (string, error) {
	id, _, err := get(s.source(), metaKey(clusterName))
	return string(id), err
}

// Join notes durably that the store's journal is the one of a cluster. From then on the store is
// opened only with Options.Shared or Options.LeaveCluster, and binaries that know of no cluster
// refuse it.
func (s *Store) Join(id string) error {
	b := s.db.NewBatch()
	err := errors.Join(
		b.Set(metaKey(clusterName), []byte(id), nil),
		b.Set(metaKey(hardPrefix+settingFormat), []byte(strconv.Itoa(formatCluster)), nil),
	)
	if err == nil {
		err = s.fail.guard(func() error { return s.db.Apply(b, pebble.Sync) })
	}
	if err != nil {
		return fmt.Errorf("wal: join a cluster with %s: %w", s.opts.Dir, err)
	}
	return nil
}

// checkCluster returns an error for a store that is opened otherwise than its journal asks for.
func (s *Store) checkCluster() error {
	id, err := s.Cluster()
	switch {
	case err != nil:
		return err
	case id != "" && !s.opts.Shared && !s.opts.LeaveCluster && !s.opts.ReadOnly:
		return fmt.Errorf("its journal is shared by the nodes of cluster %s: %w", id, ErrOfCluster)
	case id == "" && !s.opts.Shared:
		return nil
	}
	owner, err := s.storedOwner()
	switch {
	case err != nil:
		return err
	case s.opts.Shared:
		s.shared = &shared{owner: owner}
	case owner.Level > Level(): // a node may follow what it cannot read, and serves it alone never
		return fmt.Errorf("written by a newer version: records of format %d, this binary knows %d", owner.Level, Level())
	}
	return nil
}

// storedOwner reads the log's owner from the store; the zero Owner where it has none.
func (s *Store) storedOwner() (Owner, error) {
	b, ok, err := get(s.source(), metaKey(logOwnerName))
	if err != nil || !ok {
		return Owner{}, err
	}
	return decodeOwner(b)
}

// ErrOfCluster refuses a store that only a node of its cluster may write.
var ErrOfCluster = errors.New("alone it may be served only after it has left the cluster")

// leaveCluster makes the store one of its own again, if it is asked to.
func (s *Store) leaveCluster() error {
	if !s.opts.LeaveCluster {
		return nil
	}
	b := s.db.NewBatch()
	err := errors.Join(
		b.Delete(metaKey(clusterName), nil), b.Delete(metaKey(logOwnerName), nil),
		b.Set(metaKey(hardPrefix+settingFormat), []byte(strconv.Itoa(formatVersion)), nil),
	)
	if err != nil {
		return err
	}
	return s.db.Apply(b, pebble.Sync)
}

// Owner returns the log's owner, as far as the store has the log.
func (s *Store) Owner() Owner {
	s.headMu.Lock()
	defer s.headMu.Unlock()
	return s.shared.owner
}

// OwnBatch returns a batch that makes o the owner, for the position behind the newest batch of a
// store that follows. o.Epoch and o.Level are set.
func (s *Store) OwnBatch(o Owner) (after uint64, batch []byte, err error) {
	o.Level = max(s.Owner().Level, Level())
	return s.ownBatch(o)
}

func (s *Store) ownBatch(o Owner) (after uint64, batch []byte, err error) {
	prev := s.durableHead()
	var row rowBuilder
	row.reset(prev)
	value, h := row.finish(prev)
	o.Epoch = h.Position
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := errors.Join(b.Set(metaKey(logOwnerName), o.row(), nil), b.Set(BatchKey(h.Position), value, nil)); err != nil {
		return 0, nil, err
	}
	batch, err = encodeLogBatch(logHeader{s.shared.log, o.Epoch, h.Position, prev.Sum}, b)
	return prev.Position, batch, err
}

// Apply takes the batch behind the newest one of a store that follows. It refuses, with an
// *OutOfPlace, what does not continue the journal. The batch is on this machine's disk only
// after a while: Synced says up to where. Apply is called by one goroutine at a time.
func (s *Store) Apply(position uint64, batch []byte) error {
	at := s.durableHead()
	h, ops, err := decodeLogHeader(batch)
	switch {
	case err != nil:
	case h.log != s.shared.log:
		err = fmt.Errorf("it is of log %d", h.log)
	case h.position != position || position != at.Position+1:
		err = fmt.Errorf("it says that it is batch %d, and this node has %d", h.position, at.Position)
	case h.prev != at.Sum:
		err = fmt.Errorf("the sum before it is %016x, and this node has %016x", h.prev, at.Sum)
	}
	if err != nil {
		return &OutOfPlace{position, err}
	}
	taken, err := s.takeOps(h, ops)
	if err == nil && s.shared.owner.Level < taken.owner.Level {
		err = s.raiseWith(s.shared.batch, taken.owner.Level)
	}
	if err != nil {
		return &OutOfPlace{position, err}
	}
	if err := s.fail.guard(func() error { return s.db.Apply(s.shared.batch, pebble.NoSync) }); err != nil {
		s.fail.fail(fmt.Errorf("wal: write %s: %w", s.opts.Dir, err))
		return err
	}
	s.segment = max(s.segment, taken.segment)
	s.headMu.Lock()
	s.head, s.shared.owner = taken.head, taken.owner
	s.headMu.Unlock()
	s.notes.committed.Store(position)
	return nil
}

// OutOfPlace says that a batch of a Log does not continue this node's journal, so that one of the
// two is not what it should be.
type OutOfPlace struct {
	Position uint64
	Why      error
}

// Error implements error.
func (e *OutOfPlace) Error() string {
	return fmt.Sprintf("wal: batch %d of the log: %v", e.Position, e.Why)
}

// Unwrap returns what is wrong.
func (e *OutOfPlace) Unwrap() error { return e.Why }

// taken is what a batch of a Log says beside its rows.
type taken struct {
	head    Head
	owner   Owner
	segment uint32
}

// takeOps puts the changes into the batch that Apply commits.
func (s *Store) takeOps(h logHeader, ops []byte) (t taken, err error) {
	if s.shared.batch == nil {
		s.shared.batch = s.db.NewBatch()
	}
	s.shared.batch.Reset()
	t.owner = s.shared.owner
	for len(ops) > 0 {
		var op logOp
		if op, ops, err = nextLogOp(ops); err == nil {
			err = t.note(h, op)
		}
		if err == nil {
			err = op.put(s.shared.batch)
		}
		if err != nil {
			return t, err
		}
	}
	switch {
	case t.head.Position != h.position:
		return t, errors.New("it has no batch row")
	case t.owner.Epoch != h.epoch && s.shared.owner.Epoch != h.epoch:
		return t, fmt.Errorf("it was written by the owner since batch %d, and batch %d has made another one the owner", h.epoch, s.shared.owner.Epoch)
	}
	return t, nil
}

// note takes in what one change says of the journal.
func (t *taken) note(h logHeader, op logOp) (err error) {
	switch {
	case len(op.key) == 0:
		return errors.New("a change has no key")
	case op.kind != logSet:
	case op.key[0] == segmentPrefix:
		var segment uint32
		segment, _, _, err = splitSegmentKey(op.key)
		t.segment = max(t.segment, segment)
	case string(op.key) == string(metaPrefix)+logOwnerName:
		t.owner, err = decodeOwner(op.value)
	case string(op.key) == string(BatchKey(h.position)):
		var row batchRow
		if row, err = decodeBatchRow(h.position, op.value); err == nil && row.prev != h.prev {
			err = errors.New("its batch row follows another batch")
		}
		t.head = Head{Position: h.position, Time: row.time, Sum: row.sum}
	}
	return err
}
