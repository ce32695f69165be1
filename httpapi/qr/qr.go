// Package qr draws QR codes. Its contract is one function: AppendImage takes a text and appends
// the image of its code.
//
// The library go-qr makes the codes. Where many codes of one version are asked for, they are put
// together from a table, which is made of codes of the library (see table).
package qr

import (
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	goqr "github.com/piglig/go-qr"
)

const (
	// level is the error correction level that restores up to 15 % of a code: a screen
	// has no dirt, but may have glare.
	level = goqr.Medium

	// mask is one of the eight patterns that the QR standard allows; the code itself says
	// which one it has. By default encoders try all eight patterns and choose the best one,
	// which takes ten times as long; readers can read a code with any of the patterns.
	mask = 0

	// dataURI is what a data URI of a PNG begins with.
	dataURI = "data:image/png;base64,"
)

// AppendImage appends the QR code of text to dst, as a data URI of a PNG: black on white, four
// pixels a module, with the white frame of four modules that the standard requires. The same
// text always gives the same pixels. text is 1 to 2,331 bytes, or more where it has long runs in
// upper case; an empty or a longer text is an error, and dst is returned as it was.
func AppendImage(dst []byte, text string) ([]byte, error) {
	if text == "" {
		return dst, errors.New("QR code of an empty text")
	}
	d := drawings.Get().(*drawing)
	defer drawings.Put(d)
	d.parts = appendParts(d.parts[:0], text)
	defer clear(d.parts) // they point to text
	if !d.fromTable() {
		d.table = nil
		if err := d.code.encode(d.parts, goqr.MinVersion, goqr.MaxVersion); err != nil {
			return dst, fmt.Errorf("QR code of %d bytes: %w", len(text), err)
		}
	}
	return base64.StdEncoding.AppendEncode(append(dst, dataURI...), d.png.encode(&d.code)), nil
}

// drawing is the memory that one image takes while it is made. It keeps the code, because the next
// image's may have much in common with it.
type drawing struct {
	parts []part
	data  data // of parts; only for codes that may be put together from a table
	drawnCode
	png pngEncoder
}

// drawnCode is a code.
type drawnCode struct {
	table *table // from which code was put together; nil: it was not, and of has no meaning
	of    data
	code  modules
}

// drawings keeps memory for later images.
var drawings = sync.Pool{New: func() any { return new(drawing) }}

// modules is a QR code of size modules a side, 21 to 177.
type modules struct {
	size int
	bits [177 * 23]byte // only the first size rows of rowBytes bytes count
}

// rowBytes is the number of bytes of a row. They have the row's modules as bits, from the left,
// the first in the highest place. Dark is 1; the last byte of a row ends in zeros.
func (m *modules) rowBytes() int { return (m.size + 7) / 8 }

// rows returns the bytes of all rows.
func (m *modules) rows() []byte { return m.bits[:m.size*m.rowBytes()] }

// encode sets m to the code that go-qr makes of parts, in the smallest of the given versions
// in which they fit.
func (m *modules) encode(parts []part, least, most int) error {
	segments := make([]*goqr.QrSegment, len(parts))
	for i, p := range parts {
		var err error
		if p.alnum {
			segments[i], err = goqr.MakeAlphanumeric(p.text)
		} else {
			segments[i], err = goqr.MakeBytes([]byte(p.text))
		}
		if err != nil {
			return err
		}
	}
	code, err := goqr.EncodeSegments(segments, level, least, most, mask, false)
	if err == nil {
		m.read(code)
	}
	return err
}

// read sets m to the modules of code.
func (m *modules) read(code *goqr.QrCode) {
	m.size = code.Size()
	rows, stride := m.rows(), m.rowBytes()
	clear(rows)
	for y := range m.size {
		row := rows[y*stride:]
		for x := range m.size {
			if code.Module(x, y) {
				row[x/8] |= 0x80 >> (x % 8)
			}
		}
	}
}
