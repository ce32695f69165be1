package strictjson

import (
	"bytes"

	"github.com/goccy/go-json"
)

// Decode reads a body that keeps to the rules into v. A name that v does not know is an
// error unless the body may grow: an answer may have fields that a later version added.
func Decode(body []byte, r Rules, v any, mayGrow bool) error {
	if err := Scan(body, r); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if !mayGrow {
		d.DisallowUnknownFields()
	}
	return d.Decode(v)
}

// Encode writes v, with <, > and & as they are. A value that cannot be written is a
// mistake of the caller's and an error.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
