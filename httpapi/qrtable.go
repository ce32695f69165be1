package httpapi

import (
	"math/bits"
	"strings"
	"sync/atomic"
)

// In a QR code of a given version, level and mask, each module is the exclusive or of some
// bits of the data and of a constant, because that is all that Reed-Solomon codes and masks
// do. So the code of any data is the code of other data with those modules inverted that
// belong to the bits in which they differ. A qrTable has these modules for one version. They
// are read off codes which go-qr makes: two codes whose data differ in one bit differ in that
// bit's modules. A charge's code then takes a tenth of the time in which go-qr makes it.
type qrTable struct {
	bases [2]qrBase

	// own is for each bit of the data the module that no other bit changes, and none where
	// the bit's modules are not known, which is so for a few bits at both ends.
	own []qrPlace

	// common has the other modules: those of error correction. words is for each bit of the
	// data which of them it changes, stride words a bit, common[i] in bit i%64 of word i/64.
	common []qrPlace
	words  []uint64
	stride int
}

// qrBase is a code and its data. The data of the two bases of a table end in the two
// different paddings.
type qrBase struct {
	data    qrData
	modules qrModules
}

// qrPlace is a module's place: its row and its column.
type qrPlace struct{ y, x uint8 }

// none is no module's place, because codes with tables have at most 61 columns.
var none = qrPlace{255, 255}

func (m *qrModules) invert(p qrPlace) { m.rows[p.y][p.x/64] ^= 1 << (63 - p.x%64) }

// lead is the length in characters of the segment with which a BR Code begins, for example
// 00020126490014: the parts' lengths in it vary, but not its own. Tables are for texts that
// begin so.
const lead = 14

// tabledAfter is the number of codes of a version which go-qr makes itself before it is worth
// the work of a thousand or two to have a table.
const tabledAfter = 256

// qrTables has the tables of all versions. A table is made in the background, at most once in
// the life of the process; it takes 50 to 300 ms.
var qrTables [maxTabled + 1]struct {
	table   atomic.Pointer[qrTable]
	without atomic.Int64 // number of codes that were made without it
}

// tabled sets m to the code of parts with the help of a table. It reports false, and m
// has no meaning, if there is no table yet, or none that fits.
func (m *qrModules) tabled(data *qrData, parts []qrPart) bool {
	if len(parts) == 0 || !parts[0].alnum || len(parts[0].text) != lead {
		return false
	}
	v := version(parts)
	if v == 0 {
		return false
	}
	of := &qrTables[v]
	t := of.table.Load()
	if t == nil {
		if of.without.Add(1) == tabledAfter {
			go func() { of.table.Store(newTable(v)) }()
		}
		return false
	}
	data.set(parts, v)
	return t.code(m, data)
}

// code sets m to the code of data. It reports false if the table lacks a bit of it.
func (t *qrTable) code(m *qrModules, data *qrData) bool {
	base := &t.bases[0]
	if data.b[data.end-1] != base.data.b[data.end-1] {
		base = &t.bases[1]
	}
	m.size = base.modules.size
	copy(m.rows[:m.size], base.modules.rows[:])
	var changed [32]uint64
	words := changed[:t.stride]
	for i := range data.end {
		for rest := data.b[i] ^ base.data.b[i]; rest != 0; rest &= rest - 1 {
			bit := 8*i + 7 - bits.TrailingZeros8(rest)
			if t.own[bit] == none {
				return false
			}
			m.invert(t.own[bit])
			row := t.words[bit*t.stride:][:len(words)]
			for k := range words {
				words[k] ^= row[k]
			}
		}
	}
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			m.invert(t.common[64*i+bits.TrailingZeros64(w)])
		}
	}
	return true
}

// newTable makes the table of a version. It returns nil where what go-qr makes is not what a
// table can hold, so that go-qr makes all codes of that version; no version is known of
// which this is true.
func newTable(v int) *qrTable {
	t := new(qrTable)
	if !t.bases[0].set(v, "") || !t.bases[1].set(v, "z") {
		return nil
	}
	last := qrCapacity[v] - 1
	if t.bases[0].data.b[last] == t.bases[1].data.b[last] && !t.bases[1].set(v, "zz") {
		return nil
	}
	changes, ok := changesOf(v)
	if !ok || !t.sort(changes) || !t.right(v) {
		return nil
	}
	return t
}

