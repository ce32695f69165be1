package recordjson

import (
	"encoding/hex"
	"strconv"

	"pixd/actors/pix"
	"pixd/cmd/terminal"
)

// line writes one JSON object, member by member. Names must not need an escape.
type line struct{ b []byte }

// name writes a member's name.
func (l *line) name(name string) {
	if l.b[len(l.b)-1] != '{' {
		l.b = append(l.b, ',')
	}
	l.b = append(append(append(l.b, '"'), name...), '"', ':')
}

// text writes a text member, unless the text is empty.
func (l *line) text(name, v string) {
	if v != "" {
		l.name(name)
		l.b = appendText(l.b, v)
	}
}

// integer writes an integer, 0 too.
func (l *line) integer(name string, n int64) {
	l.name(name)
	l.b = strconv.AppendInt(l.b, n, 10)
}

// number writes an integer, unless it is 0.
func (l *line) number(name string, n int64) {
	if n != 0 {
		l.integer(name, n)
	}
}

// amount writes an amount in base units, unless it is 0.
func (l *line) amount(name string, a pix.Amount) { l.number(name, int64(a)) }

// count writes an integer that is never negative, unless it is 0.
func (l *line) count(name string, n uint64) {
	if n != 0 {
		l.name(name)
		l.b = strconv.AppendUint(l.b, n, 10)
	}
}

// flag writes a member that is true, or nothing.
func (l *line) flag(name string, v bool) {
	if v {
		l.name(name)
		l.b = append(l.b, "true"...)
	}
}

// instant writes a time, unless it is 0.
func (l *line) instant(name string, at pix.Millis) {
	if at != 0 {
		l.text(name, at.String())
	}
}

// bytes writes bytes in hexadecimal, unless all are 0.
func (l *line) bytes(name string, v [16]byte) {
	if v != [16]byte{} {
		l.text(name, hex.EncodeToString(v[:]))
	}
}

// secret writes that there is a secret, if there is one.
func (l *line) secret(name string, there bool) {
	if there {
		l.text(name, mask)
	}
}

// object writes an inner object, unless it has no member; write writes its members.
func (l *line) object(name string, write func()) {
	before := len(l.b)
	l.name(name)
	l.b = append(l.b, '{')
	inside := len(l.b)
	if write(); len(l.b) == inside {
		l.b = l.b[:before]
		return
	}
	l.b = append(l.b, '}')
}

// list writes a list of n values, unless n is 0; write writes the i-th value.
func (l *line) list(name string, n int, write func(i int)) {
	if n == 0 {
		return
	}
	l.name(name)
	l.b = append(l.b, '[')
	for i := range n {
		if i > 0 {
			l.b = append(l.b, ',')
		}
		write(i)
	}
	l.b = append(l.b, ']')
}

// objects writes a list of n objects, unless n is 0; write writes the members of the i-th.
func (l *line) objects(name string, n int, write func(i int)) {
	l.list(name, n, func(i int) {
		l.b = append(l.b, '{')
		write(i)
		l.b = append(l.b, '}')
	})
}

// texts writes a list of texts, unless it is empty.
func (l *line) texts(name string, all []string) {
	l.list(name, len(all), func(i int) { l.b = appendText(l.b, all[i]) })
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
