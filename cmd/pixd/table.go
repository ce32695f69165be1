package main

import (
	"bufio"
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

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

// fact is one line of a description: a name and a value.
type fact struct{ name, value string }

// facts shows facts, one to a line.
func facts(all []fact) string {
	t := terminal.NewTable()
	for _, f := range all {
		t.AppendRow(table.Row{f.name, f.value})
	}
	return t.Render() + "\n"
}

// cut returns the first n characters of a text, because a longer text would make a table too
// wide.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// printJSON prints an answer as it came, but escapes characters that a terminal might take
// for a command; a reader of JSON sees no difference.
func printJSON(w io.Writer, raw []byte) error {
	b := bufio.NewWriter(w)
	for _, r := range string(raw) {
		switch r {
		case '\n', '\t', '\r':
			r = ' ' // outside of JSON strings; within a string JSON escapes these characters
		}
		writeJSON(b, r)
	}
	_ = b.WriteByte('\n')
	return b.Flush()
}

// writeJSON writes a character of JSON, escaped if a terminal might take it for a command.
func writeJSON(b *bufio.Writer, r rune) {
	switch {
	case unicode.IsGraphic(r):
		_, _ = b.WriteRune(r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}

// printList prints a list as printJSON does.
func printList(w io.Writer, l list) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return err
	}
	return printJSON(w, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// unitsPerReal is the number of base units in 1.00 BRL.
const unitsPerReal = 100 * pix.UnitsPerCentavo

// reais shows an amount in reais and centavos, with parts of a centavo only if there are
// any.
func reais(a pix.Amount) string {
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

// money shows an amount in base units and in reais.
func money(a pix.Amount) string { return fmt.Sprintf("%d (%s BRL)", a, reais(a)) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// moment shows a time to the second.
func moment(at string) string {
	whole, _, _ := strings.Cut(strings.TrimSuffix(terminal.Plain(at), "Z"), ".")
	return whole + "Z"
}

// ever shows a time, or "never" for nil.
func ever(at *string) string {
	if at == nil {
		return "never"
	}
	return moment(*at)
}
