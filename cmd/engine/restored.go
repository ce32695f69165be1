package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"pixd/actors/ledger"
	"pixd/actors/webhook"
	"pixd/wal"
)

// Named values about a restore.
const (
	metaRestored = "restored" // a restoredMark; there until an operator accepts the gap
	metaEpoch    = "epoch"    // u64: how often a restored journal was taken into use; none: never
)

// restoredMark says that a journal was restored from a snapshot: what happened after the
// snapshot is missing in it.
type restoredMark struct {
	Position uint64        `cbor:"1,keyasint"` // of the snapshot's newest batch
	Newest   ledger.Millis `cbor:"2,keyasint"` // time of that batch
	Taken    ledger.Millis `cbor:"3,keyasint"` // when the snapshot was made
	Restored ledger.Millis `cbor:"4,keyasint"` // when it was restored, by the clock of that machine
}

// errRestored refuses a restored journal.
var errRestored = errors.New("it was restored from a snapshot")

// restored returns the mark of a restored journal whose gap nobody has accepted; nil: there is
// none.
func restored(s *wal.Store) (*restoredMark, error) {
	b, ok, err := s.Meta(metaRestored)
	if err != nil || !ok {
		return nil, err
	}
	m := new(restoredMark)
	if err := cbor.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("named value %q: %w", metaRestored, err)
	}
	return m, nil
}

// mark writes that the journal was restored.
func (m *restoredMark) mark(s *wal.Store) error {
	b, err := cbor.Marshal(m)
	if err != nil {
		return err
	}
	return write(s, shared, wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaRestored), Value: b})
}

// acceptRestored refuses a restored journal, or takes it into use where the operator has
// accepted the gap: deliveries of webhooks that are open are held, since many of them were
// delivered in the gap; the epoch is raised; and the mark is removed. A crash in between
// leaves the mark, and the next start begins again.
func (e *Engine) acceptRestored() error {
	m, err := restored(e.Store)
	if err != nil || m == nil {
		return err
	}
	if !e.Config.AcceptRestoredGap {
		return fmt.Errorf("%s: %w of %v: payments since then are missing in it, and a merchant who repeats one pays it twice. "+
			"--accept-restored-gap serves it all the same", e.Config.DataDir, errRestored, m.Taken)
	}
	held, err := webhook.Hold(webhookRows{e.Store}, func(ops []wal.Op) error { return write(e.Store, shared, ops...) })
	if err != nil {
		return fmt.Errorf("hold the open deliveries of webhooks: %w", err)
	}
	epoch, err := epoch(e.Store)
	if err != nil {
		return err
	}
	epoch++
	if err := write(e.Store, shared,
		wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaEpoch), Value: binary.BigEndian.AppendUint64(nil, epoch)},
		wal.Op{Kind: wal.OpDelete, Key: wal.MetaKey(metaRestored)},
	); err != nil {
		return err
	}
	e.Config.Log.Warn("a restored journal is served, and its gap is accepted: payments since the snapshot are missing, and those that merchants repeat are paid twice",
		"since", m.Taken.String(), "newest", m.Newest.String(), "position", m.Position, "epoch", epoch, "deliveries_held", held)
	return nil
}

// epoch returns how often a restored journal was taken into use.
func epoch(s *wal.Store) (uint64, error) {
	b, ok, err := s.Meta(metaEpoch)
	switch {
	case err != nil || !ok:
		return 0, err
	case len(b) != 8:
		return 0, fmt.Errorf("named value %q has %d bytes", metaEpoch, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}
