package recordjson

import (
	"encoding/hex"
	"fmt"
	"reflect"
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

// add writes a member, unless its value is zero: a text, an integer, true, or what has a text of
// its own, such as an id or a time.
func (l *line) add(name string, v any) {
	switch v := v.(type) {
	case string:
		if v != "" {
			l.name(name)
			l.b = appendText(l.b, v)
		}
	case bool:
		if v {
			l.name(name)
			l.b = append(l.b, "true"...)
		}
	case uint64:
		if v != 0 {
			l.name(name)
			l.b = strconv.AppendUint(l.b, v, 10)
		}
	case int64:
		if v != 0 {
			l.integer(name, v)
		}
	case pix.Amount:
		l.add(name, int64(v))
	case [16]byte:
		if v != [16]byte{} {
			l.add(name, hex.EncodeToString(v[:]))
		}
	case fmt.Stringer:
		if !reflect.ValueOf(v).IsZero() {
			l.add(name, v.String())
		}
	default:
		panic(fmt.Sprintf("recordjson: no form for %s, a %T", name, v))
	}
}

// integer writes an integer, 0 too.
func (l *line) integer(name string, n int64) {
	l.name(name)
	l.b = strconv.AppendInt(l.b, n, 10)
}

// secret writes that there is a secret, if there is one.
func (l *line) secret(name string, there bool) {
	if there {
		l.add(name, mask)
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

// optional writes an inner object, unless v is nil; write writes its members.
func optional[T any](l *line, name string, v *T, write func(*T)) {
	if v != nil {
		l.object(name, func() { write(v) })
	}
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
