package qr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"hash/crc32"

	"github.com/klauspost/compress/flate"
)

const (
	// scale is the side of a module in pixels. With four pixels a module, two modules make
	// one byte of a row, and a charge's image is about 220 to 260 pixels wide.
	scale = 4

	// quiet is the width of the white frame in modules (ISO/IEC 18004).
	quiet = 4
)

// PNG's fixed parts (ISO/IEC 15948). pngStart is the signature and the head of the first
// chunk; pngKind follows the width and the height: one bit a pixel, grey, deflate, adaptive
// filters, not interlaced; pngEnd is the last chunk.
const (
	pngStart = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
	pngKind  = "\x01\x00\x00\x00\x00"
	pngEnd   = "\x00\x00\x00\x00IEND\xae\x42\x60\x82"
)

// The filters that a row of a PNG may have: its bytes are the pixels, or what is to be added to
// the row above.
const (
	filterNone = 0
	filterUp   = 2
)

// pngEncoder makes PNGs with one bit a pixel. The encoder of the standard library takes 260 µs for
// the picture of a charge, because it looks at every pixel. The zero value is ready for use.
type pngEncoder struct {
	rows  []byte // the picture's rows, each with its filter
	image bytes.Buffer
}

// encode returns the image of code, which is valid until the next call.
func (e *pngEncoder) encode(code *modules) []byte {
	side := uint32((code.size + 2*quiet) * scale) //nolint:gosec // at most 740
	e.image.Reset()
	e.image.WriteString(pngStart)
	b := binary.BigEndian.AppendUint32(e.image.AvailableBuffer(), side)
	b = binary.BigEndian.AppendUint32(b, side)
	e.image.Write(append(b, pngKind...))
	e.sum(len(pngStart) - 4)

	start := e.image.Len()
	e.image.WriteString("\x00\x00\x00\x00IDAT") // space for the length, then the type
	e.picture(code)
	e.compress()
	chunk := e.image.Bytes()[start:]
	binary.BigEndian.PutUint32(chunk, uint32(len(chunk)-8)) //nolint:gosec // far below 2^32
	e.sum(start + 4)
	e.image.WriteString(pngEnd)
	return e.image.Bytes()
}

// sum writes the checksum of the chunk whose type starts at start.
func (e *pngEncoder) sum(start int) {
	sum := crc32.ChecksumIEEE(e.image.Bytes()[start:])
	e.image.Write(binary.BigEndian.AppendUint32(e.image.AvailableBuffer(), sum))
}

// compress writes the rows to the image, as a zlib stream (RFC 1950).
func (e *pngEncoder) compress() {
	e.image.WriteString("\x78\x01")
	if err := flate.StatelessDeflate(&e.image, e.rows, true, nil); err != nil {
		panic(fmt.Sprintf("qr: compressing in memory: %v", err))
	}
	e.image.Write(binary.BigEndian.AppendUint32(e.image.AvailableBuffer(), adler32.Checksum(e.rows)))
}

// pixels has, for eight modules of a row, their pixels: dark is 0, and white is 1.
var pixels = func() (all [256][scale]byte) {
	for m := range all {
		for i := range all[m] {
			all[m][i] = ^(0xf0*byte(m>>(7-2*i)&1) | 0x0f*byte(m>>(6-2*i)&1))
		}
	}
	return all
}()

// picture sets rows to the picture of code: white is 1, and dark is 0. Of the four rows that
// show the same modules, and of those of the frame, all but the first say that they are like
// the row above.
func (e *pngEncoder) picture(code *modules) {
	length := 1 + (code.size+2*quiet+1)/2 // of a row in bytes, with its filter
	e.rows = e.rows[:0]
	e.frame(length)
	rows, stride := code.rows(), code.rowBytes()
	for ; len(rows) > 0; rows = rows[stride:] {
		start := len(e.rows)
		e.rows = append(e.rows, filterNone, 0xff, 0xff)
		for _, m := range rows[:stride] {
			e.rows = append(e.rows, pixels[m][:]...)
		}
		e.rows = append(e.rows, 0xff, 0xff)[:start+length]
		e.repeat(scale-1, length)
	}
	e.frame(length)
}

// frame appends the white rows above or below the code.
func (e *pngEncoder) frame(length int) {
	e.rows = append(e.rows, filterNone)
	for range length - 1 {
		e.rows = append(e.rows, 0xff)
	}
	e.repeat(quiet*scale-1, length)
}

// likeAbove is a row that is like the one above; the longest has 94 bytes.
var likeAbove = [94]byte{filterUp}

// repeat appends n rows that are like the one above.
func (e *pngEncoder) repeat(n, length int) {
	for range n {
		e.rows = append(e.rows, likeAbove[:length]...)
	}
}
