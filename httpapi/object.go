package httpapi

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// object writes a JSON object member by member. Names are given in snake_case.
type object struct {
	b     []byte
	camel bool // names are written in camelCase
}

// opened begins an object with a buffer of room bytes, about the object's expected length.
func opened(camel bool, room int) object {
	return object{b: append(make([]byte, 0, room), '{'), camel: camel}
}

func (o *object) closed() []byte { return append(o.b, '}') }

// name writes a member's name, which must not need an escape.
func (o *object) name(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	if o.camel {
		o.b = appendCamel(o.b, name)
	} else {
		o.b = append(o.b, name...)
	}
	o.b = append(o.b, '"', ':')
}

// inner opens an object as the value of the member name; end closes it.
func (o *object) inner(name string) {
	o.name(name)
	o.b = append(o.b, '{')
}

func (o *object) end() { o.b = append(o.b, '}') }

func (o *object) text(name, v string) {
	o.name(name)
	o.b = appendText(o.b, v)
}

// textOrNull writes a text member, or null if the text is empty.
func (o *object) textOrNull(name, v string) {
	if v == "" {
		o.null(name)
		return
	}
	o.text(name, v)
}

func (o *object) number(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) flag(name string, v bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
}

func (o *object) null(name string) {
	o.name(name)
	o.b = append(o.b, "null"...)
}

// appendText appends a JSON string with the escapes that JSON requires; bytes that are not
// UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			b = appendCharacter(append(b, s[from:i]...), rune(c))
			from = i + 1
		}
	}
	return append(append(b, s[from:]...), '"')
}

// entries writes a member that is a list of n objects; write writes the members of the i-th.
func (o *object) entries(name string, n int, write func(i int)) {
	o.name(name)
	o.b = append(o.b, '[')
	for i := range n {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, '{')
		write(i)
		o.end()
	}
	o.b = append(o.b, ']')
}

// texts writes a member that is a list of strings.
func (o *object) texts(name string, all []string) {
	o.name(name)
	o.b = append(o.b, '[')
	for i, v := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendText(o.b, v)
	}
	o.b = append(o.b, ']')
}
