package engine

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mrand "math/rand/v2"
	"sync/atomic"
	"time"

	"pixd/actors/clock"
	"pixd/actors/ledger"
)

// sources are the two clocks of this machine.
func sources() clock.Sources {
	start := time.Now()
	return clock.Sources{
		Wall:    func() ledger.Millis { return ledger.Millis(time.Now().UnixMilli()) },
		Elapsed: elapsed(func() time.Duration { return time.Since(start) }),
	}
}

// compareEvery is the time between two comparisons of the wall clock with engine time.
const compareEvery = time.Second

// keepClock raises an alert when engine time is doubted, and when the wall clock has jumped.
func (e *Engine) keepClock() {
	if behind := e.Clock.Behind(); behind > 0 {
		e.Config.alerts.RaiseGeneral(alertClock, fmt.Sprintf("the engine's clock is doubted: it is %v behind the journal's newest record; nothing is voided and nothing expires until it is there, "+
			"or an operator says pixd clock accept", (time.Duration(behind)*time.Millisecond).Round(time.Second)))
	}
	look := func() error {
		if alert := e.Clock.Look(); alert != "" {
			e.Config.alerts.RaiseGeneral(alertClock, alert)
		}
		return nil
	}
	_ = look()
	e.repeat(compareEvery, "", look)
}

// stated compares engine time with a time that the scheme has stated.
func (e *Engine) stated(at ledger.Millis) {
	if alert := e.Clock.Stated(at); alert != "" {
		e.Config.alerts.RaiseGeneral(alertClock, alert)
	}
}

// alertClock is the kind of alert about a clock.
const alertClock = "clock"

// entropy makes the random bytes of ids. Of the bits that a transaction id keeps, the first
// 20 count up, so that two ids of one millisecond always differ; the others are random.
type entropy struct{ count atomic.Uint32 }

func newEntropy() *entropy {
	var b [4]byte
	_, _ = rand.Read(b[:])
	c := &entropy{}
	c.count.Store(binary.BigEndian.Uint32(b[:]))
	return c
}

func (c *entropy) draw() (b [10]byte) {
	n := c.count.Add(1)
	binary.BigEndian.PutUint64(b[2:], mrand.Uint64())
	// Of the ten bytes a transaction id keeps the low 4 bits of b[0], all of b[1], the low 6
	// bits of b[2], and all of the other bytes.
	b[0], b[1] = byte(n>>16), byte(n>>8)
	b[2], b[3] = byte(n>>2)&0x3f, byte(n)<<6|b[3]&0x3f
	return b
}

// secret returns n bytes that cannot be guessed.
func secret(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
