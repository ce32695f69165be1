package qr

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	goqr "github.com/piglig/go-qr"
	"pgregory.net/rapid"
)

// expectPicture checks that picture shows modules, which are dark where dark says so, pixel
// for pixel and in the white frame of four modules.
func expectPicture(t interface{ Fatalf(string, ...any) }, picture image.Image, size int, dark func(x, y int) bool) {
	side := (size + 2*quiet) * scale
	gray, ok := picture.(*image.Gray)
	if !ok || gray.Bounds() != image.Rect(0, 0, side, side) {
		t.Fatalf("%d modules: the picture is %T %v", size, picture, picture.Bounds())
	}
	for y := range side {
		for x := range side {
			mx, my := x/scale-quiet, y/scale-quiet
			want := mx >= 0 && my >= 0 && mx < size && my < size && dark(mx, my)
			if c := gray.Pix[y*gray.Stride+x]; (c == 0) != want || c != 0 && c != 0xff {
				t.Fatalf("%d modules: pixel %d,%d is %d, dark is %v", size, x, y, c, want)
			}
		}
	}
}

// expectChunks checks what decoders may overlook: the chunks' lengths, types and checksums,
// the bytes of the rows, and that nothing follows them.
func expectChunks(t interface{ Fatalf(string, ...any) }, file []byte, size int) {
	side := (size + 2*quiet) * scale
	at := len("\x89PNG\r\n\x1a\n")
	for _, kind := range []string{"IHDR", "IDAT", "IEND"} {
		n := int(binary.BigEndian.Uint32(file[at:]))
		body := file[at+4 : at+8+n]
		if string(body[:4]) != kind || binary.BigEndian.Uint32(file[at+8+n:]) != crc32.ChecksumIEEE(body) {
			t.Fatalf("%d modules: chunk %q at %d: wrong type or checksum", size, body[:4], at)
		}
		if at += 12 + n; kind != "IDAT" {
			continue
		}
		stream := bytes.NewReader(body[4:])
		z, err := zlib.NewReader(stream)
		if err != nil {
			t.Fatalf("%d modules: %v", size, err)
		}
		rows, err := io.ReadAll(z) // compares Adler-32 too
		if want := side * ((side+7)/8 + 1); err != nil || len(rows) != want || stream.Len() != 0 {
			t.Fatalf("%d modules: %v, rows of %d bytes instead of %d, and %d bytes behind them", size, err, len(rows), want, stream.Len())
		}
	}
	if at != len(file) {
		t.Fatalf("%d modules: %d bytes behind the last chunk", size, len(file)-at)
	}
}

func decoded(t interface{ Fatalf(string, ...any) }, file []byte) image.Image {
	picture, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatalf("PNG: %v", err)
	}
	return picture
}

// TestQRImageIsTheCode compares the image of a text of each version with the code that the
// encoder makes of the same text.
func TestQRImageIsTheCode(t *testing.T) {
	done := map[int]bool{}
	for n := 1; n <= 2331; n += 11 {
		text := strings.Repeat("z", n)
		code, err := goqr.EncodeSegments([]*goqr.QrSegment{bytesOf(t, text)}, level, goqr.MinVersion, goqr.MaxVersion, mask, false)
		if err != nil {
			t.Fatal(err)
		}
		if done[code.Size()] {
			continue
		}
		done[code.Size()] = true
		file := pngOf(t, text)
		expectChunks(t, file, code.Size())
		expectPicture(t, decoded(t, file), code.Size(), code.Module)
	}
	if len(done) != goqr.MaxVersion {
		t.Errorf("codes of %d sizes instead of %d", len(done), goqr.MaxVersion)
	}
}

// expectImage makes an image of any modules and checks it.
func expectImage(t interface{ Fatalf(string, ...any) }, encoder *pngEncoder, size int, dark func(x, y int) bool) {
	m := modules{size: size}
	for y := range size {
		for x := range size {
			if dark(x, y) {
				m.bits[y*m.rowBytes()+x/8] |= 0x80 >> (x % 8)
			}
		}
	}
	file := encoder.encode(&m)
	expectChunks(t, file, size)
	expectPicture(t, decoded(t, file), size, dark)
}

// TestPNGOfAnyModules checks images of all sizes with modules that no code has: all of one
// colour, those whose image is longest, and random ones.
func TestPNGOfAnyModules(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var encoder pngEncoder // used for all of them
	var field [177][177]bool
	step := 4
	if !timed {
		step = 28 // the race detector slows it down, and finds nothing in one goroutine
	}
	for size := 21; size <= 177; size += step {
		for y := range size {
			for x := range size {
				field[y][x] = random.IntN(2) == 0
			}
		}
		expectImage(t, &encoder, size, func(int, int) bool { return false })
		expectImage(t, &encoder, size, func(int, int) bool { return true })
		expectImage(t, &encoder, size, func(x, _ int) bool { return x%2 == 1 })
		expectImage(t, &encoder, size, func(x, _ int) bool { return x%2 == 0 })
		expectImage(t, &encoder, size, func(x, y int) bool { return field[y][x] })
	}
}

func TestPNGOfRandomModules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var encoder pngEncoder
		size := 17 + 4*rapid.IntRange(1, 40).Draw(t, "version")
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64(), 3, 3), 1, 8).Draw(t, "rows")
		expectImage(t, &encoder, size, func(x, y int) bool { return rows[y%len(rows)][x/64]>>(x%64)&1 != 0 })
	})
}

// TestQRImageIsCheap bounds the length of a charge's image, and what its making allocates.
// Nearly all of the latter is the encoder's.
func TestQRImageIsCheap(t *testing.T) {
	room, err := AppendImage(nil, chargeText)
	if err != nil || len(room) > 1000 {
		t.Errorf("%d characters, %v", len(room), err)
	}
	if n := testing.AllocsPerRun(100, func() { room, _ = AppendImage(room[:0], chargeText) }); n > 75 && timed {
		t.Errorf("%v allocations", n)
	}
}

func bytesOf(t *testing.T, text string) *goqr.QrSegment {
	s, err := goqr.MakeBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
