package registry

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"sync/atomic"

	"pixd/actors/pix"
	"pixd/wal"
)

// reserver is the shell around Reservations. Its locks are its own: a reservation reads rows
// under that of its id, which no change of accounts and keys, and no other id, must wait for.
type reserver struct {
	ids     [idLocks]sync.Mutex // by a sum of the id: nobody else reserves it meanwhile; taken before mu
	mu      sync.Mutex          // guards machine and sum; not locked while an entry is synced
	machine Reservations
	sum     uint64
	behind  atomic.Bool // the journal refused an entry, so machine has a reservation that the journal lacks

	durable atomic.Uint64 // sequence of the newest record that is on disk
}

// idLocks is how many locks there are for ids.
const idLocks = 256

// lockID keeps others from reserving an end-to-end id until unlock is called.
func (v *reserver) lockID(endToEnd string) (unlock func()) {
	mu := &v.ids[crc32.ChecksumIEEE([]byte(endToEnd))%idLocks]
	mu.Lock()
	return mu.Unlock
}

// holds reports whether there is a reservation of an id that may not be durable yet.
func (v *reserver) holds(endToEnd string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.machine.owner[endToEnd] != 0
}

// readNewest goes on after the newest record of the stream. Its time need not be known: g.now is
// never earlier than the journal's newest record.
func (v *reserver) readNewest(j Journal) (err error) {
	v.machine.Seq, v.sum, err = j.Last(ReservationStream)
	return err
}

// reserving is a reservation that is not durable yet, or one that was made before; asker hears
// when what it depends on is durable.
type reserving struct {
	of   *reserver
	seq  uint64 // 0: there was nothing to write
	done chan error
}

// Release implements wal.Out.
func (r *reserving) Release(err error) {
	if r.seq != 0 && err == nil {
		r.of.durable.Store(r.seq)
	}
	r.done <- err
}

// ReserveEndToEnd reserves an end-to-end id, which a merchant chose itself, for an account,
// and returns once the reservation is durable. False: the id belongs to another account.
func (g *Registry) ReserveEndToEnd(a pix.AccountID, endToEnd string) (bool, error) {
	if _, known := g.Account(a); !known {
		return false, ErrUnknownAccount
	}
	r, err := g.reserve(EndToEndReservation{EndToEnd: endToEnd, Account: a})
	if written := <-r.done; written != nil {
		if r.seq != 0 {
			g.ids.behind.Store(true)
		}
		return false, fmt.Errorf("registry: write: %w", written)
	}
	if errors.Is(err, ErrEndToEndTaken) {
		return false, nil
	}
	return err == nil, err
}

// reserve decides about a reservation and queues its entry: an empty one, too, because the
// decision may depend on a reservation that is not durable yet.
func (g *Registry) reserve(e EndToEndReservation) (*reserving, error) {
	v := &g.ids
	defer v.lockID(e.EndToEnd)()
	rows := g.endToEndRows
	if !v.holds(e.EndToEnd) { // it has a row, or is nobody's as long as the id is locked
		found, err := g.endToEndRows(e.EndToEnd)
		rows = func(string) (EndToEndRows, error) { return found, err }
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &reserving{of: v, done: make(chan error, 1)}
	if v.behind.Load() {
		r.done <- errBehind
		return r, nil
	}
	v.machine.Durable(v.durable.Load())
	record, err := v.machine.Reserve(e, rows)
	if err != nil || record == nil {
		g.journal.Append(&wal.Entry{Stream: ReservationStream, Out: []wal.Out{r}})
		return r, err
	}
	entry := &wal.Entry{Stream: ReservationStream, Expect: v.machine.Seq, Out: []wal.Out{r}}
	record.Seq, record.Time = v.machine.Seq+1, max(g.now(), v.machine.Time)
	entry.Records = append(entry.Records, applied(ReservationStream, &v.machine, &v.sum, record))
	for _, row := range Project(record) {
		g.reserved.Add(row.Key)
		entry.Ops = append(entry.Ops, wal.Op{Kind: wal.OpSet, Key: row.Key, Value: row.Value})
	}
	r.seq = record.Seq
	g.journal.Append(entry)
	return r, nil
}

// FillReservations adds every reservation's row to the filter over them, which excludes nothing
// before that. scan calls its argument with each row of a range until it returns false.
func (g *Registry) FillReservations(scan func(lo, hi []byte, fn func(k, v []byte) (bool, error)) error, ended func() bool) error {
	lo, hi := ReservationRange()
	err := scan(lo, hi, func(k, _ []byte) (bool, error) {
		g.reserved.Add(k)
		return !ended(), nil
	})
	if err == nil && !ended() {
		g.reserved.Ready()
	}
	return err
}
