package httpapi

import "math/bits"

// lengthCodes are the lengths in bits of the codes for code lengths in a block's head, in the
// order of RFC 1951, section 3.2.7: 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14
// and 1. The number of them is written less 4.
var lengthCodes = [...]uint64{0, 3, 2, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 2, 0, 4}

// The codes which follow from lengthCodes, the first bit in the lowest place.
const (
	length0, length0Bits = 0b001, 3 // a symbol that does not occur
	length1, length1Bits = 0b0111, 4
	length2, length2Bits = 0b00, 2
	length3, length3Bits = 0b1111, 4
	length4, length4Bits = 0b101, 3
	few, fewBits         = 0b011, 3 // 3 to 10 symbols that do not occur; the number less 3 follows in 3 bits
	many, manyBits       = 0b10, 2  // 11 to 138 symbols that do not occur; the number less 11 follows in 7 bits
)

// head writes the head of the only block: the codes of the table above, and a single code
// of one bit for distances, that of one row. It sets three.
func (s *rowStream) head() {
	n, times := 3*s.length, 1
	if n >= 258 { // the greatest length, which has a code of its own
		n, times = n/2, 2 // s.length is even
	}
	length, extra, extraBits := extraCode(n-3, 4)
	distance, far, farBits := extraCode(s.length-1, 2)
	once := codeLength | extra<<4 | far<<(4+extraBits+1) // the distance's code is a 0
	onceBits := 4 + extraBits + 1 + farBits
	for range times {
		s.three |= once << s.threeBits
		s.threeBits += onceBits
	}
	s.put(1|0b10<<1, 3) // the last block; it brings its codes
	s.put(length+1, 5)  // the number of lengths' and other symbols, less 257
	s.put(distance, 5)  // the number of distances, less 1
	s.put(uint64(len(lengthCodes)-4), 4)
	for _, n := range lengthCodes {
		s.put(n, 3)
	}
	s.lengths(length, distance)
}

// lengths writes how long the code of each symbol is: of the bytes, of the end, of lengths,
// of which the one with the number length has a code, and of distances in the same way.
func (s *rowStream) lengths(length, distance uint64) {
	s.put(length2, length2Bits) // 0x00
	s.none(14)
	s.put(length2, length2Bits) // 0x0f
	s.none(224)
	s.put(length3, length3Bits) // 0xf0
	s.none(14)
	s.put(length2, length2Bits) // 0xff
	s.put(length4, length4Bits) // 256, the end
	s.none(length)
	s.put(length4, length4Bits)
	s.none(distance)
	s.put(length1, length1Bits)
}

// none writes that n symbols do not occur.
func (s *rowStream) none(n uint64) {
	for n > 0 {
		switch run := min(n, 138); {
		case run >= 11:
			s.put(many|(run-11)<<manyBits, manyBits+7)
			n -= run
		case run >= 3:
			s.put(few|(run-3)<<fewBits, fewBits+3)
			n -= run
		default:
			s.put(length0, length0Bits)
			n--
		}
	}
}

// extraCode returns the number of the symbol for n, which is a length less 3 or a distance
// less 1, and the extra bits that follow the symbol's code (RFC 1951, section 3.2.5). Each
// time that n doubles there are steps more symbols, 4 for lengths and 2 for distances, and
// one more extra bit.
func extraCode(n, steps uint64) (symbol, extra, extraBits uint64) {
	if n < steps {
		return n, 0, 0
	}
	extraBits = uint64(bits.Len64(n/steps) - 1) //nolint:gosec // n is at least steps
	return steps*extraBits + n>>extraBits, n & (1<<extraBits - 1), extraBits
}
