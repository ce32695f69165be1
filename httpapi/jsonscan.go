package httpapi

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// This file has the grammar of RFC 8259 except objects, which are in canonical.go. Each
// function for an element of the grammar reads the element at c.at and appends it to c.out in
// canonical spelling. It returns false if the body proves to have no canonical form.

// next skips white space and returns the byte that follows, without reading it. It returns 0
// at the end of the body; a byte 0 within the body is not JSON either.
func (c *canonicaliser) next() byte {
	for ; c.at < len(c.in); c.at++ {
		switch b := c.in[c.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

// keepByte reads b, the byte that next has just returned, and appends it to the output.
func (c *canonicaliser) keepByte(b byte) {
	c.at++
	c.out = append(c.out, b)
}

// value reads one value of any kind that is nested in level objects and arrays.
func (c *canonicaliser) value(level int) bool {
	switch b := c.next(); {
	case b == '"':
		return c.text()
	case b == '-' || digit(b):
		return c.number()
	case b == '{':
		return c.object(level + 1)
	case b == '[':
		return c.array(level + 1)
	case b == 't':
		return c.word("true")
	case b == 'f':
		return c.word("false")
	case b == 'n':
		return c.word("null")
	}
	return c.refuse(reasonNotJSON)
}

func (c *canonicaliser) word(word string) bool {
	if !bytes.HasPrefix(c.in[c.at:], []byte(word)) {
		return c.refuse(reasonNotJSON)
	}
	c.at += len(word)
	c.out = append(c.out, word...)
	return true
}

// array reads the array whose opening bracket is at c.at.
func (c *canonicaliser) array(level int) bool {
	if level > maxDepth {
		return c.refuse(reasonTooDeep)
	}
	c.keepByte('[')
	for empty := true; ; empty = false {
		switch b := c.next(); {
		case b == ']':
			c.keepByte(b)
			return true
		case empty:
		case b == ',':
			c.keepByte(b)
		default:
			return c.refuse(reasonNotJSON)
		}
		if !c.value(level) {
			return false
		}
	}
}

// number reads a number and copies it as it is written, because to a signature 1.0 and 1 are
// different.
func (c *canonicaliser) number() bool {
	start := c.at
	if c.in[c.at] == '-' {
		c.at++
	}
	if c.at < len(c.in) && c.in[c.at] == '0' {
		c.at++
	} else if !c.digits() {
		return c.refuse(reasonNotJSON)
	}
	if c.at < len(c.in) && c.in[c.at] == '.' {
		if c.at++; !c.digits() {
			return c.refuse(reasonNotJSON)
		}
	}
	if c.at < len(c.in) && c.in[c.at]|0x20 == 'e' {
		c.at++
		if c.at < len(c.in) && (c.in[c.at] == '+' || c.in[c.at] == '-') {
			c.at++
		}
		if !c.digits() {
			return c.refuse(reasonNotJSON)
		}
	}
	c.out = append(c.out, c.in[start:c.at]...)
	return true
}

// digits skips the digits at c.at and reports whether there was at least one.
func (c *canonicaliser) digits() bool {
	start := c.at
	for c.at < len(c.in) && digit(c.in[c.at]) {
		c.at++
	}
	return c.at > start
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// text reads the string whose opening quote is at c.at.
func (c *canonicaliser) text() bool {
	c.keepByte('"')
	from := c.at
	for c.at < len(c.in) {
		switch b := c.in[c.at]; {
		case b == '"':
			c.at++
			c.out = append(c.out, c.in[from:c.at]...)
			return true
		case b == '\\':
			c.out = append(c.out, c.in[from:c.at]...)
			if !c.escape() {
				return false
			}
			from = c.at
		case b < ' ':
			return c.refuse(reasonNotJSON)
		default:
			c.at++
		}
	}
	return c.refuse(reasonNotJSON)
}

// escape reads the escape whose backslash is at c.at.
func (c *canonicaliser) escape() bool {
	if c.at+1 == len(c.in) {
		return c.refuse(reasonNotJSON)
	}
	switch e := c.in[c.at+1]; e {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		c.out = append(c.out, '\\', e)
	case '/':
		c.out = append(c.out, e)
	case 'u':
		return c.unicode()
	default:
		return c.refuse(reasonNotJSON)
	}
	c.at += 2
	return true
}

// unicode reads \uXXXX, or two such escapes that are a surrogate pair.
func (c *canonicaliser) unicode() bool {
	r, ok := hex4(c.in[c.at:])
	if !ok {
		return c.refuse(reasonNotJSON)
	}
	n := 6
	if utf16.IsSurrogate(r) {
		low, _ := hex4(c.in[c.at+n:])
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return c.refuse(reasonSurrogate)
		}
		n = 12
	}
	c.at += n
	c.out = appendCharacter(c.out, r)
	return true
}

// hex4 decodes the escape \u and four hexadecimal digits at the start of b. It returns 0 and
// false if b does not start with such an escape.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(r), err == nil //nolint:gosec // four digits
}

// shortEscapes has, for each control character with a two-character escape, the second
// character of that escape.
var shortEscapes = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// appendCharacter appends r as a canonical string contains it: escaped only if JSON requires
// that, and with the shortest escape.
func appendCharacter(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(b, '\\', byte(r))
	case r >= ' ':
		return utf8.AppendRune(b, r)
	case shortEscapes[r] != 0:
		return append(b, '\\', shortEscapes[r])
	}
	return append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
}

// appendDecoded appends the characters that text stands for; text is the inside of a
// canonical string.
func appendDecoded(b, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(b, text...)
		}
		b = append(b, text[:i]...)
		switch e := text[i+1]; e {
		case 'u':
			r, _ := hex4(text[i:])
			b, text = append(b, byte(r)), text[i+6:] // in canonical form \u stands only for a control character
		case '"', '\\':
			b, text = append(b, e), text[i+2:]
		default:
			b, text = append(b, byte(bytes.IndexByte(shortEscapes[:], e))), text[i+2:]
		}
	}
}
