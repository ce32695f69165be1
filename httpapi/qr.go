package httpapi

import (
	"encoding/base64"
	"fmt"

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
	room := pngRooms.Get().(*pngRoom)
	defer pngRooms.Put(room)
	room.parts = appendParts(room.parts[:0], text)
	defer clear(room.parts) // they point to text
	if !room.modules.tabled(&room.data, room.parts) {
		code, err := encoded(room.parts, goqr.MinVersion, goqr.MaxVersion)
		if err != nil {
			return dst, fmt.Errorf("QR code of %d bytes: %w", len(text), err)
		}
		room.modules.draw(code)
	}
	room.image = appendPNG(room.image[:0], &room.modules)
	return base64.StdEncoding.AppendEncode(append(dst, pngURI...), room.image), nil
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
