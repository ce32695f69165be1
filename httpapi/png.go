package httpapi

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"
	goqr "github.com/piglig/go-qr"
)

const (
	// qrScale is the side of a module in pixels. With four pixels a module, two modules make
	// one byte of a row, and a charge's image is about 220 to 260 pixels wide.
	qrScale = 4

	// qrQuiet is the width of the white frame in modules (ISO/IEC 18004).
	qrQuiet = 4
)

// PNG's fixed parts (ISO/IEC 15948). pngStart is the signature and the head of the first
// chunk; pngKind follows the width and the height: one bit a pixel, grey, deflate, adaptive
// filters, not interlaced; pngEnd is the last chunk.
const (
	pngStart = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
	pngKind  = "\x01\x00\x00\x00\x00"
	pngEnd   = "\x00\x00\x00\x00IEND\xae\x42\x60\x82"

	filterUp = 2 // the PNG filter that writes a row as its difference from the row above
)

// noDifference is a row of zeros, as long as the widest row: 177 modules and the frame.
var noDifference [((177+2*qrQuiet)*qrScale + 7) / 8]byte

// pngWriters keeps writers for later images, because a new compressor takes more memory than
// a hundred images.
var pngWriters = sync.Pool{New: func() any {
	w := new(pngWriter)
	// NewWriter fails only for an unknown level, and this one is known.
	w.deflate, _ = flate.NewWriter(&w.image, flate.BestSpeed)
	return w
}}

// pngWriter writes QR codes as PNG with one bit a pixel. The standard library's encoder
// writes greys with eight bits a pixel, and tries five filters on every row, although for a
// QR code the best filter is known.
type pngWriter struct {
	image   bytes.Buffer
	rows    []byte
	deflate *flate.Writer
}

// write returns the image of code. The writer owns the bytes: its next image overwrites
// them.
func (w *pngWriter) write(code *goqr.QrCode) ([]byte, error) {
	w.draw(code)
	w.image.Reset()
	w.image.WriteString(pngStart)
	side := uint32((code.Size() + 2*qrQuiet) * qrScale) //nolint:gosec // at most 740
	head := w.image.AvailableBuffer()
	head = binary.BigEndian.AppendUint32(head, side)
	head = binary.BigEndian.AppendUint32(head, side)
	w.image.Write(append(head, pngKind...))
	w.sum(12)

	start := w.image.Len()
	w.image.WriteString("\x00\x00\x00\x00IDAT\x78\x01") // space for the length, then the type, then zlib's head
	w.deflate.Reset(&w.image)
	if _, err := w.deflate.Write(w.rows); err != nil {
		return nil, err
	}
	if err := w.deflate.Close(); err != nil {
		return nil, err
	}
	w.number(adler32.Checksum(w.rows))
	length := w.image.Len() - start - 8
	binary.BigEndian.PutUint32(w.image.Bytes()[start:], uint32(length)) //nolint:gosec // far below 2^32
	w.sum(start + 4)
	w.image.WriteString(pngEnd)
	return w.image.Bytes(), nil
}

// sum writes the checksum of a chunk whose type starts at start.
func (w *pngWriter) sum(start int) { w.number(crc32.ChecksumIEEE(w.image.Bytes()[start:])) }

func (w *pngWriter) number(n uint32) {
	w.image.Write(binary.BigEndian.AppendUint32(w.image.AvailableBuffer(), n))
}

// draw fills rows with the image's rows, each a filter byte and its pixels; white is 1. A row
// that repeats the row above is written as a difference, which is all zeros and costs almost
// nothing to compress. Three of four rows, and most of the frame's, repeat the row above.
func (w *pngWriter) draw(code *goqr.QrCode) {
	size := code.Size()
	width := ((size+2*qrQuiet)*qrScale + 7) / 8
	w.rows = append(w.rows[:0], 0)
	w.rows = appendRepeated(w.rows, 0xff, width)
	w.repeat(width, qrQuiet*qrScale-1)
	for y := range size {
		w.rows = append(w.rows, 0)
		w.rows = appendModules(w.rows, code, y, width)
		w.repeat(width, qrScale-1)
	}
	w.rows = append(w.rows, 0)
	w.rows = appendRepeated(w.rows, 0xff, width)
	w.repeat(width, qrQuiet*qrScale-1)
}

// repeat appends n rows that equal the last row.
func (w *pngWriter) repeat(width, n int) {
	for range n {
		w.rows = append(w.rows, filterUp)
		w.rows = append(w.rows, noDifference[:width]...)
	}
}

// appendModules appends the pixels of row y of the modules, with the white frame at both
// ends. A module is four bits wide (qrScale), so each byte has two.
func appendModules(b []byte, code *goqr.QrCode, y, width int) []byte {
	for i := range width {
		pixels := byte(0xff)
		x := 2*i - qrQuiet
		if code.Module(x, y) {
			pixels &^= 0xf0
		}
		if code.Module(x+1, y) {
			pixels &^= 0x0f
		}
		b = append(b, pixels)
	}
	return b
}

func appendRepeated(b []byte, c byte, n int) []byte {
	start := len(b)
	b = slices.Grow(b, n)[:start+n]
	for i := range b[start:] {
		b[start+i] = c
	}
	return b
}
