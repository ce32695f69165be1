package receipt

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// shown is one line of text on a page, with its place in points from the page's lower left
// corner.
type shown struct {
	x, y float64
	text string
}

var (
	streams = regexp.MustCompile(`(?s)/Filter /FlateDecode[^>]*>>\nstream\n(.*?)\nendstream`)
	texts   = regexp.MustCompile(`(?s)BT ([-0-9.]+) ([-0-9.]+) Td \((.*?)\) Tj ET`)
	escapes = strings.NewReplacer(`\\`, `\`, `\(`, `(`, `\)`, `)`, `\r`, "\r")
)

// read returns all texts of a PDF, in the order in which they are drawn, and checks that the
// file has one page.
func read(t testing.TB, file []byte) (all []shown) {
	t.Helper()
	if !bytes.HasPrefix(file, []byte("%PDF-")) || !bytes.HasSuffix(file, []byte("%%EOF\n")) || bytes.Count(file, []byte("/Type /Page\n")) != 1 || !bytes.Contains(file, []byte("/Count 1\n")) {
		t.Fatal("no PDF of one page")
	}
	for _, s := range streams.FindAllSubmatch(file, -1) {
		z, err := zlib.NewReader(bytes.NewReader(s[1]))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range texts.FindAllSubmatch(content, -1) {
			x, _ := strconv.ParseFloat(string(m[1]), 64)
			y, _ := strconv.ParseFloat(string(m[2]), 64)
			raw := []byte(escapes.Replace(string(m[3])))
			units := make([]uint16, len(raw)/2)
			for i := range units {
				units[i] = binary.BigEndian.Uint16(raw[2*i:])
			}
			all = append(all, shown{x, y, string(utf16.Decode(units))})
		}
	}
	return all
}

func lined(all []shown) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString(s.text + "\n")
	}
	return b.String()
}