// set sets b to the code of an empty lead and of rest.
func (b *qrBase) set(v int, rest string) bool {
	parts := appendParts(nil, strings.Repeat("0", lead)+rest)
	code, err := encoded(parts, v, v)
	if err != nil {
		return false
	}
	b.data.set(parts, v)
	b.modules.draw(code)
	return true
}

// right reports whether t gives the same code as go-qr for a text that nearly fills it.
func (t *qrTable) right(v int) bool {
	text := strings.Repeat("Pix $%*+-./:", lead+qrCapacity[v])
	parts := []qrPart{{text: alnumSet[10 : 10+lead], alnum: true}, {text: text[:max(0, qrCapacity[v]-lead-2)]}}
	code, err := encoded(parts, v, v)
	if err != nil {
		return false
	}
	var want, got qrModules
	want.draw(code)
	var data qrData
	data.set(parts, v)
	return t.code(&got, &data) && got == want
}

// qrChange has the modules which a bit of the data changes: a word for each row. It is nil
// where they are not known.
type qrChange []uint64

// changesOf returns the change of each bit of a version's data that can be set alone in a
// segment of characters of the alphanumeric set: all but the segment's head and the last
// bits of the data, at most ten.
func changesOf(v int) ([]qrChange, bool) {
	head, size := 4+countBits(true, v), 8*qrCapacity[v]
	text := []byte(strings.Repeat("0", (size-head)/11*2))
	changes := make([]qrChange, size)
	var before, after qrModules
	if !before.drawText(text, v) {
		return nil, false
	}
	for bit := head; bit < head+len(text)/2*11; bit++ {
		pair, value := text[(bit-head)/11*2:], 1<<(10-(bit-head)%11)
		pair[0], pair[1] = alnumSet[value/45], alnumSet[value%45]
		if !after.drawText(text, v) {
			return nil, false
		}
		pair[0], pair[1] = '0', '0'
		change := make(qrChange, after.size)
		for y := range change {
			change[y] = before.rows[y][0] ^ after.rows[y][0]
		}
		changes[bit] = change
	}
	return changes, true
}

func (m *qrModules) drawText(text []byte, v int) bool {
	code, err := encoded([]qrPart{{text: string(text), alnum: true}}, v, v)
	if err == nil {
		m.draw(code)
	}
	return err == nil
}

// sort divides the modules into those that one bit changes and those that more bits do. It
// reports false where a bit has not exactly one module of its own.
func (t *qrTable) sort(changes []qrChange) bool {
	size := t.bases[0].modules.size
	once, more := make(qrChange, size), make(qrChange, size)
	for _, c := range changes {
		for y, row := range c {
			more[y] |= once[y] & row
			once[y] |= row
		}
	}
	t.common = more.places(nil)
	t.stride = (len(t.common) + 63) / 64
	t.words = make([]uint64, t.stride*len(changes))
	t.own = make([]qrPlace, len(changes))
	for bit, c := range changes {
		t.own[bit] = none
		if c == nil {
			continue
		}
		own := make(qrChange, size)
		for y := range c {
			own[y] = c[y] &^ more[y]
		}
		places := own.places(nil)
		if len(places) != 1 {
			return false
		}
		t.own[bit] = places[0]
		for i, p := range t.common {
			if c[p.y]>>(63-p.x)&1 != 0 {
				t.words[bit*t.stride+i/64] |= 1 << (i % 64)
			}
		}
	}
	return true
}

// places appends the modules of c to all.
func (c qrChange) places(all []qrPlace) []qrPlace {
	for y, row := range c {
		for ; row != 0; row &= row - 1 {
			all = append(all, qrPlace{uint8(y), uint8(63 - bits.TrailingZeros64(row))}) //nolint:gosec // both below 64
		}
	}
	return all
}
