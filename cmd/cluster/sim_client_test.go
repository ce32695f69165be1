package cluster

import (
	"time"

	"pixd/wal"
)

// client is the only one who writes a stream's register: larger and larger values. It reads it, makes
// payments, and the scheme's notices about the stream come by it.
type client struct {
	l      *life
	stream wal.Stream
	at     time.Duration // when it asks for something next

	last    uint64 // the newest value that it has asked to write
	floor   uint64 // no read that begins now may return less
	waiting uint64 // the value whose answer it waits for; 0: none
	since   time.Duration
	healed  bool            // all outages have ended, and it must get answers
	atHeal  uint64          // what it had asked to write then
	asked   map[uint64]bool // payments by amount
	paid    []uint64        // amounts of payments that were accepted
	acked   map[uint64]bool // notices
	notices uint64          // the newest notice
	refused map[uint64]bool // values
}

// patience is how long a client waits for an answer.
const patience = 3 * time.Second

// ask asks a node for something.
func (c *client) ask() {
	l := c.l
	c.at = l.now() + time.Duration(l.rng.Int64N(int64(200*time.Millisecond)))
	what := l.rng.IntN(12)
	if c.healed && c.floor <= c.atHeal {
		what = 0
	}
	k := l.route()
	if k == nil {
		return
	}
	reads := what >= 4 && what < 10
	if !k.p.n.lease.valid() && !(reads && l.rng.IntN(3) == 0) { // the gate before answers must be enough for reads
		l.count("refused at the door")
		return
	}
	switch {
	case what < 4 && (c.waiting == 0 || l.now()-c.since > patience):
		c.write(k)
	case what < 7:
		c.read(k)
	case what < 10:
		c.look(k)
	case what < 11:
		c.pay(k)
	default:
		c.notice(k)
	}
}

// route chooses a node that serves: the one which a node that forwards takes for the owner, or any.
func (l *life) route() *books {
	var all []*books
	for _, b := range l.boxes {
		if b.p != nil && b.p.books != nil && b.thaw == 0 && !b.p.line.isFrozen() {
			all = append(all, b.p.books)
		}
	}
	asked := l.boxes[l.rng.IntN(len(l.boxes))]
	any := l.rng.IntN(3) > 0
	if len(all) == 0 {
		return nil
	}
	if asked.p != nil && asked.p.here && !any {
		if name, _, ok := asked.p.n.where(); ok {
			for _, k := range all {
				if k.p.n.name == name {
					return k
				}
			}
		}
	}
	return all[l.rng.IntN(len(all))]
}

func (c *client) write(k *books) {
	c.last++
	value := c.last
	c.waiting, c.since = value, c.l.now()
	c.l.tell("%d asks %s to write %d", c.stream, k.p.n.self.Run, value)
	k.set(c.stream, value, func(err error) {
		if c.waiting == value {
			c.waiting = 0
		}
		if err != nil {
			c.l.tell("%d was refused to write %d: %v", c.stream, value, err)
			c.refused[value] = true
			return
		}
		c.l.count("write acknowledged")
		c.l.tell("%d has written %d at %s", c.stream, value, k.p.n.self.Run)
		c.floor = max(c.floor, value)
	})
}

func (c *client) read(k *books) {
	floor := c.floor
	k.read(c.stream, func(value uint64, err error) {
		if err != nil {
			c.l.fail("a read was refused: %v", err)
			return
		}
		c.l.count("read")
		c.got(k, value, floor)
	})
}

func (c *client) look(k *books) {
	floor := c.floor
	k.look(c.stream, func(value uint64) {
		c.l.count("look")
		c.got(k, value, floor)
	})
}

// got judges a read: the register had the value at an instant between the request and the answer.
func (c *client) got(k *books, value, floor uint64) {
	c.l.tell("%d reads %d at %s, at least %d", c.stream, value, k.p.n.self.Run, floor)
	if value < floor || value > c.last {
		c.l.fail("%s has read %d of stream %d, which had %d when the request began, and %d was written last", k.p.n.self.Run, value, c.stream, floor, c.last)
	}
	c.floor = max(c.floor, value)
}

func (c *client) pay(k *books) {
	amount := uint64(c.l.rng.IntN(1 << 40))
	c.asked[amount] = true
	k.pay(c.stream, amount, func(err error) {
		if err == nil {
			c.paid = append(c.paid, amount)
		}
	})
}

// notice sends the scheme's newest notice, until it is acknowledged, or an earlier one once more.
func (c *client) notice(k *books) {
	if c.notices == 0 || c.acked[c.notices] && c.l.rng.IntN(2) == 0 {
		c.notices++
	}
	number := c.notices
	k.notice(c.stream, number, func(err error) {
		if err == nil {
			c.l.count("notice acknowledged")
			c.l.tell("notice %d of %d is acknowledged by %s", number, c.stream, k.p.n.self.Run)
			c.acked[number] = true
		}
	})
}
