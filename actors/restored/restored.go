// Package restored is about journals that were restored from a snapshot: what a snapshot says
// of its journal, the mark that a restored journal has, and how such a journal is taken into use: by
// catching up with the scheme (package catchup), or by an operator's acceptance of what it lacks.
package restored

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
)

// Names of the values about a restore; see wal.MetaKey.
const (
	MetaMark     = "restored"     // a Mark; there until the journal has caught up, or an operator accepts the gap
	MetaEpoch    = "epoch"        // u64: how often a restored journal was taken into use; none: never
	MetaGap      = "gap"          // u64: epoch and u64: engine time, in ms, of the newest acceptance of a gap; none: there was none
	MetaAt       = "restored_at"  // u64: ledger.Terms.RestoredAt; none: no restored journal was taken into use, or by a version before 2026-11-26
	MetaEvents   = "events_above" // u64: ledger.Terms.EventsAbove; none: no restored journal was taken into use
	MetaKnown    = "gap_known"    // u64: the epoch of an accepted gap of which the journal lacks nothing any more; and u64: see Known; none: of no gap
	MetaUncaught = "uncaught"     // the Mark of a journal whose gap was accepted, until it has caught up all the same
)

// Mark says that a journal was restored from a snapshot, or was cut at an instant: what happened after
// that is missing in it.
type Mark struct {
	Position uint64     `cbor:"1,keyasint"`           // of the newest batch
	Newest   pix.Millis `cbor:"2,keyasint"`           // time of that batch
	Taken    pix.Millis `cbor:"3,keyasint"`           // when the snapshot was made; 0: it is a copy of a journal, which was cut
	Restored pix.Millis `cbor:"4,keyasint"`           // when it was restored or cut, by the clock of that machine
	Until    pix.Millis `cbor:"5,keyasint,omitempty"` // the instant at which it was cut; 0: nothing was cut off
	Lacks    pix.Millis `cbor:"6,keyasint,omitempty"` // since when the journal lacks something of which it is a copy; 0: not since before Newest
}

// String says where the journal comes from.
func (m *Mark) String() string {
	switch {
	case m.Until == 0:
		return fmt.Sprintf("restored from a snapshot of %v", m.Taken)
	case m.Taken == 0:
		return fmt.Sprintf("cut at %v", m.Until)
	}
	return fmt.Sprintf("restored from a snapshot of %v and cut at %v", m.Taken, m.Until)
}

// Since is the instant from which on everything is missing.
func (m *Mark) Since() pix.Millis {
	if m.Until != 0 {
		return m.Until
	}
	return m.Taken
}

// From is the instant from which on something may be missing: the journal's end, where that is before Since. A node that
// is behind makes a snapshot of an earlier state, and a journal that was cut before it had caught up lacks more than was
// cut off.
func (m *Mark) From() pix.Millis {
	from := m.Since()
	for _, earlier := range []pix.Millis{m.Newest, m.Lacks} {
		if earlier != 0 {
			from = min(from, earlier)
		}
	}
	return from
}

// Join adds what the mark of a restored journal says to that of a copy of it: the copy lacks what
// the journal lacks.
func (m *Mark) Join(old *Mark) {
	since := min(m.Since(), old.Since())
	m.Taken = cmp.Or(m.Taken, old.Taken)
	if m.Until = since; since == m.Taken {
		m.Until = 0
	}
	if lacks := old.From(); lacks < m.From() {
		m.Lacks = lacks
	}
}

// Op writes the mark.
func (m *Mark) Op() (wal.Op, error) {
	b, err := cbor.Marshal(m)
	return wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(MetaMark), Value: b}, err
}

// Find returns the mark of a restored journal that was not taken into use; nil: there is none.
func Find(v layout.Getter) (*Mark, error) { return mark(v, MetaMark) }

// Uncaught returns the mark of a journal whose gap was accepted and that has not caught up since; nil:
// there is none.
func Uncaught(v layout.Getter) (*Mark, error) { return mark(v, MetaUncaught) }

func mark(v layout.Getter, name string) (*Mark, error) {
	b, ok, err := v.Get(wal.MetaKey(name))
	if err != nil || !ok {
		return nil, err
	}
	m := new(Mark)
	if err := cbor.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("named value %q: %w", name, err)
	}
	return m, nil
}

// Epoch returns how often a restored journal was taken into use; 0: never. Each time it is larger than
// before; it is shown in log and metrics; which cases wait for an operator follows from Gap.
func Epoch(v layout.Getter) (uint64, error) {
	n, err := numbers(v, MetaEpoch, 1)
	return n[0], err
}

// numbers reads a named value of one u64, or of two; zeros: there is none.
func numbers(v layout.Getter, name string, want int) (n [2]uint64, err error) {
	b, ok, err := v.Get(wal.MetaKey(name))
	switch {
	case err != nil || !ok:
		return n, err
	case len(b) != 8*want:
		return n, fmt.Errorf("named value %q has %d bytes", name, len(b))
	}
	for i := range want {
		n[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return n, nil
}

// Known reports whether the journal has caught up since the newest acceptance of a gap, and its books agreed with the
// scheme's: it lacks nothing of that gap any more. No case that was reported before until waits for an operator
// because of the gap.
func Known(v layout.Getter) (known bool, until pix.Millis, err error) {
	gap, _, err := Gap(v)
	if err != nil || gap == 0 {
		return false, 0, err
	}
	n, err := numbers(v, MetaKnown, 2)
	return n[0] == gap, pix.Millis(n[1]), err
}

// SetKnown says what Known returns. epoch is that which the acceptance of the gap began.
func SetKnown(epoch uint64, until pix.Millis) wal.Op {
	return wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(MetaKnown), Value: pair(epoch, uint64(until))}
}

// Gap returns the epoch that the newest acceptance of a gap began, and engine time then; zeros:
// no gap was accepted. Acceptances by versions of the engine that did not write it are not
// known.
func Gap(v layout.Getter) (epoch uint64, end pix.Millis, err error) {
	n, err := numbers(v, MetaGap, 2)
	return n[0], pix.Millis(n[1]), err
}
