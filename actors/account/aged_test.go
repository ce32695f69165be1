package account

import (
	"encoding/binary"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/wal"
	"pixd/wal/waltest"
)

// TestAgedClaims checks which claims are deleted in the first 24 h of a process: all but those
// that were stamped under doubt, for any number of claims that are read at once.
func TestAgedClaims(t *testing.T) {
	const flags = ".d..dd.d" // d: stamped under doubt
	value := map[byte][]byte{'.': make([]byte, 49), 'd': append([]byte{2}, make([]byte, 48)...)}
	key := func(n int) []byte { return layout.IdempotencyKey(9, 7, [16]byte{byte(n)}) }
	const day = 24 * 3_600_000
	now := pix.Reading{Time: 20 * day, Clock: 20 * day, Start: 20*day - 1}
	for limit := 1; limit <= len(flags)+1; limit++ {
		j := waltest.NewInMemory()
		for n := range flags {
			j.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: key(n), Value: value[flags[n]]}}})
		}
		j.Settle()
		lo, hi := layout.IdempotencyBefore(10)
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

// TestDropClaimsByOneRule checks which claims of past days are dropped, at the bounds of the rule.
func TestDropClaimsByOneRule(t *testing.T) {
	const day = 24 * testHour
	claim := func(at pix.Millis, flags byte) []byte {
		b := binary.BigEndian.AppendUint64(append([]byte{flags}, make([]byte, 8)...), uint64(at))
		return append(b, make([]byte, 32)...)
	}
	now := 20*day + testHour
	for name, c := range map[string]struct {
		now    pix.Reading
		newest pix.Millis
		bucket uint16
		value  []byte
		kept   bool
	}{
		"the last day that is kept":       {pix.Reading{Clock: now}, now, 18, claim(0, 0), true},
		"the day before it":               {pix.Reading{Clock: now}, now, 17, claim(0, 0), false},
		"the newest record is days old":   {pix.Reading{Clock: now}, now - 3*day, 15, claim(0, 0), true},
		"and the claim older than that":   {pix.Reading{Clock: now}, now - 3*day, 14, claim(0, 0), false},
		"the newest record is days ahead": {pix.Reading{Clock: now}, now + 3*day, 18, claim(0, 0), true},
		"under doubt now":                 {pix.Reading{Clock: now, Doubted: true}, now, 10, claim(0, 0), true},
		"made under doubt":                {pix.Reading{Clock: now, Start: now - 20*testHour}, now, 10, claim(0, 2), true},
		"so, and stamps are ahead":        {pix.Reading{Clock: now, Time: now + 5*testHour, Start: now - 20*testHour}, now, 10, claim(0, 2), true},
		"so, after a day":                 {pix.Reading{Clock: now, Start: now - day}, now, 10, claim(0, 2), false},
		"just 24 h old":                   {pix.Reading{Clock: now, Start: now - testHour}, now, 10, claim(now-day, 0), false},
		"not yet 24 h old":                {pix.Reading{Clock: now, Start: now - testHour}, now, 10, claim(now-day+1, 0), true},
	} {
		if c.now.Time == 0 {
			c.now.Time = c.now.Clock
		}
		j := waltest.NewInMemory()
		write := func(ops ...wal.Op) error {
			j.Append(&wal.Entry{Ops: ops})
			j.Settle()
			return nil
		}
		key := layout.IdempotencyKey(c.bucket, 7, [16]byte{1})
		_ = write(wal.Op{Kind: wal.OpSet, Key: key, Value: c.value})
		if err := DropClaims(j.Scan, c.now, c.newest, write); err != nil {
			t.Fatal(err)
		}
		if _, there, err := j.Get(key); there != c.kept || err != nil {
			t.Errorf("%s: it is there: %v (%v)", name, there, err)
		}
	}
}
