// Package restored is about journals that were restored from a snapshot: what a snapshot says
// of its journal, the mark that a restored journal has, and how an operator's acceptance takes
// such a journal into use.
package restored

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/webhook"
	"pixd/wal"
)

// Names of the values about a restore; see wal.MetaKey.
const (
	MetaMark  = "restored" // a Mark; there until an operator accepts the gap
	MetaEpoch = "epoch"    // u64: the number of the newest acceptance of a gap; none: there was none
	MetaGap   = "gap"      // u64: epoch and u64: engine time, in ms, of the newest acceptance of a gap; none: there was none
)

// Mark says that a journal was restored from a snapshot, or was cut at an instant: what happened after
// that is missing in it.
type Mark struct {
	Position uint64     `cbor:"1,keyasint"`           // of the newest batch
	Newest   pix.Millis `cbor:"2,keyasint"`           // time of that batch
	Taken    pix.Millis `cbor:"3,keyasint"`           // when the snapshot was made; 0: it is a copy of a journal, which was cut
	Restored pix.Millis `cbor:"4,keyasint"`           // when it was restored or cut, by the clock of that machine
	Until    pix.Millis `cbor:"5,keyasint,omitempty"` // the instant at which it was cut; 0: nothing was cut off
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

// Join adds what the mark of a restored journal says to that of a copy of it: the copy lacks what
// the journal lacks.
func (m *Mark) Join(old *Mark) {
	since := min(m.Since(), old.Since())
	m.Taken = cmp.Or(m.Taken, old.Taken)
	if m.Until = since; since == m.Taken {
		m.Until = 0
	}
}

// Op writes the mark.
func (m *Mark) Op() (wal.Op, error) {
	b, err := cbor.Marshal(m)
	return wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(MetaMark), Value: b}, err
}

// Find returns the mark of a restored journal whose gap nobody has accepted; nil: there is none.
func Find(v layout.Getter) (*Mark, error) {
	b, ok, err := v.Get(wal.MetaKey(MetaMark))
	if err != nil || !ok {
		return nil, err
	}
	m := new(Mark)
	if err := cbor.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("named value %q: %w", MetaMark, err)
	}
	return m, nil
}

// Epoch returns the number of the newest acceptance of a gap; 0: there was none. Each is larger
// than the one before; it is shown in log and metrics; which cases wait for an operator follows from Gap.
func Epoch(v layout.Getter) (uint64, error) {
	b, ok, err := v.Get(wal.MetaKey(MetaEpoch))
	switch {
	case err != nil || !ok:
		return 0, err
	case len(b) != 8:
		return 0, fmt.Errorf("named value %q has %d bytes", MetaEpoch, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// Gap returns the epoch that the newest acceptance of a gap began, and engine time then; zeros:
// no gap was accepted. Acceptances by versions of the engine that did not write it are not
// known.
func Gap(v layout.Getter) (epoch uint64, end pix.Millis, err error) {
	b, ok, err := v.Get(wal.MetaKey(MetaGap))
	switch {
	case err != nil || !ok:
		return 0, 0, err
	case len(b) != 16:
		return 0, 0, fmt.Errorf("named value %q has %d bytes", MetaGap, len(b))
	}
	return binary.BigEndian.Uint64(b), pix.Millis(binary.BigEndian.Uint64(b[8:])), nil
}

// ReadTerms sets what a store adds to the service's terms: the newest acceptance of a gap, and the
// days of which there are idempotency claims.
func ReadTerms(rows layout.Rows, t *ledger.Terms) (err error) {
	if t.Epoch, t.GapEnd, err = Gap(rows); err != nil {
		return err
	}
	t.ClaimDays, err = layout.ClaimDays(rows)
	return err
}

// Unaccepted is the error of a start on a restored journal whose gap nobody has accepted.
type Unaccepted struct{ Mark }

func (u *Unaccepted) Error() string {
	return fmt.Sprintf("it was %v: payments and refunds since then are missing in it, and a merchant who repeats one pays or refunds it twice. "+
		"--accept-restored-gap serves it all the same; special-return cases then wait for pixd med resume", &u.Mark)
}

// Accepted is a restored journal that was taken into use.
type Accepted struct {
	Mark
	Held  int // deliveries of webhooks that are held
	Epoch uint64
}

// Start is called before anything else is done with a journal. It returns nil for one that was
// not restored, or was taken into use before. It refuses a restored one, with *Unaccepted, unless
// the operator accepts its gap. Then deliveries of webhooks that are open are held, since many of
// them were delivered in the gap, at most so many with one call of write; the epoch is raised, from
// which on cases from before wait for an operator (ledger.Terms.Epoch);
// and the mark is removed. write makes changes durable. A crash between two calls of it leaves
// the mark, and the next start begins again. elsewhere is the largest epoch that is known of other
// journals, such as one that was restored from the same snapshot: the new one is larger.
func Start(rows webhook.Rows, accept bool, elsewhere uint64, now pix.Millis, most int, write func([]wal.Op) error) (*Accepted, error) {
	m, err := Find(rows)
	if err != nil || m == nil {
		return nil, err
	}
	if !accept {
		return nil, &Unaccepted{*m}
	}
	a := &Accepted{Mark: *m}
	if a.Held, err = webhook.Hold(rows, most, write); err != nil {
		return nil, fmt.Errorf("hold the open deliveries of webhooks: %w", err)
	}
	if a.Epoch, err = Epoch(rows); err != nil {
		return nil, err
	}
	a.Epoch = max(a.Epoch, elsewhere) + 1
	gap := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, a.Epoch), uint64(now))
	return a, write([]wal.Op{
		{Kind: wal.OpSet, Key: wal.MetaKey(MetaGap), Value: gap},
		{Kind: wal.OpSet, Key: wal.MetaKey(MetaEpoch), Value: binary.BigEndian.AppendUint64(nil, a.Epoch)},
		{Kind: wal.OpDelete, Key: wal.MetaKey(MetaMark)},
	})
}
