package strictjson

import "unicode/utf8"

// simple reports whether a body is certainly usable under the rules. It knows only the form that
// programs write messages in: objects of plain names, without white space, whose values are
// objects, integers from 0, true, false, and texts without escapes. Any other body is for Scan to
// judge. Without it Decode takes seven times as long (BenchmarkDecode), which is 9 % of what the
// engine needs for a payout at a provider.
func simple(body []byte, r Rules) bool {
	s := simpleScan{in: body, deepest: r.Deepest}
	return (r.Longest == 0 || len(body) <= r.Longest) && utf8.Valid(body) && s.object(1) && s.at == len(body)
}

// simpleNames is the largest number of names of an object that simple compares with each other.
const simpleNames = 16

type simpleScan struct {
	in      []byte
	at      int
	deepest int
}

// take reads the byte b, if it comes next.
func (s *simpleScan) take(b byte) bool {
	if s.at < len(s.in) && s.in[s.at] == b {
		s.at++
		return true
	}
	return false
}

// object reads an object that lies within depth-1 others.
func (s *simpleScan) object(depth int) bool {
	if !s.take('{') || depth > s.deepest {
		return false
	}
	if s.take('}') {
		return true
	}
	var names [simpleNames]string
	for n := range names {
		name, ok := s.text()
		if !ok || !plain(string(name)) || !s.take(':') {
			return false
		}
		names[n] = string(name)
		for _, earlier := range names[:n] {
			if earlier == names[n] {
				return false
			}
		}
		if !s.value(depth) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

func (s *simpleScan) value(depth int) bool {
	if s.at == len(s.in) {
		return false
	}
	switch s.in[s.at] {
	case '"':
		_, ok := s.text()
		return ok
	case '{':
		return s.object(depth + 1)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	}
	return s.integer()
}

func (s *simpleScan) word(w string) bool {
	if len(s.in)-s.at < len(w) || string(s.in[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// integer reads an integer from 0, written without a needless zero.
func (s *simpleScan) integer() bool {
	if s.take('0') {
		return true
	}
	from := s.at
	for s.at < len(s.in) && s.in[s.at] >= '0' && s.in[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}

// text reads a text without escapes, and returns what stands between its quotes.
func (s *simpleScan) text() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	from := s.at
	for ; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; {
		case c == '"':
			s.at++
			return s.in[from : s.at-1], true
		case c < ' ' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}
