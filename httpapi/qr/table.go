package qr

import (
	"bytes"
	"crypto/subtle"
	"math/bits"
	"strings"
	"sync/atomic"
)

// In a QR code of a given version, level and mask, each module is the exclusive or of some
// bits of the data and of a constant, because that is all that Reed-Solomon codes and masks
// do. So the code of any data is the code of other data with those modules inverted that
// belong to the bits in which they differ. A table has these modules for one version. They
// are read off codes which go-qr makes: two codes whose data differ in one bit differ in that
// bit's modules.
//
// A charge's image takes 20 µs with a table and 60 µs without one; see docs/results.md, hand-written
// fast paths.
type table struct {
	// bases are two codes, of data which end in the two different paddings.
	bases [2]drawnCode

	// first is the first bit of the data whose modules are known. No two texts differ in the bits
	// before it, the head of the lead. Nor are they known for the last few bits.
	first int

	// changes has for each bit from first on the rows of the modules that it inverts.
	changes [][]byte
}

// lead is the length in characters of the segment with which a BR Code begins, for example
// 00020126490014: the parts' lengths in it vary, but not its own. Tables are for texts that
// begin so.
const lead = 14

// tabledAfter is the number of codes of a version which go-qr makes itself before it is worth
// the work of a thousand or two to have a table.
const tabledAfter = 256

// tables has the tables of all versions. A table is made in the background, at most once in
// the life of the process; it takes 20 to 300 ms, and up to 1 MB.
var tables [maxTabled + 1]struct {
	table   atomic.Pointer[table]
	without atomic.Int64 // number of codes that were made without it
}

// fromTable makes the code of the parts with the help of a table. It reports false if there is no
// table yet, or none that fits.
func (d *drawing) fromTable() bool {
	if len(d.parts) == 0 || !d.parts[0].alnum || len(d.parts[0].text) != lead {
		return false
	}
	v := version(d.parts)
	if v == 0 {
		return false
	}
	of := &tables[v]
	t := of.table.Load()
	if t == nil {
		if of.without.Add(1) == tabledAfter {
			go func() { of.table.Store(newTable(v)) }()
		}
		return false
	}
	d.data.set(d.parts, v)
	return t.show(&d.drawnCode, &d.data)
}

// show sets s to the code of d. It begins with the code that s has, if that has the same version and
// padding, and inverts the modules of the bits that differ. It reports false, and s has no meaning, if
// the table lacks one of them: it lacks the last bits.
func (t *table) show(s *drawnCode, d *data) bool {
	last := d.end - 1
	if s.table != t || s.of.b[last] != d.b[last] {
		*s = t.bases[0]
		if s.of.b[last] != d.b[last] {
			*s = t.bases[1]
		}
	}
	rows := s.code.rows()
	for i, b := range d.b[:d.end] {
		for rest := b ^ s.of.b[i]; rest != 0; rest &= rest - 1 {
			known := 8*i + 7 - bits.TrailingZeros8(rest) - t.first
			if known < 0 || known >= len(t.changes) {
				return false
			}
			subtle.XORBytes(rows, rows, t.changes[known])
		}
	}
	s.table, s.of = t, *d
	return true
}

// newTable makes the table of a version. What is known are the bits that can be set alone in a
// segment of characters of the alphanumeric set: all but the segment's head and the last bits of
// the data, at most ten. It returns nil where the library makes other codes than a table can put
// together, so that the library makes all codes of that version; no version is known of which this
// is true.
func newTable(v int) *table {
	t := &table{first: 4 + countBits(true, v)}
	if !t.setBase(0, v, "") || !t.setBase(1, v, "z") {
		return nil
	}
	if last := capacities[v] - 1; t.bases[0].of.b[last] == t.bases[1].of.b[last] && !t.setBase(1, v, "zz") {
		return nil
	}
	text := []byte(strings.Repeat("0", (8*capacities[v]-t.first)/11*2)) // two characters take 11 bits
	var before, after modules
	if before.encode([]part{{text: string(text), alnum: true}}, v, v) != nil {
		return nil
	}
	for pair := 0; pair < len(text); pair += 2 {
		for value := 1 << 10; value > 0; value >>= 1 {
			text[pair], text[pair+1] = alnumSet[value/45], alnumSet[value%45]
			if after.encode([]part{{text: string(text), alnum: true}}, v, v) != nil {
				return nil
			}
			change := bytes.Clone(before.rows())
			subtle.XORBytes(change, change, after.rows())
			t.changes = append(t.changes, change)
		}
		text[pair], text[pair+1] = '0', '0'
	}
	if !t.isRight(v) {
		return nil
	}
	return t
}

// setBase sets a base to the code of an empty lead and of rest; false where the library cannot make it.
func (t *table) setBase(i, v int, rest string) bool {
	parts := appendParts(nil, strings.Repeat("0", lead)+rest)
	t.bases[i].of.set(parts, v)
	return t.bases[i].code.encode(parts, v, v) == nil
}

// isRight tells whether the table gives the library's codes of three texts that nearly fill them. In
// the second and third together each bit behind the lead differs from those of a base once.
func (t *table) isRight(v int) bool {
	for i, fill := range []string{"Pix $%*+-./:", "\x00", "\xff"} {
		text := strings.Repeat(fill, capacities[v])[:max(0, capacities[v]-lead-2)]
		parts := []part{{text: alnumSet[10*i : 10*i+lead], alnum: true}, {text: text}}
		var of data
		of.set(parts, v)
		var got drawnCode
		var want modules
		if want.encode(parts, v, v) != nil || !t.show(&got, &of) || !bytes.Equal(got.code.rows(), want.rows()) {
			return false
		}
	}
	return true
}
