package account

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/wal"
	"pixd/wal/waltest"
)

// TestAgedClaims checks which claims are deleted in the first 24 h of a process: all but those
// that were stamped under doubt, for any number of claims that are read at once.
func TestAgedClaims(t *testing.T) {
	const flags = ".d..dd.d" // d: stamped under doubt
	value := map[byte][]byte{'.': make([]byte, 49), 'd': append([]byte{2}, make([]byte, 48)...)}
	key := func(n int) []byte { return ledger.IdempotencyKey(9, 7, [16]byte{byte(n)}) }
	const day = 24 * 3_600_000
	now := ledger.Reading{Time: 20 * day, Clock: 20 * day, Start: 20*day - 1}
	for limit := 1; limit <= len(flags)+1; limit++ {
		j := waltest.NewInMemory()
		for n := range flags {
			j.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: key(n), Value: value[flags[n]]}}})
		}
		j.Settle()
		lo, hi := ledger.IdempotencyBefore(10)
		for lo != nil {
			var ops []wal.Op
			var err error
			if ops, lo, err = agedClaims(j.Scan, lo, hi, now, limit); err != nil {
				t.Fatal(err)
			}
			if len(ops) > 0 {
				j.Append(&wal.Entry{Ops: ops})
				j.Settle()
			}
		}
		for n := range flags {
			if _, there, err := j.Get(key(n)); there != (flags[n] == 'd') || err != nil {
				t.Errorf("%d at once: claim %d is there: %v (%v)", limit, n, there, err)
			}
		}
	}
}
