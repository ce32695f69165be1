package strictjson

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"
)

// Fault describes what is wrong with a body, in words for its sender.
type Fault struct{ Message string }

func (f *Fault) Error() string { return f.Message }

// Form reads the fields of a body one by one. An unknown name, a null where null is not
// allowed and a value of the wrong type are faults that name the field. Only the first
// fault is kept; reading further fields after a fault does no harm.
type Form struct {
	fields map[string]json.RawMessage
	path   string // path of an inner object, which ends with a point; empty: this is the outermost object
	fault  *error
}

// Read parses a body; known lists all the names that the body may have.
func Read(body []byte, r Rules, known ...string) Form {
	f := Form{fault: new(error)}
	var unusable *Unusable
	if errors.As(Scan(body, r), &unusable) {
		f.refuse("the body must be a JSON object: %s (byte %d)", unusable.Reason, unusable.Offset)
		return f
	}
	f.parseObject(body, known)
	return f
}

// parseObject parses an object. If the object has several unknown names, the fault names the
// alphabetically first one, so that the same body always gives the same fault.
func (f *Form) parseObject(object []byte, known []string) {
	if err := json.Unmarshal(object, &f.fields); err != nil {
		f.refuse("%s must be an object", strings.TrimSuffix(f.path, "."))
		return
	}
	var strange []string
	for name := range f.fields {
		if !slices.Contains(known, name) {
			strange = append(strange, name)
		}
	}
	if len(strange) > 0 {
		f.refuse("unknown field %s", strconv.Quote(f.path+slices.Min(strange)))
	}
}

// Fault returns the first fault, which is a *Fault or the error that Fail was given; nil
// where there is no fault.
func (f Form) Fault() error { return *f.fault }

func (f Form) refuse(format string, args ...any) { f.Fail(&Fault{fmt.Sprintf(format, args...)}) }

// Fail adds a fault that the caller found.
func (f Form) Fail(err error) {
	if *f.fault == nil {
		*f.fault = err
	}
}

// Refuse adds a fault in the field name; must says what the field must be.
func (f Form) Refuse(name, must string) { f.refuse("%s must be %s", f.path+name, must) }

// Has tells whether the body has the field, even if its value is null.
func (f Form) Has(name string) bool { return f.fields[name] != nil }

// Null tells whether the body has the field with the value null.
func (f Form) Null(name string) bool { return string(f.fields[name]) == "null" }

// Need adds a fault for each of the named fields that the body does not have.
func (f Form) Need(names ...string) {
	for _, name := range names {
		if !f.Has(name) {
			f.refuse("%s is required", f.path+name)
		}
	}
}

// read decodes a field into v. It returns false where the field is missing or has a fault.
func (f Form) read(name string, v any, must string) bool {
	raw, ok := f.fields[name]
	if !ok {
		return false
	}
	if string(raw) == "null" {
		f.refuse("%s must not be null", f.path+name)
		return false
	}
	if json.Unmarshal(raw, v) != nil {
		f.Refuse(name, must)
		return false
	}
	return true
}

// Text reads a string. Like all methods below, it returns false where the field is missing
// or has a fault.
func (f Form) Text(name string, into *string) bool { return f.read(name, into, "a string") }

// Flag reads true or false.
func (f Form) Flag(name string, into *bool) bool { return f.read(name, into, "true or false") }

// Integer reads a whole number, written without a fraction or an exponent.
func (f Form) Integer(name string, into *int64) bool {
	var n json.RawMessage
	if !f.read(name, &n, "") {
		return false
	}
	v, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil {
		f.Refuse(name, "an integer")
		return false
	}
	*into = v
	return true
}

// Texts reads a list of strings; a null in the list is a fault.
func (f Form) Texts(name string, into *[]string) bool {
	var list []*string
	if !f.read(name, &list, "a list of strings") {
		return false
	}
	texts := make([]string, len(list))
	for i, s := range list {
		if s == nil {
			f.Refuse(name, "a list of strings")
			return false
		}
		texts[i] = *s
	}
	*into = texts
	return true
}

// Instant reads an ISO 8601 time.
func (f Form) Instant(name string, into *time.Time) bool {
	var s string
	if !f.read(name, &s, "an ISO 8601 time") {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		f.Refuse(name, "an ISO 8601 time, such as 2026-01-31T12:00:00Z")
		return false
	}
	*into = t
	return true
}

// Object reads an inner object; where the field is missing, the result is an object without
// fields.
func (f Form) Object(name string, known ...string) Form {
	inner := Form{path: f.path + name + ".", fault: f.fault}
	raw := json.RawMessage("{}")
	if f.read(name, &raw, "") || !f.Has(name) {
		inner.parseObject(raw, known)
	}
	return inner
}
