package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// Rules are the rules that a body must follow.
type Rules struct {
	Longest int // largest length in bytes; 0: no limit, because the receiver of the body has limited its length
	Deepest int // how many objects and arrays may be nested, the outermost object included
	// Plain allows only lower-case letters, digits and underscores in names. Otherwise a
	// decoder that ignores case could take two different names for the same field.
	Plain bool
	// Paired refuses a Unicode escape that is only half of a surrogate pair, which a
	// decoder would replace by another character.
	Paired bool
}

// Unusable is the error for a body that breaks the rules.
type Unusable struct {
	Reason string // explanation in English; of the body it quotes only names
	Offset int    // position of the fault, in bytes from the body's start
}

func (e *Unusable) Error() string { return e.Reason }

// Scan checks that a body is one JSON object, with nothing after it, and follows the rules.
// The error is an *Unusable.
func Scan(body []byte, r Rules) error {
	if r.Longest > 0 && len(body) > r.Longest {
		return &Unusable{fmt.Sprintf("it is longer than %d bytes", r.Longest), r.Longest}
	}
	if !utf8.Valid(body) {
		return &Unusable{"it is not UTF-8", validUpTo(body)}
	}
	s := scan{json.NewDecoder(bytes.NewReader(body)), r}
	if reason := s.document(); reason != "" {
		return &Unusable{reason, int(s.d.InputOffset())}
	}
	if at := loneSurrogate(body); r.Paired && at >= 0 {
		return &Unusable{"it has half of a surrogate pair", at}
	}
	return nil
}

// validUpTo returns the offset of the first byte that is not UTF-8.
func validUpTo(body []byte) int {
	at := 0
	for at < len(body) {
		r, n := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

type scan struct {
	d *json.Decoder
	Rules
}

const notJSON = "it is not JSON"

// document returns why the body is unusable; empty where it is usable.
func (s *scan) document() string {
	if t, err := s.d.Token(); err != nil || t != json.Delim('{') {
		return "it is not a JSON object"
	}
	if reason := s.object(1); reason != "" {
		return reason
	}
	if _, err := s.d.Token(); !errors.Is(err, io.EOF) {
		return "something follows the JSON object"
	}
	return ""
}

// object checks an object whose opening brace was read already; it reads up to the closing
// brace.
func (s *scan) object(depth int) string {
	seen := map[string]bool{}
	for s.d.More() {
		t, err := s.d.Token()
		if err != nil {
			return notJSON
		}
		name, _ := t.(string)
		if s.Plain && !plain(name) {
			return "unknown field " + strconv.QuoteToASCII(name)
		}
		if seen[name] {
			return "field " + strconv.QuoteToASCII(name) + " stands twice"
		}
		seen[name] = true
		if reason := s.value(depth); reason != "" {
			return reason
		}
	}
	return s.closing()
}

// value checks one value; depth is the number of objects and arrays around the value.
func (s *scan) value(depth int) string {
	t, err := s.d.Token()
	if err != nil {
		return notJSON
	}
	opens := t == json.Delim('{') || t == json.Delim('[')
	switch {
	case !opens:
		return ""
	case depth == s.Deepest:
		return "it is nested deeper than " + strconv.Itoa(s.Deepest) + " levels"
	case t == json.Delim('{'):
		return s.object(depth + 1)
	}
	for s.d.More() {
		if reason := s.value(depth + 1); reason != "" {
			return reason
		}
	}
	return s.closing()
}

// closing reads the closing bracket of an object or array.
func (s *scan) closing() string {
	if _, err := s.d.Token(); err != nil {
		return notJSON
	}
	return ""
}

func plain(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return name != ""
}

// loneSurrogate returns the offset of a Unicode escape that is half of a surrogate pair
// without the other half; -1: the body has no such escape. The body must be valid JSON.
func loneSurrogate(body []byte) int {
	for at := 0; at < len(body); at++ {
		if body[at] != '\\' {
			continue
		}
		switch half, low := surrogate(body[at:]); {
		case half && low:
			return at
		case half:
			if next, low := surrogate(body[at+6:]); !next || !low {
				return at
			}
			at += 11
		default:
			at++ // skip the escaped byte, which may be another backslash
		}
	}
	return -1
}

// surrogate tells whether b begins with an escape that is half of a surrogate pair, and
// whether it is the second half.
func surrogate(b []byte) (half, low bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return false, false
	}
	r, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return err == nil && r >= 0xd800 && r <= 0xdfff, r >= 0xdc00
}
