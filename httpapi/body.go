package httpapi

import (
	"bytes"
	"encoding/json"
	"strconv"

	"pixd/actors/ledger"
)

// eachField hands the members of the request's body to take: the name in
// snake_case, the value as it is written.
func (c *call) eachField(take func(name, value []byte)) {
	eachField(c.ctx.PostBody(), c.camel, take)
}

// eachField hands the members of a body's object to take: the name as it reads,
// with camel in its snake_case form; the value as it is written. null counts as
// absent. Check 5 has proven the body to be one object whose names differ, also
// in that form.
func eachField(body []byte, camel bool, take func(name, value []byte)) {
	s := fieldScan{body, bytes.IndexByte(body, '{') + 1}
	for s.peek() == '"' {
		quoted := s.token()
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(readText(quoted).Value)
		}
		if camel && hasUpper(name) {
			name = appendSnake(make([]byte, 0, len(name)+8), name)
		}
		s.pass(':')
		if value := s.token(); string(value) != "null" {
			take(name, value)
		}
		s.pass(',')
	}
}

// fieldScan passes over JSON that is known to be well-formed.
type fieldScan struct {
	in []byte
	at int
}

func (s *fieldScan) peek() byte {
	for ; s.at < len(s.in); s.at++ {
		if c := s.in[s.at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

func (s *fieldScan) pass(c byte) {
	if s.peek() == c {
		s.at++
	}
}

// token passes over one value and returns it as it is written.
func (s *fieldScan) token() []byte {
	first, start := s.peek(), s.at
	switch first {
	case '"':
		s.text()
	case '{', '[':
		s.nested()
	default:
		s.word()
	}
	return s.in[start:s.at]
}

// text passes over a string, at being at its opening quote.
func (s *fieldScan) text() {
	for s.at++; s.at < len(s.in); s.at++ {
		switch s.in[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return
		}
	}
}

func (s *fieldScan) nested() {
	for depth := 0; s.at < len(s.in); {
		switch s.in[s.at] {
		case '"':
			s.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return
		}
	}
}

// word passes over a number, true, false or null.
func (s *fieldScan) word() {
	for ; s.at < len(s.in); s.at++ {
		switch s.in[s.at] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return
		}
	}
}

// readText reads a value that should be a string. What it returns is a copy.
func readText(value []byte) ledger.Text {
	if len(value) < 2 || value[0] != '"' {
		return ledger.Text{Given: true, Wrong: true}
	}
	inside := value[1 : len(value)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return ledger.Text{Value: string(inside), Given: true}
	}
	t := ledger.Text{Given: true}
	t.Wrong = json.Unmarshal(value, &t.Value) != nil
	return t
}

// readCentavos reads a value that should be a whole number; 0, which is no
// amount, where it is anything else: a fraction, an exponent, a string, or more
// than fits.
func readCentavos(value []byte) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
