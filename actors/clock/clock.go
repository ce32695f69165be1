// Package clock is engine time: the wall clock, read once at the start of the process, plus
// the time that has elapsed since, measured by a clock that neither jumps nor stops. Every
// stamp, age and due time of a process uses engine time, so that a wall clock that is wrong
// for a moment changes no duration.
//
// The wall clock may be wrong by hours at the start. So engine time is doubted until a
// message of the scheme states a time within a minute of it; whenever the scheme's time
// differs by more later; and while engine time is behind the journal's newest record.
// pix.Reading says what the engine does not do while engine time is doubted. An operator
// may end the doubt.
package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pixd/actors/pix"
)

// agreement is the largest difference, in ms, with which two clocks count as equal.
const agreement = pix.Millis(60_000)

// Sources are the two clocks of a computer, in ms.
type Sources struct {
	Wall    func() pix.Millis // Unix time; may jump
	Elapsed func() pix.Millis // time since a fixed origin; never jumps, stops or goes back
}

// Clock is a process's engine time. Its methods may be called from any goroutine.
type Clock struct {
	from  Sources
	base  pix.Millis // engine time at the moment when Elapsed is 0
	floor pix.Millis // time stamp of the journal's newest record at the start; no stamp is earlier
	start pix.Millis // engine time at the start of the process

	least atomic.Int64 // no stamp is earlier than this, either; see After

	unsure atomic.Bool // the scheme has stated no time yet or a different one, and no operator has accepted that
	behind atomic.Bool // at the start, engine time was behind the newest record (floor), and no operator has accepted that

	mu       sync.Mutex
	stated   bool       // the scheme has stated a time at least once
	differs  pix.Millis // the time that the scheme stated last, minus engine time at that moment
	accepted pix.Millis // the difference (differs) that an operator accepted
	apart    bool       // wall clock and engine time differ by more than a minute, and an alert was raised about it
}

// New makes the clock of a process that starts now. newest is the time stamp of the
// journal's newest record. Engine time is doubted at first.
func New(s Sources, newest pix.Millis) *Clock {
	c := &Clock{from: s, base: s.Wall() - s.Elapsed(), floor: newest}
	c.start = c.Now()
	c.unsure.Store(true)
	c.behind.Store(c.start < newest)
	return c
}

// After lets every later stamp be later than at. Where engine time has not reached at, it is doubted, as where it is
// behind the newest record.
func (c *Clock) After(at pix.Millis) {
	c.least.Store(int64(at + 1))
	if c.Now() < at {
		c.behind.Store(true)
	}
}

// reached is the time up to which the journal knows that time has passed.
func (c *Clock) reached() pix.Millis { return max(c.floor, pix.Millis(c.least.Load())-1) }

// Now returns engine time, which never goes back.
func (c *Clock) Now() pix.Millis { return c.base + c.from.Elapsed() }

// Stamp returns the time stamp for a record that is made now.
func (c *Clock) Stamp() pix.Millis { return max(c.Now(), c.floor, pix.Millis(c.least.Load())) }

// Read returns engine time and the other times that a decision of the ledger needs.
func (c *Clock) Read() pix.Reading {
	now := c.Now()
	return pix.Reading{
		Time: max(now, c.floor, pix.Millis(c.least.Load())), Clock: now, Start: c.start,
		Doubted: c.unsure.Load() || now < c.reached() && c.behind.Load(),
	}
}

// Doubted tells whether engine time is doubted.
func (c *Clock) Doubted() bool { return c.Read().Doubted }

// Behind returns by how many ms engine time is behind the newest record that the journal
// had at the start, or the time that After was called with; 0: it is not behind.
func (c *Clock) Behind() pix.Millis { return max(0, c.reached()-c.Now()) }

// Stated takes a time that the scheme has just stated. The result is the text of an alert
// where the scheme's time and engine time now differ by more than a minute and did not
// before; empty otherwise.
func (c *Clock) Stated(at pix.Millis) (alert string) {
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

func (c *Clock) agrees(differs pix.Millis) bool {
	return within(differs) || within(differs-c.accepted)
}

func within(d pix.Millis) bool { return d >= -agreement && d <= agreement }

// Look compares the wall clock with engine time. The result is the text of an alert where
// the two now differ by more than a minute and did not at the last call; empty otherwise.
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

// aside describes by how much another clock is ahead of engine time or behind it.
func aside(d pix.Millis) string {
	span := (time.Duration(d) * time.Millisecond).Round(time.Second)
	if d < 0 {
		return (-span).String() + " behind"
	}
	return span.String() + " ahead of"
}

// Accept ends the doubt: an operator confirms that engine time is right, although the
// scheme's time differs or the journal's newest record is ahead of engine time. If the
// difference to the scheme's time later changes by more than a minute, engine time is
// doubted again.
func (c *Clock) Accept() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stated {
		c.accepted = c.differs
	}
	c.unsure.Store(false)
	c.behind.Store(false)
}

// State is the state of a clock for the operator API. Differences are in ms, and positive
// where the other clock is ahead of engine time.
type State struct {
	Now     pix.Millis
	Doubted bool
	Behind  pix.Millis  // by how much engine time is behind the newest record that the journal had at the start; 0: not behind
	Wall    pix.Millis  // wall clock minus engine time
	Scheme  *pix.Millis // the time that the scheme stated last minus engine time; nil: the scheme has stated none
}

// State returns the clock's state for the operator API.
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
