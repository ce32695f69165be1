package qr

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"pgregory.net/rapid"
)

const chargeText = "00020126490014br.gov.bcb.pix0127padaria.saojoao@example.com5204000053039865406123.455802BR5913Padaria Joao6009SAO PAULO62290525PIXIN2K7QWERTYUIOPASDFGH63041D3D"

// pngOf returns the PNG of text's QR code, decoded from the data URI.
func pngOf(t interface{ Fatal(...any) }, text string) []byte {
	uri, err := AppendImage(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	encoded, ok := bytes.CutPrefix(uri, []byte(dataURI))
	if !ok {
		t.Fatal("no data URI: ", string(uri[:40]))
	}
	image, err := base64.StdEncoding.DecodeString(string(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// readQR decodes an image with a library other than the encoder's. If found is true, the
// decoder takes the whole picture to be a code; otherwise it searches the picture for a code.
// That search misses one code in a hundred, whichever mask the code has. The whole picture,
// which is all that AppendImage makes, is always decoded.
func readQR(t interface{ Fatal(...any) }, image []byte, found bool) string {
	picture, err := png.Decode(bytes.NewReader(image))
	if err != nil {
		t.Fatal("PNG: ", err)
	}
	bitmap, err := gozxing.NewBinaryBitmapFromImage(picture)
	if err != nil {
		t.Fatal(err)
	}
	hints := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_CHARACTER_SET: "UTF-8"}
	if found {
		hints[gozxing.DecodeHintType_PURE_BARCODE] = true
	}
	result, err := qrcode.NewQRCodeReader().Decode(bitmap, hints)
	if err != nil {
		t.Fatal("QR: ", err)
	}
	return result.GetText()
}

func TestQRImageReads(t *testing.T) {
	texts := []string{
		chargeText, "a", "A", strings.Repeat("A", 11), strings.Repeat("A", 12), strings.Repeat("A", 13),
		"x" + strings.Repeat("1", 12) + "y", "Ação ☕ " + chargeText, strings.Repeat("z", 236), chargeText + chargeText,
		strings.Repeat("z", 2331), // the longest text, which makes the largest possible code
	}
	for n := 1; n <= 240; n += 11 {
		texts = append(texts, (chargeText + chargeText)[:n])
	}
	if got := readQR(t, pngOf(t, chargeText), false); got != chargeText {
		t.Errorf("searched for, %q was read", got)
	}
	for _, text := range texts {
		if got := readQR(t, pngOf(t, text), true); got != text {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

func TestQRImageReadsAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([A-Z0-9]{0,30}[ -~]{1,30}){1,4}`).Draw(t, "text")
		if got := readQR(t, pngOf(t, text), true); got != text {
			t.Fatalf("%q was read as %q", text, got)
		}
	})
}

// TestQRImageIsCrisp looks at every pixel: the frame is white and four modules wide, and
// inside it all pixels of a module have one colour.
func TestQRImageIsCrisp(t *testing.T) {
	picture, err := png.Decode(bytes.NewReader(pngOf(t, chargeText)))
	if err != nil {
		t.Fatal(err)
	}
	side, frame := picture.Bounds().Dx(), quiet*scale
	if picture.Bounds().Dy() != side || side%scale != 0 || (side/scale-2*quiet-17)%4 != 0 {
		t.Fatalf("%v is no QR code's size", picture.Bounds())
	}
	dark := func(x, y int) bool { r, _, _, _ := picture.At(x, y).RGBA(); return r == 0 }
	for y := range side {
		for x := range side {
			inside := x >= frame && x < side-frame && y >= frame && y < side-frame
			if dark(x, y) && !inside {
				t.Fatalf("the frame is dark at %d,%d", x, y)
			}
			if dark(x, y) != dark(x-x%scale, y-y%scale) {
				t.Fatalf("the module at %d,%d is torn", x, y)
			}
		}
	}
	if !dark(frame, frame) || !dark(side-frame-1, frame) || !dark(frame, side-frame-1) {
		t.Error("the code does not reach into its corners")
	}
	if file := os.Getenv("QR_PICTURE"); file != "" {
		if err := os.WriteFile(file, pngOf(t, chargeText), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQRImageAppends(t *testing.T) {
	got, err := AppendImage([]byte(`{"x":"`), "abc")
	if err != nil || !strings.HasPrefix(string(got), `{"x":"`+dataURI) {
		t.Errorf("%.60s, %v", got, err)
	}
	for _, text := range []string{"", strings.Repeat("z", 3000)} {
		if got, err := AppendImage([]byte("kept"), text); err == nil || string(got) != "kept" {
			t.Errorf("%d bytes: %q, %v", len(text), got, err)
		}
	}
}

// BenchmarkQRImage draws the codes of charges of several accounts in turn.
func BenchmarkQRImage(b *testing.B) {
	var room []byte
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 64)
	for n := range texts {
		text := []byte(chargeText)
		for i := range text {
			if i >= 32 && i < 59 || i >= 127 && i < 152 || i >= len(text)-4 { // the key, the txid and the checksum
				text[i] = "0123456789ABCDEF"[random.IntN(16)]
			}
		}
		texts[n] = string(text)
	}
	tabledCharge()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		room, _ = AppendImage(room[:0], texts[n%len(texts)])
	}
	b.ReportMetric(float64(len(room)), "bytes")
}
