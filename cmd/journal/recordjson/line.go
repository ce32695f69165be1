package recordjson

import (
	"strconv"

	"pixd/actors/ledger"
	"pixd/cmd/terminal"
)

// line writes one JSON object, value by value. A value in an object has a name, which must not
// need an escape; a value in a list has none.
type line struct {
	b      []byte
	record *ledger.Record // the record that is shown, if it is an account's
}

// name begins a value.
func (l *line) name(name string) {
	if last := l.b[len(l.b)-1]; last != '{' && last != '[' {
		l.b = append(l.b, ',')
	}
	if name != "" {
		l.b = append(append(append(l.b, '"'), name...), '"', ':')
	}
}

func (l *line) text(name, s string) {
	l.name(name)
	l.b = appendText(l.b, s)
}

func (l *line) integer(name string, n int64) {
	l.name(name)
	l.b = strconv.AppendInt(l.b, n, 10)
}

func (l *line) unsigned(name string, n uint64) {
	l.name(name)
	l.b = strconv.AppendUint(l.b, n, 10)
}

// positive writes a number that is not 0.
func (l *line) positive(name string, n uint64) {
	if n != 0 {
		l.unsigned(name, n)
	}
}

func (l *line) boolean(name string, v bool) {
	l.name(name)
	l.b = strconv.AppendBool(l.b, v)
}

// object writes an object, whose members write writes. One without a member is left out, unless
// it is in a list.
func (l *line) object(name string, write func()) {
	before := len(l.b)
	l.name(name)
	l.b = append(l.b, '{')
	inside := len(l.b)
	if write(); len(l.b) == inside && name != "" {
		l.b = l.b[:before]
		return
	}
	l.b = append(l.b, '}')
}

// list writes a list of n values, of which write writes the i-th.
func (l *line) list(name string, n int, write func(i int)) {
	l.name(name)
	l.b = append(l.b, '[')
	for i := range n {
		write(i)
	}
	l.b = append(l.b, ']')
}

// appendText appends a text as a JSON string. A byte that is not UTF-8 becomes the replacement
// character.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		if r == '"' || r == '\\' {
			b = append(b, '\\')
		}
		b = terminal.AppendJSON(b, r)
	}
	return append(b, '"')
}
