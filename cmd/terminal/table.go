package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// bare is the style of a table without a frame, whose columns are two spaces apart, so that
// its text can be pasted and split again.
var bare = func() table.Style {
	s := table.StyleDefault
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Options = table.Options{}
	s.Format.Header = text.FormatUpper
	return s
}()

// NewTable returns an empty table.
func NewTable() table.Writer {
	t := table.NewWriter()
	t.SetStyle(bare)
	t.SuppressTrailingSpaces()
	return t
}

// RightAligned aligns the columns with the given names, which contain numbers, to the right.
func RightAligned(t table.Writer, names ...string) {
	var columns []table.ColumnConfig
	for _, n := range names {
		columns = append(columns, table.ColumnConfig{Name: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
}

// Plain is a text from elsewhere made safe for a terminal: characters that are not letters,
// marks, numbers, signs or spaces, and so might be commands to a terminal, are escaped.
func Plain(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else if unicode.IsGraphic(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// AppendJSON appends a character of JSON text. A character that Plain would escape has the
// escape of JSON's strings, which a reader of the JSON takes for the character itself.
func AppendJSON(b []byte, r rune) []byte {
	switch {
	case ' ' <= r && r <= '~':
		return append(b, byte(r))
	case unicode.IsGraphic(r):
		return utf8.AppendRune(b, r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return appendEscape(appendEscape(b, high), low)
	}
	return appendEscape(b, r)
}

// appendEscape appends the escape of a character or of half a surrogate pair.
func appendEscape(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
