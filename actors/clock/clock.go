// Package clock is engine time: the wall clock read once at the start, plus what has
// elapsed since by a clock that neither jumps nor stops. Every stamp, age and due
// time of a process uses it, so that a wall clock that is wrong for a moment changes
// no duration.
//
// A start believes the wall clock, which may be wrong by hours. So engine time is
// doubted until the scheme, whose messages state its own time, agrees, whenever the
// two differ later, and while it is behind the journal's newest record. What the
// doubt holds back, ledger.Reading says. An operator may end it by a word.
package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/ledger"
)

// agreement is how far two clocks may be apart and still agree, in milliseconds.
const agreement = ledger.Millis(60_000)

// Sources are the two clocks of a machine, in milliseconds.
type Sources struct {
	Wall    func() ledger.Millis // Unix time; may jump
	Elapsed func() ledger.Millis // from any origin; never jumps, stops or goes back
}

// Clock is a process's engine time. Its methods may be called from any goroutine.
type Clock struct {
	from  Sources
	base  ledger.Millis // engine time at Elapsed 0
	floor ledger.Millis // no stamp is earlier
	start ledger.Millis // engine time when it was made

	unsure atomic.Bool // the scheme has not agreed, or no longer does
	behind atomic.Bool // the floor was ahead at the start, and nobody has accepted that

	mu       sync.Mutex
	stated   bool          // the scheme has stated a time
	differs  ledger.Millis // by how much it was ahead of engine time then
	accepted ledger.Millis // the difference that an operator accepted
	apart    bool          // wall clock and engine time are: that was told
}

// New is the clock of a process that starts now on a journal whose newest record was
// stamped newest. It is doubted.
func New(s Sources, newest ledger.Millis) *Clock {
	c := &Clock{from: s, base: s.Wall() - s.Elapsed(), floor: newest}
	c.start = c.Now()
	c.unsure.Store(true)
	c.behind.Store(c.start < newest)
	return c
}

// Now is engine time. It never goes back.
func (c *Clock) Now() ledger.Millis { return c.base + c.from.Elapsed() }

// Stamp is the time of a record that is made now.
func (c *Clock) Stamp() ledger.Millis { return max(c.Now(), c.floor) }

// Read is everything that a decision needs to know of the time.
func (c *Clock) Read() ledger.Reading {
	now := c.Now()
	return ledger.Reading{
		Time: max(now, c.floor), Clock: now, Start: c.start,
		Doubted: c.unsure.Load() || now < c.floor && c.behind.Load(),
	}
}

// Doubted tells whether engine time may be wrong.
func (c *Clock) Doubted() bool { return c.Read().Doubted }

// Behind is by how much engine time is behind the journal's newest record at the
// start; 0: it is not.
func (c *Clock) Behind() ledger.Millis { return max(0, c.floor-c.Now()) }

// Stated takes a time that the scheme has just stated. The result is not empty where
// the operators must hear that the two clocks differ: once, until they agree.
func (c *Clock) Stated(at ledger.Millis) (alert string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	differs := at - c.Now()
	reported := c.stated && !c.agrees(c.differs)
	c.stated, c.differs = true, differs
	agrees := c.agrees(differs)
	c.unsure.Store(!agrees)
	if agrees || reported {
		return ""
	}
	return fmt.Sprintf("the engine's clock is doubted: the scheme's is %s; nothing is voided and nothing expires until they agree, "+
		"or an operator says pixd clock accept", aside(differs))
}

func (c *Clock) agrees(differs ledger.Millis) bool {
	return within(differs) || within(differs-c.accepted)
}

func within(d ledger.Millis) bool { return d >= -agreement && d <= agreement }

// Look compares the wall clock with engine time. The result is not empty where the
// operators must hear that they are apart: once, until they are together again.
func (c *Clock) Look() (alert string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	differs := c.from.Wall() - c.Now()
	reported := c.apart
	if c.apart = !within(differs); !c.apart || reported {
		return ""
	}
	return fmt.Sprintf("the wall clock is %s engine time: it has jumped since the start; durations go on by engine time, "+
		"and the wall clock counts from the next start", aside(differs))
}

// aside says how far another clock is ahead.
func aside(d ledger.Millis) string {
	span := (time.Duration(d) * time.Millisecond).Round(time.Second)
	if d < 0 {
		return (-span).String() + " behind"
	}
	return span.String() + " ahead of"
}

// Accept ends the doubt: an operator says that the clock is right, though the
// scheme's differs, or the journal's newest record is ahead of it. A difference that
// changes by more than a minute is doubted again.
func (c *Clock) Accept() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stated {
		c.accepted = c.differs
	}
	c.unsure.Store(false)
	c.behind.Store(false)
}

// State is what operators see of a clock. Differences are in milliseconds, positive
// where the other clock is ahead of engine time.
type State struct {
	Now     ledger.Millis
	Doubted bool
	Behind  ledger.Millis  // how far engine time is behind the journal's newest record at the start; 0: it is not
	Wall    ledger.Millis  // the wall clock's difference
	Scheme  *ledger.Millis // the scheme's when it last stated its time; nil: it has not
}

// State is the clock as it stands.
func (c *Clock) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.Read()
	s := State{Now: r.Clock, Doubted: r.Doubted, Behind: c.Behind(), Wall: c.from.Wall() - r.Clock}
	if c.stated {
		differs := c.differs
		s.Scheme = &differs
	}
	return s
}
