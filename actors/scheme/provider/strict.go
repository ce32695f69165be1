package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// MaxBody is the longest message, either way, but for a book.
const MaxBody = 64 << 10

// maxDepth is more than any message of ours has.
const maxDepth = 8

// decode reads a message into v, strictly: encoding/json would take names in
// another case, names that stand twice, text that is not UTF-8, and whatever
// follows. A name that v does not know is an error unless it is an answer's,
// which may grow.
func decode(body []byte, v any, mayGrow bool) error { return decodeUpTo(MaxBody, body, v, mayGrow) }

// decodeUpTo is decode of what may be so many bytes long.
func decodeUpTo(longest int, body []byte, v any, mayGrow bool) error {
	if len(body) > longest {
		return fmt.Errorf("it is longer than %d bytes", longest)
	}
	if !utf8.Valid(body) {
		return errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it is not a JSON object")
	}
	if err := names(d, 1); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	d = json.NewDecoder(bytes.NewReader(body))
	if !mayGrow {
		d.DisallowUnknownFields()
	}
	return d.Decode(v)
}

// names judges the names within an object that has begun, to its end.
func names(d *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if !plainName(name) {
			return fmt.Errorf("unknown field %s", strconv.QuoteToASCII(name))
		}
		if seen[name] {
			return fmt.Errorf("field %s stands twice", name)
		}
		seen[name] = true
		if err := value(d, depth); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// value passes over one value, judging the objects in it.
func value(d *json.Decoder, depth int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if depth >= maxDepth {
		return errors.New("it is nested too deep")
	}
	switch t {
	case json.Delim('{'):
		return names(d, depth+1)
	case json.Delim('['):
		for d.More() {
			if err := value(d, depth+1); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

// plainName is the form of all names, which no two spellings share.
func plainName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return s != ""
}

// encode writes a message. Ours always can be.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("provider: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
