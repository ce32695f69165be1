package httpapi

import (
	"encoding/base64"
	"fmt"
	"strings"

	goqr "github.com/piglig/go-qr"
)

const (
	// qrLevel is the error correction level that restores up to 15 % of a code: a screen
	// has no dirt, but may have glare.
	qrLevel = goqr.Medium

	// qrMask is one of the eight patterns that the QR standard allows; the code itself says
	// which one it has. By default encoders try all eight patterns and choose the best one,
	// which takes ten times as long; readers can read a code with any of the patterns.
	qrMask = 0

	// alnumRun is the length in characters from which a run of upper-case letters, digits and
	// $%*+-./: is worth a segment of its own: such a segment takes 5.5 bits a character
	// instead of 8, but costs two more segment heads of 13 to 17 bits.
	alnumRun = 12

	pngURI = "data:image/png;base64,"
)

// qrImage appends the QR code of text to dst, as a data URI of a PNG: black on white,
// qrScale pixels a module, with the white frame of four modules that the standard requires.
// text is 1 to 2,331 bytes, or more where it has long runs in upper case; an empty or a
// longer text is an error.
func qrImage(dst []byte, text string) ([]byte, error) {
	if text == "" {
		return dst, fmt.Errorf("QR code of an empty text")
	}
	segments, err := qrSegments(text)
	if err != nil {
		return dst, fmt.Errorf("QR code of %d bytes: %w", len(text), err)
	}
	code, err := goqr.EncodeSegments(segments, qrLevel, goqr.MinVersion, goqr.MaxVersion, qrMask, false)
	if err != nil {
		return dst, fmt.Errorf("QR code of %d bytes: %w", len(text), err)
	}
	room := pngRooms.Get().(*pngRoom)
	defer pngRooms.Put(room)
	room.modules.draw(code)
	room.image = appendPNG(room.image[:0], &room.modules)
	return base64.StdEncoding.AppendEncode(append(dst, pngURI...), room.image), nil
}

// qrSegments splits text into segments of bytes and segments of the QR standard's
// alphanumeric set. A BR Code has two or three runs of that set (its txid is one of them).
// With segments of their own its QR code has fewer modules, which are then larger on the same
// screen.
func qrSegments(text string) ([]*goqr.QrSegment, error) {
	segments := make([]*goqr.QrSegment, 0, 8)
	done := 0
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && alnum(text[i]) {
			i++
		}
		if i-start < alnumRun {
			continue
		}
		segments = appendBytes(segments, text[done:start])
		run, err := goqr.MakeAlphanumeric(text[start:i])
		if err != nil {
			return nil, err
		}
		segments, done = append(segments, run), i
	}
	return appendBytes(segments, text[done:]), nil
}

func appendBytes(segments []*goqr.QrSegment, text string) []*goqr.QrSegment {
	if text == "" {
		return segments
	}
	s, _ := goqr.MakeBytes([]byte(text)) // it fails only for nil
	return append(segments, s)
}

// alnum reports whether c is in the QR standard's alphanumeric set. The space, although it
// is in that set, is not counted: in a BR Code it is between words in lower case.
func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || strings.IndexByte("$%*+-./:", c) >= 0
}

// qrRow has the modules of a row as bits, from the left, the first in the highest place of
// the first word. Dark is 1; the last word that has modules ends in zeros, and the words behind
// it are never read.
type qrRow [3]uint64

// qrModules is a QR code of size modules a side, 21 to 177.
type qrModules struct {
	size int
	rows [177]qrRow // only the first size of them count
}

// draw sets m to the modules of code.
func (m *qrModules) draw(code *goqr.QrCode) {
	m.size = code.Size()
	for y := range m.size {
		for first := 0; first < m.size; first += 64 {
			var word uint64
			for x := range min(64, m.size-first) {
				var dark uint64
				if code.Module(first+x, y) {
					dark = 1
				}
				word |= dark << (63 - x)
			}
			m.rows[y][first/64] = word
		}
	}
}
