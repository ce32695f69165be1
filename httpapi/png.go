package httpapi

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync"
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
)

// pngRoom is what an image takes while it is made.
type pngRoom struct {
	parts   []qrPart
	data    qrData
	modules qrModules
	image   []byte
}

// pngRooms keeps rooms for later images.
var pngRooms = sync.Pool{New: func() any { return new(pngRoom) }}

// appendPNG appends the image of code to b, as a PNG with one bit a pixel. The standard
// library's encoder writes greys with eight bits a pixel, tries five filters on every row,
// and searches for repetitions, although for a QR code all of this is known.
func appendPNG(b []byte, code *qrModules) []byte {
	side := uint32((code.size + 2*qrQuiet) * qrScale) //nolint:gosec // at most 740
	b = slices.Grow(b, pngBound(code.size))
	start := len(b)
	b = append(b, pngStart...)
	b = binary.BigEndian.AppendUint32(b, side)
	b = binary.BigEndian.AppendUint32(b, side)
	b = append(b, pngKind...)
	b = appendSum(b, start+12)

	start = len(b)
	b = append(b, "\x00\x00\x00\x00IDAT"...) // space for the length, then the type
	b = appendRows(b, code)
	length := len(b) - start - 8
	binary.BigEndian.PutUint32(b[start:], uint32(length)) //nolint:gosec // far below 2^32
	b = appendSum(b, start+4)
	return append(b, pngEnd...)
}

// appendSum appends the checksum of a chunk whose type starts at start.
func appendSum(b []byte, start int) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

// pngBound is a number of bytes in which the image of a code with size modules a side fits:
// 256 for what every image has, and for each row of modules, and each of 4 that stand for the
// two edges of the frame, at most 3 bits for each of its bytes and 12 bytes for its repetitions.
func pngBound(size int) int {
	return 256 + (size+4)*((size+15)*3/16+12)
}
