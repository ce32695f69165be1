package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goccy/go-json"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"pixd/actors/ledger"
)

// bare is a table of columns two spaces apart, without a frame: it can be
// pasted anywhere, and cut apart again.
var bare = func() table.Style {
	s := table.StyleDefault
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Options = table.Options{}
	s.Format.Header = text.FormatUpper
	return s
}()

func newTable() table.Writer {
	t := table.NewWriter()
	t.SetStyle(bare)
	t.SuppressTrailingSpaces()
	return t
}

// rightAligned are columns of numbers.
func rightAligned(t table.Writer, names ...string) {
	var columns []table.ColumnConfig
	for _, n := range names {
		columns = append(columns, table.ColumnConfig{Name: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
}

// fact is one line of what is told of one thing.
type fact struct{ name, value string }

// facts are shown one to a line.
func facts(all []fact) string {
	t := newTable()
	for _, f := range all {
		t.AppendRow(table.Row{f.name, f.value})
	}
	return t.Render() + "\n"
}

// plain is a text that came from elsewhere, fit for a terminal: what is no
// letter, mark, number, sign or space, and so might be a command to it, is
// spelled out.
func plain(s string) string {
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

// cut is the beginning of a text that would make a table too wide.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// printJSON prints an answer as it came. What a terminal might take for a
// command is escaped, which to a reader of JSON is the same.
func printJSON(w io.Writer, raw []byte) error {
	var b bytes.Buffer
	for _, r := range string(raw) {
		switch {
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case r == '\n', r == '\t', r == '\r':
			b.WriteByte(' ') // between values: within one JSON has escaped it
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// printList is printJSON of a list.
func printList(w io.Writer, l list) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return err
	}
	return printJSON(w, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// unitsPerReal is how many base units are 1.00 BRL.
const unitsPerReal = 100 * ledger.UnitsPerCentavo

// reais is an amount as people write it, with the parts of a centavo where there
// are any.
func reais(a ledger.Amount) string {
	sign, n := "", uint64(a)
	if a < 0 {
		sign, n = "-", -n
	}
	whole := strconv.FormatUint(n/unitsPerReal, 10)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	rest := fmt.Sprintf("%04d", n%unitsPerReal)
	return sign + whole + "." + strings.TrimSuffix(rest, "00")
}

// money is an amount in base units, and as people write it.
func money(a ledger.Amount) string { return fmt.Sprintf("%d (%s BRL)", a, reais(a)) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// moment is when something was, to the second.
func moment(at string) string {
	whole, _, _ := strings.Cut(strings.TrimSuffix(plain(at), "Z"), ".")
	return whole + "Z"
}

// ever is a moment that may never have been.
func ever(at *string) string {
	if at == nil {
		return "never"
	}
	return moment(*at)
}
