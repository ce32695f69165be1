package qr

import "strings"

// alnumRun is the length in characters from which a run of upper-case letters, digits and
// $%*+-./: is worth a segment of its own: such a segment takes 5.5 bits a character
// instead of 8, but costs two more segment heads of 13 to 17 bits.
const alnumRun = 12

// part is a part of a text that becomes one segment of its QR code.
type part struct {
	text  string
	alnum bool // all characters are in the QR standard's alphanumeric set
}

// appendParts splits text into segments of bytes and segments of the QR standard's
// alphanumeric set, and appends them to parts. A BR Code has two or three runs of that set
// (its txid is one of them). With segments of their own its QR code has fewer modules, which
// are then larger on the same screen.
func appendParts(parts []part, text string) []part {
	done := 0
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && alnum(text[i]) {
			i++
		}
		if i-start < alnumRun {
			continue
		}
		if start > done {
			parts = append(parts, part{text: text[done:start]})
		}
		parts, done = append(parts, part{text: text[start:i], alnum: true}), i
	}
	if done < len(text) {
		parts = append(parts, part{text: text[done:]})
	}
	return parts
}

// alnum reports whether c is in the QR standard's alphanumeric set. The space, although it
// is in that set, is not counted: in a BR Code it is between words in lower case.
func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || strings.IndexByte("$%*+-./:", c) >= 0
}

// maxTabled is the greatest version for which there are tables. A charge's code has at most
// this one: its text is shorter than 252 bytes.
const maxTabled = 11

// capacities has for each version the bytes of data in a code of level (ISO/IEC 18004).
var capacities = [maxTabled + 1]int{0, 16, 28, 44, 64, 86, 108, 124, 154, 182, 216, 254}

// data is the data of a QR code: the segments, their end and the padding.
type data struct {
	b       [256]byte
	end     int    // number of whole bytes in b
	waiting uint64 // the bits behind them, the last in the lowest place
	bits    int    // number of these bits, 0 to 7
}

// put appends the n lowest bits of value, which has no other bits; n is at most 32. Bits that
// are behind the greatest capacity are lost.
func (d *data) put(value uint64, n int) {
	d.waiting, d.bits = d.waiting<<n|value, d.bits+n
	for d.bits >= 8 && d.end < len(d.b) {
		d.bits -= 8
		d.b[d.end] = byte(d.waiting >> d.bits) //nolint:gosec // the lowest eight bits are meant
		d.end++
	}
}

// version returns the smallest version in which parts fit, or 0 if none with a table does.
func version(parts []part) int {
	for v := 1; v <= maxTabled; v++ {
		size := 0
		for _, p := range parts {
			size += 4 + countBits(p.alnum, v)
			if p.alnum {
				size += len(p.text)/2*11 + len(p.text)%2*6
			} else {
				size += 8 * len(p.text)
			}
		}
		if size <= 8*capacities[v] {
			return v
		}
	}
	return 0
}

// countBits is the length in bits of a segment's number of characters.
func countBits(alnum bool, version int) int {
	switch {
	case alnum && version < 10:
		return 9
	case alnum:
		return 11
	case version < 10:
		return 8
	}
	return 16
}

// set sets d to the data of parts in a version in which they fit.
func (d *data) set(parts []part, version int) {
	d.end, d.waiting, d.bits = 0, 0, 0
	for _, p := range parts {
		if p.alnum {
			d.put(0b0010, 4)
			d.put(uint64(len(p.text)), countBits(true, version))
			d.alnum(p.text)
			continue
		}
		d.put(0b0100, 4)
		d.put(uint64(len(p.text)), countBits(false, version))
		for i := range len(p.text) {
			d.put(uint64(p.text[i]), 8)
		}
	}
	capacity := capacities[version]
	d.put(0, min(4, 8*(capacity-d.end)-d.bits))
	d.put(0, (8-d.bits)%8)
	for pad := uint64(0xec); d.end < capacity; pad ^= 0xec ^ 0x11 {
		d.put(pad, 8)
	}
}

func (d *data) alnum(text string) {
	for ; len(text) > 1; text = text[2:] {
		d.put(45*alnumValues[text[0]]+alnumValues[text[1]], 11)
	}
	if text != "" {
		d.put(alnumValues[text[0]], 6)
	}
}

// alnumSet has the alphanumeric set's characters in the order of their values.
const alnumSet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"

var alnumValues = func() (values [256]uint64) {
	for i, c := range []byte(alnumSet) {
		values[c] = uint64(i) //nolint:gosec // at most 44
	}
	return values
}()
