package restored

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/webhook"
	"pixd/wal"
)

// ReadTerms sets what a store adds to the service's terms: the newest acceptance of a gap, the restores,
// and the days of which there are idempotency claims.
func ReadTerms(rows layout.Rows, t *ledger.Terms) (err error) {
	if t.Epoch, t.GapEnd, err = Gap(rows); err != nil {
		return err
	}
	if t.EventsAbove, err = eventsAbove(rows); err != nil {
		return err
	}
	at, err := numbers(rows, MetaAt, 1)
	if err != nil {
		return err
	}
	t.RestoredAt = pix.Millis(at[0])
	t.ClaimDays, err = layout.ClaimDays(rows)
	return err
}

func eventsAbove(v layout.Getter) (uint64, error) {
	n, err := numbers(v, MetaEvents, 1)
	return n[0], err
}

// Unaccepted is the error of a start on a restored journal that cannot catch up, and whose gap nobody has
// accepted.
type Unaccepted struct {
	Mark
	Why error // why it cannot catch up
}

func (u *Unaccepted) Error() string {
	return fmt.Sprintf("it was %v: payments and refunds since then are missing in it, and the scheme cannot be asked for them (%v). "+
		"Start it again when the scheme can be reached. --accept-restored-gap serves it all the same: a merchant who repeats a payment or a refund "+
		"pays or refunds it twice, and special-return cases wait for pixd med resume", &u.Mark, u.Why)
}

// Unwrap returns why the journal cannot catch up.
func (u *Unaccepted) Unwrap() error { return u.Why }

// Use takes restored journals into use.
type Use struct {
	Rows webhook.Rows
	// Elsewhere is the largest epoch that is known of other journals, such as one that was restored from
	// the same snapshot: the new one is larger.
	Elsewhere uint64
	Now       pix.Millis           // engine time
	Most      int                  // how many deliveries are changed at most with one call of Write
	Write     func([]wal.Op) error // makes changes durable
}

// Used is a restored journal that was taken into use.
type Used struct {
	Mark
	Held  int // deliveries of webhooks that are held
	Epoch uint64
}

// Take takes a restored journal into use. unasked is why the scheme cannot be asked what it has done
// since; nil: it can, and begin is written with what Begin writes. Where it cannot, the journal is refused
// with *Unaccepted, unless the operator accepts the gap.
func (u *Use) Take(m *Mark, unasked error, accept bool, begin wal.Op) (*Used, error) {
	switch {
	case unasked == nil:
		return u.Begin(m, begin)
	case !accept:
		return nil, &Unaccepted{Mark: *m, Why: unasked}
	}
	return u.Accept(m)
}

// Begin takes a restored journal into use which is about to catch up. Deliveries of webhooks that are open
// are held, since many of them were delivered in the gap; the epoch is raised; and events have sequences
// above those that may have been given out. The mark stays until Caught. more is written with
// the last of this. After a crash between two calls of Write, the next start begins again.
func (u *Use) Begin(m *Mark, more ...wal.Op) (*Used, error) {
	a := &Used{Mark: *m}
	var err error
	if a.Held, err = webhook.Hold(u.Rows, u.Most, u.Write); err != nil {
		return nil, fmt.Errorf("hold the open deliveries of webhooks: %w", err)
	}
	if a.Epoch, err = Epoch(u.Rows); err != nil {
		return nil, err
	}
	a.Epoch = max(a.Epoch, u.Elsewhere) + 1
	above, err := eventsAbove(u.Rows)
	if err != nil {
		return nil, err
	}
	above = max(above+perHour, uint64(max(u.Now, m.Newest, m.Since()))*eventsPerMilli+perHour)
	return a, u.Write(append([]wal.Op{
		{Kind: wal.OpSet, Key: wal.MetaKey(MetaEvents), Value: binary.BigEndian.AppendUint64(nil, above)},
		{Kind: wal.OpSet, Key: wal.MetaKey(MetaAt), Value: binary.BigEndian.AppendUint64(nil, uint64(max(u.Now, m.Newest)))}, // a clock that was set back makes nothing of the snapshot later than this
		{Kind: wal.OpSet, Key: wal.MetaKey(MetaEpoch), Value: binary.BigEndian.AppendUint64(nil, a.Epoch)},
	}, more...))
}

// eventsPerMilli is more webhook events than one account has in a millisecond. So the sequences that an
// account has given out by an instant are below that many for each millisecond since 1970, also where an
// earlier restore has made them begin there. perHour is added because clocks may differ.
const (
	eventsPerMilli = 100
	perHour        = uint64(time.Hour/time.Millisecond) * eventsPerMilli
)

// Until is the instant, and an hour more, at which the restored journal was taken into use whose events have
// sequences above the given one; 0: none was.
func Until(eventsAbove uint64) pix.Millis { return pix.Millis(eventsAbove / eventsPerMilli) }

func pair(a, b uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, a), b)
}

// Accept takes a restored journal into use that cannot catch up, because an operator accepts its gap: as
// Begin does; and from the epoch on, cases from before wait for an operator (ledger.Terms.Epoch). The
// mark is removed, and kept under another name for a later start that can catch up.
func (u *Use) Accept(m *Mark) (*Used, error) {
	kept, err := cbor.Marshal(m)
	if err != nil {
		return nil, err
	}
	epoch, err := Epoch(u.Rows)
	if err != nil {
		return nil, err
	}
	epoch = max(epoch, u.Elsewhere) + 1
	return u.Begin(m,
		wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(MetaGap), Value: pair(epoch, uint64(u.Now))},
		wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(MetaUncaught), Value: kept},
		wal.Op{Kind: wal.OpDelete, Key: wal.MetaKey(MetaMark)})
}

// Caught are the changes that end a catch-up: the journal lacks nothing any more.
func Caught() []wal.Op {
	return []wal.Op{
		{Kind: wal.OpDelete, Key: wal.MetaKey(MetaMark)},
		{Kind: wal.OpDelete, Key: wal.MetaKey(MetaUncaught)},
	}
}
