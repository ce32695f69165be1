package receipt

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/text/unicode/norm"
)

// Noto Sans has the letters of every language in Latin, Greek or Cyrillic script. Its licence
// is in OFL.txt. Droid Sans Fallback has those of Chinese, Japanese, Korean and other
// languages. Its licence is in Droid-Apache-2.0.txt.
var (
	//go:embed NotoSans-Regular.ttf
	regular []byte
	//go:embed NotoSans-Bold.ttf
	bold []byte
	//go:embed DroidSansFallback.ttf.gz
	packed []byte
)

// fallback is the font of characters that Noto Sans lacks.
var fallback = sync.OnceValue(func() []byte {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Sprintf("receipt: font: %v", err))
	}
	file, err := io.ReadAll(z)
	if err != nil {
		panic(fmt.Sprintf("receipt: font: %v", err))
	}
	return file
})

// missing stands for each character that the fonts lack.
const missing = '\ufffd'

// coverage tells which characters Noto Sans has in both weights, and coverageOfOthers which
// ones the fallback has: of the first plane, because the PDF library cannot write characters
// of other planes.
var (
	coverage         = sync.OnceValue(func() *[1 << 16]bool { return covered(regular, bold) })
	coverageOfOthers = sync.OnceValue(func() *[1 << 16]bool { return covered(fallback()) })
)

// covered tells which characters of the first plane all of the fonts have.
func covered(files ...[]byte) *[1 << 16]bool {
	var has [1 << 16]bool
	for i, file := range files {
		f, err := sfnt.Parse(file)
		if err != nil {
			panic(fmt.Sprintf("receipt: font: %v", err))
		}
		var b sfnt.Buffer
		for r := range rune(1 << 16) {
			glyph, err := f.GlyphIndex(&b, r)
			has[r] = err == nil && glyph != 0 && (i == 0 || has[r])
		}
	}
	return &has
}

// printable returns a text as the fonts can show it: on one line, without characters that
// only direct the layout, such as those that reverse the order of others, and with a mark for
// each character that the fonts lack.
func printable(s string) string {
	has := coverage()
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		case int(r) < len(has) && (has[r] || coverageOfOthers()[r]):
			return r
		}
		return missing
	}, norm.NFC.String(strings.ToValidUTF8(s, string(missing))))
	return strings.Join(strings.Fields(s), " ")
}
