package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Capacity says whether the directory has capacity for lookups, and if not, which limit every
// lookup meets, whatever its key.
type Capacity uint8

// The capacities.
const (
	Available       Capacity = iota
	ClientLimited            // every lookup meets the limit of the paying user
	BucketExhausted          // every lookup meets the limit of the institution
)

var capacities = map[Capacity]struct {
	name  string
	limit ledger.RefusalCode
}{
	Available:       {"available", ledger.RefuseNothing},
	ClientLimited:   {"client_limited", ledger.RefuseRateLimited},
	BucketExhausted: {"bucket_exhausted", ledger.RefuseBucket},
}

func (c Capacity) String() string { return capacities[c].name }

// ParseCapacity reads a name as String returns it. It returns false for any other text.
func ParseCapacity(s string) (Capacity, bool) {
	for c, known := range capacities {
		if known.name == s {
			return c, true
		}
	}
	return 0, false
}

// capacityRow is the stored form of the capacity that SetCapacity set last.
type capacityRow struct {
	Lookups Capacity `cbor:"1,keyasint"`
}

var capacityKey = []byte{rowCapacity}

// SetCapacity sets the directory's capacity from now on. Later processes on the same book
// keep it.
func (s *Sim) SetCapacity(ctx context.Context, c Capacity) error {
	s.single.Lock()
	defer s.single.Unlock()
	return wait(ctx, s.append([]wal.Op{set(capacityKey, capacityRow{c})}, func() { s.lookups.Store(uint32(c)) }))
}

func (s *Sim) restoreCapacity() error {
	var row capacityRow
	_, err := read(s.store, capacityKey, &row)
	if _, ok := capacities[row.Lookups]; err == nil && !ok {
		err = fmt.Errorf("sim: capacity %d is of no known kind", row.Lookups)
	}
	s.lookups.Store(uint32(row.Lookups))
	return err
}

// limitedRow is the stored number of limits that one payout's lookups have met.
type limitedRow struct {
	Times uint64 `cbor:"1,keyasint"`
}

// limit returns the limit that a payout's lookup meets: that of the directory's capacity,
// else that of the key's script, as many times as the script says. The count of times is in
// the book, because the number of waiting payouts has no bound. A killed process may lose the
// last counts; the payout then meets those limits again.
func (s *Sim) limit(tx pix.TxID, o outcome) (ledger.RefusalCode, error) {
	if c := Capacity(s.lookups.Load()); c != Available {
		return capacities[c].limit, nil
	}
	if o.limit == ledger.RefuseNothing || o.times == 0 {
		return o.limit, nil
	}
	s.order.Lock()
	defer s.order.Unlock()
	met, err := s.limitsMet(tx)
	if err != nil || met >= o.times {
		return ledger.RefuseNothing, err
	}
	s.mu.Lock()
	s.limited[tx] = met + 1
	s.mu.Unlock()
	s.append([]wal.Op{set(key(rowLimited, string(tx[:])), limitedRow{met + 1})}, func() {
		s.mu.Lock()
		if s.limited[tx] == met+1 {
			delete(s.limited, tx)
		}
		s.mu.Unlock()
	})
	return o.limit, nil
}

// limitsMet returns the number of limits that a payout's lookups have limitsMet so far.
func (s *Sim) limitsMet(tx pix.TxID) (uint64, error) {
	s.mu.Lock()
	n, ok := s.limited[tx]
	s.mu.Unlock()
	if ok {
		return n, nil
	}
	var row limitedRow
	_, err := read(s.store, key(rowLimited, string(tx[:])), &row)
	return row.Times, err
}

// limits reads the scripts client-limited and bucket-exhausted, with or without -<n>.
func limits(local string) (outcome, bool) {
	for name, code := range map[string]ledger.RefusalCode{
		"client-limited": ledger.RefuseRateLimited, "bucket-exhausted": ledger.RefuseBucket,
	} {
		rest, ok := strings.CutPrefix(local, name)
		if !ok {
			continue
		}
		if rest == "" {
			return outcome{limit: code}, true
		}
		n, err := strconv.ParseUint(strings.TrimPrefix(rest, "-"), 10, 31)
		return outcome{limit: code, times: n}, err == nil && rest[0] == '-' && n > 0
	}
	return outcome{}, false
}
