package engine

import (
	"crypto/rand"
	"encoding/binary"
	mrand "math/rand/v2"
	"sync/atomic"
	"time"

	"pixd/actors/ledger"
)

func now() ledger.Millis { return ledger.Millis(time.Now().UnixMilli()) }

// chances draws what identities are filled with. The first 20 bits that a
// transaction_id keeps count up, so that two ids of one millisecond differ by
// construction; the rest is drawn.
type chances struct{ count atomic.Uint32 }

func newChances() *chances {
	var b [4]byte
	_, _ = rand.Read(b[:])
	c := &chances{}
	c.count.Store(binary.BigEndian.Uint32(b[:]))
	return c
}

func (c *chances) draw() (b [10]byte) {
	n := c.count.Add(1)
	binary.BigEndian.PutUint64(b[2:], mrand.Uint64())
	// Bits kept of the ten bytes: the low 4 of b[0], b[1], the low 6 of b[2], then all.
	b[0], b[1] = byte(n>>16), byte(n>>8)
	b[2], b[3] = byte(n>>2)&0x3f, byte(n)<<6|b[3]&0x3f
	return b
}

// secret is n bytes nobody can guess.
func secret(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
