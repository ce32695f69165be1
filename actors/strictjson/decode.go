package strictjson

import (
	"bytes"

	"github.com/goccy/go-json"
)

// Decode decodes a body that follows the rules into v. A field that v does not have is an
// error, unless mayGrow is true: an answer of the scheme may have fields that a later
// version added.
func Decode(body []byte, r Rules, v any, mayGrow bool) error {
	if !simple(body, r) {
		if err := Scan(body, r); err != nil {
			return err
		}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if !mayGrow {
		d.DisallowUnknownFields()
	}
	return d.Decode(v)
}

// Encode encodes v and does not escape <, > and &. A value that cannot be encoded is a bug
// of the caller; it returns an error.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
