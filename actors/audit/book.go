package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// Comparison compares the engine's sums of settled payments with those in the scheme's
// book, while both change. The scheme settles a payment before the engine does, and sums
// never decrease, except by payments that the engine refuses. So a reading consists of three
// steps: read the scheme's book, read the engine's sums, read the scheme's book again. The
// engine's sums may not be above the last book. They may not be below an earlier book whose
// notices had all been acknowledged or refused before the engine's sums were read, less what
// was refused from that book until they had been. Payments that were refused later cannot be
// in that book: they do not lower the bound. One that came and was refused in between does,
// so that a missing credit of its size may go unseen in one reading; never at rest.
type Comparison struct {
	before *book // the scheme's book that was read before the engine's sums
	next   *book // the book that replaces floor once all notices about its payments are acknowledged
	floor  *book // the newest book whose notices are all acknowledged or refused, less what was refused: the lower bound of the engine's sums; nil: none yet

	only map[pix.AccountID]bool // accounts that differed at the last call of Judge; nil: Judge was not called yet
}

type book struct {
	at  pix.Millis
	all map[pix.AccountID]scheme.Sums
}

func bookOf(b *scheme.Book) *book {
	all := make(map[pix.AccountID]scheme.Sums, len(b.Accounts))
	for _, a := range b.Accounts {
		all[a.Account] = a.Sums
	}
	return &book{b.At, all}
}

// less returns the book without the payments that were refused until a later book was read.
func (b *book) less(later *book) *book {
	all := maps.Clone(b.all)
	for id, s := range all {
		s.Received -= later.all[id].Refused - s.Refused
		all[id] = s
	}
	return &book{b.at, all}
}

// Before takes the scheme's book that was read before the engine's sums.
func (c *Comparison) Before(b *scheme.Book) {
	c.before = bookOf(b)
	if c.next == nil {
		c.next = c.before
	}
	switch {
	case b.OldestOpen == 0:
		c.floor = c.before
	case b.OldestOpen > c.next.at:
		c.floor = c.next.less(c.before)
	default:
		return
	}
	c.next = c.before
}

// Certain tells whether all notices that the scheme had sent before the first reading are
// acknowledged. Until then a difference may only mean that a notice is on its way to the
// engine; from then on a difference is an error.
func (c *Comparison) Certain() bool { return c.floor != nil }

// Judge lists where the engine's sums are not between the two books of the scheme; after is
// the book that was read after the engine's sums. An account that the engine or a book does
// not have counts as zero. Until Certain returns true, a difference may only mean that a
// notice is on its way. An account that did not differ at an earlier call of Judge is not
// compared again, and the caller need not read it again.
func (c *Comparison) Judge(engine map[pix.AccountID]scheme.Sums, after *scheme.Book) []Difference {
	low := c.before
	if c.floor != nil {
		low = c.floor
	}
	high := bookOf(after)
	var found []Difference
	for id := range union(engine, low.all, high.all) {
		if c.only != nil && !c.only[id] {
			continue
		}
		found = append(found, between(id, engine[id], low.all[id], high.all[id])...)
	}
	c.only = make(map[pix.AccountID]bool, len(found))
	for _, d := range found {
		c.only[d.Account] = true
	}
	slices.SortStableFunc(found, func(x, y Difference) int { return cmp.Compare(x.Account, y.Account) })
	return found
}

// union returns the keys of all the maps.
func union[K comparable, V any](sides ...map[K]V) map[K]bool {
	all := map[K]bool{}
	for _, m := range sides {
		for id := range m {
			all[id] = true
		}
	}
	return all
}

func between(id pix.AccountID, engine, low, high scheme.Sums) (found []Difference) {
	for _, f := range []struct {
		name              string
		engine, low, high pix.Amount
	}{
		{"sent", engine.Sent, low.Sent, high.Sent},
		{"received", engine.Received, low.Received, high.Received},
		{"returned_by", engine.ReturnedBy, low.ReturnedBy, high.ReturnedBy},
		{"returned_to", engine.ReturnedTo, low.ReturnedTo, high.ReturnedTo},
	} {
		expected := f.low
		if f.engine > f.high {
			expected = f.high
		} else if f.engine >= f.low {
			continue
		}
		found = append(found, Difference{
			Account: id, Kind: KindBook, Field: f.name, Engine: f.engine, Scheme: expected,
			Message: fmt.Sprintf("%s: the engine has %d, the scheme %d", f.name, f.engine, expected),
		})
	}
	return found
}
