package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-json"
	"github.com/jedib0t/go-pretty/v6/table"

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

// fact is one line of a description: a name and a value.
type fact struct{ name, value string }

// leftOut is the value of a fact that a description does not show.
const leftOut = "\x00"

// facts shows facts, one to a line. The values are made safe for a terminal.
func facts(all []fact) string {
	t := terminal.NewTable()
	for _, f := range all {
		if f.value != leftOut {
			t.AppendRow(table.Row{f.name, terminal.Plain(f.value)})
		}
	}
	return t.Render() + "\n"
}

// rows shows a table, with a row for each of the entries, whose texts are made safe for a
// terminal. Columns whose names begin with ">" are aligned to the right.
func rows[T any](columns []string, all []T, cells func(*T) table.Row) string {
	t := terminal.NewTable()
	var header table.Row
	var right []string
	for _, column := range columns {
		name, isRight := strings.CutPrefix(column, ">")
		if isRight {
			right = append(right, name)
		}
		header = append(header, name)
	}
	t.AppendHeader(header)
	terminal.RightAligned(t, right...)
	for i := range all {
		row := cells(&all[i])
		for n, cell := range row {
			if text, ok := cell.(string); ok {
				row[n] = terminal.Plain(text)
			}
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
}

// orElse shows a value, or absent for nil.
func orElse[T any](v *T, absent string, show func(T) string) string {
	if v == nil {
		return absent
	}
	return show(*v)
}

// orZero returns a value, or its type's zero for nil.
func orZero[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}

// cut returns the first n characters of a text that is made safe for a terminal, because a
// longer text would make a table too wide.
func cut(s string, n int) string {
	s = terminal.Plain(s)
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
	_, _ = b.Write(terminal.AppendJSON(b.AvailableBuffer(), r))
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

// reais shows an amount in reais and centavos, with parts of a centavo only if there are
// any.
func reais(a pix.Amount) string { return a.BRL(",", ".") }

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
