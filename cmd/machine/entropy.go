package machine

import (
	"crypto/rand"
	"encoding/binary"
	mrand "math/rand/v2"
	"sync/atomic"

	"pixd/actors/pix"
)

// Entropy makes the random bytes of ids. Of the bits that a transaction id keeps, the first
// 20 count up, so that two ids of one millisecond always differ; the others are random.
type Entropy struct{ count atomic.Uint32 }

// NewEntropy makes a source whose count begins anywhere.
func NewEntropy() *Entropy {
	var b [4]byte
	_, _ = rand.Read(b[:])
	c := &Entropy{}
	c.count.Store(binary.BigEndian.Uint32(b[:]))
	return c
}

// Draw returns the bytes for one id. Any goroutine may call it.
func (c *Entropy) Draw() (b [10]byte) {
	n := c.count.Add(1)
	binary.BigEndian.PutUint64(b[2:], mrand.Uint64())
	// Of the ten bytes a transaction id keeps the low 4 bits of b[0], all of b[1], the low 6
	// bits of b[2], and all of the other bytes.
	b[0], b[1] = byte(n>>16), byte(n>>8)
	b[2], b[3] = byte(n>>2)&0x3f, byte(n)<<6|b[3]&0x3f
	return b
}

// Secret returns n bytes that cannot be guessed.
func Secret(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// NewAccountID returns a random account id.
func NewAccountID() pix.AccountID {
	for {
		if id := pix.AccountID(binary.BigEndian.Uint64(Secret(8))); id != 0 && id <= pix.LastAccountID {
			return id
		}
	}
}
