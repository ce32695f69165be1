package httpapi

import "encoding/binary"

// A row of the picture is a filter byte, which is 0 (no filter), and the row's pixels, two
// modules a byte: white is 1, and dark is 0. Of any four rows that show the same modules, and
// of the sixteen rows of the frame above and below, the first is written byte by byte, and
// the others in threes, as repetitions of what is one row back. In deflate (RFC 1951) these
// are six symbols only: the four bytes that a row has, the length of three rows, and the end.
// Their codes are the same in all pictures, so that nothing has to be counted before.
//
//	symbol          bits   code, its first bit in the lowest place
//	0x00 dark dark     2   00
//	0x0f dark white    2   10
//	0xff               2   01
//	0xf0 white dark    3   011
//	256, the end       4   0111
//	three rows         4   1111
const (
	codeWhite  = 0b01
	codeEnd    = 0b0111
	codeLength = 0b1111
)

// pairCodes has, for two modules, the code and its length in bits. The left module is the
// higher bit of the index; dark is 1.
var pairCodes = [4]struct{ code, bits uint16 }{{0b01, 2}, {0b011, 3}, {0b10, 2}, {0b00, 2}}

// pairBytes has the byte of each of pairCodes.
var pairBytes = [4]uint16{0xff, 0xf0, 0x0f, 0x00}

// octet is what eight modules of a row, four bytes, add to the stream and to its checksum.
type octet struct {
	code, bits uint16 // the codes of the bytes, and their length in bits
	sum        uint16 // the sum of the bytes
	late       uint16 // the sum of the bytes, each multiplied by its place: 0 to 3
}

// octets has an octet for each eight modules; the leftmost is the highest bit of the index,
// and dark is 1.
var octets = func() (all [256]octet) {
	for modules := range all {
		o := &all[modules]
		for place := range uint16(4) {
			pair := modules >> (6 - 2*place) & 3
			o.code |= pairCodes[pair].code << o.bits
			o.bits += pairCodes[pair].bits
			o.sum += pairBytes[pair]
			o.late += place * pairBytes[pair]
		}
	}
	return all
}()

// rowStream writes rows as a zlib stream (RFC 1950).
type rowStream struct {
	b       []byte // has room for the whole stream
	waiting uint64 // bits that are not in b yet, the first in the lowest place
	bits    uint64 // the number of these bits, 0 to 7 when put has returned

	three     uint64 // the codes that repeat the last row three times
	threeBits uint64 // their length in bits, at most 32

	length     uint64 // of a row in bytes, with the filter byte; 16 to 94
	sum, later uint64 // the sums of Adler-32, which are reduced at the end: at most 2^41
}

// appendRows appends the picture of code as a zlib stream. b must have room for it (see
// pngBound).
func appendRows(b []byte, code *qrModules) []byte {
	s := rowStream{b: append(b, 0x78, 0x01), length: uint64(code.size+2*qrQuiet+1)/2 + 1, sum: 1} //nolint:gosec // positive
	s.head()
	s.frame()
	for y := range code.size {
		s.row(code.size, &code.rows[y])
	}
	s.frame()
	s.put(codeEnd, 4)
	if s.bits > 0 {
		s.put(0, 8-s.bits)
	}
	return binary.BigEndian.AppendUint32(s.b, uint32(s.later%65521<<16|s.sum%65521)) //nolint:gosec // two halves of 16 bits
}

// put appends the n lowest bits of code, which has no other bits; n is at most 48.
func (s *rowStream) put(code, n uint64) {
	s.waiting |= code << s.bits
	s.bits += n
	end := len(s.b)
	binary.LittleEndian.PutUint64(s.b[end:end+8], s.waiting)
	s.b = s.b[:end+int(s.bits/8)] //nolint:gosec // at most 6 more
	s.waiting >>= s.bits &^ 7
	s.bits &= 7
}

// count adds n rows, each with the given sum of bytes, to the checksum. late is the sum of a
// row's bytes, each multiplied by its place.
func (s *rowStream) count(n, sum, late uint64) {
	s.later += n*(s.length*s.sum+s.length*sum-late) + n*(n-1)/2*s.length*sum
	s.sum += n * sum
}

// frame writes the sixteen white rows above or below the code.
func (s *rowStream) frame() {
	s.put(0, 2)
	for range s.length - 1 {
		s.put(codeWhite, 2)
	}
	for range (qrQuiet*qrScale - 1) / 3 {
		s.put(s.three, s.threeBits)
	}
	sum := 255 * (s.length - 1)
	s.count(qrQuiet*qrScale, sum, sum*s.length/2)
}

// row writes the four rows that show a row of modules, with the white frame at both ends. The
// module at the right end, the number of modules being odd, shares a byte with the frame.
func (s *rowStream) row(size int, modules *qrRow) {
	const edge = codeWhite | codeWhite<<2 // two white bytes
	s.put(edge<<2, 6)
	sum, late, place := uint64(4*255), 255*(1+2+2*s.length-3), uint64(3)
	x := 0
	for ; x+8 <= size+1; x += 8 {
		o := &octets[byte(modules[x/64]>>(56-x%64))]
		s.put(uint64(o.code), uint64(o.bits))
		sum += uint64(o.sum)
		late += uint64(o.late) + place*uint64(o.sum)
		place += 4
	}
	for ; x < size; x += 2 {
		pair := modules[x/64] >> (62 - x%64) & 3
		s.put(uint64(pairCodes[pair].code), uint64(pairCodes[pair].bits))
		sum += uint64(pairBytes[pair])
		late += place * uint64(pairBytes[pair])
		place++
	}
	s.put(edge|s.three<<4, 4+s.threeBits)
	s.count(qrScale, sum, late)
}
