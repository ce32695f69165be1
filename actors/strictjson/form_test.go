package strictjson

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// record is a body with a field of each kind that a Form reads.
type record struct {
	text   string
	flag   bool
	number int64
	list   []string
	at     time.Time
	inner  string
	deep   bool
}

func readRecord(body string) (record, error) {
	f := Read([]byte(body), Rules{Deepest: 4, Plain: true}, "text", "flag", "number", "list", "at", "inner")
	f.Need("text")
	o := record{text: "unread", number: 7}
	for name, read := range map[string]bool{
		"text": f.Text("text", &o.text), "flag": f.Flag("flag", &o.flag), "number": f.Integer("number", &o.number), "list": f.Texts("list", &o.list),
		"at": f.Instant("at", &o.at),
	} {
		if !f.Has(name) && read || f.Fault() == nil && f.Has(name) != read {
			return o, fmt.Errorf("%s is there: %v, read: %v", name, f.Has(name), read)
		}
	}
	inner := f.Object("inner", "text", "deeper")
	inner.Text("text", &o.inner)
	deeper := inner.Object("deeper", "deep")
	deeper.Flag("deep", &o.deep)
	if f.Has("inner") {
		inner.Need("text")
	}
	return o, f.Fault()
}

// TestForm checks what is read of a body with every field, and that fields that are missing leave
// their variables as they are.
func TestForm(t *testing.T) {
	o, err := readRecord(`{"text":"a","flag":true,"number":-12,"list":["b","c"],"at":"2026-01-31T12:00:00.5-03:00","inner":{"text":"d","deeper":{"deep":true}}}`)
	at := time.Date(2026, 1, 31, 15, 0, 0, 500_000_000, time.UTC)
	if err != nil || o.text != "a" || !o.flag || o.number != -12 || !slices.Equal(o.list, []string{"b", "c"}) || !o.at.Equal(at) || o.inner != "d" || !o.deep {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := readRecord(`{"text":""}`); err != nil || o.text != "" || o.flag || o.number != 7 || o.list != nil || !o.at.IsZero() || o.inner != "" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := readRecord(`{"text":"a","list":[],"number":9223372036854775807}`); err != nil || o.list == nil || len(o.list) != 0 || o.number != 1<<63-1 {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestFormFaults checks the fault of bodies that a Form refuses, and that the first one is kept.
func TestFormFaults(t *testing.T) {
	for _, c := range []struct{ body, fault string }{
		{``, "the body must be a JSON object: it is not a JSON object (byte 0)"},
		{`{"text":1,"text":2}`, "the body must be a JSON object: field \"text\" stands twice (byte 16)"},
		{`{}`, "text is required"},
		{`{"text":"a","c":1,"b":2}`, `unknown field "b"`},
		{`{"text":"a","inner":{"text":"d","flag":true}}`, `unknown field "inner.flag"`},
		{`{"text":null}`, "text must not be null"},
		{`{"text":5}`, "text must be a string"},
		{`{"text":"a","flag":1}`, "flag must be true or false"},
		{`{"text":"a","number":1.0}`, "number must be an integer"},
		{`{"text":"a","number":1e3}`, "number must be an integer"},
		{`{"text":"a","number":"1"}`, "number must be an integer"},
		{`{"text":"a","number":9223372036854775808}`, "number must be an integer"},
		{`{"text":"a","number":null}`, "number must not be null"},
		{`{"text":"a","list":"b"}`, "list must be a list of strings"},
		{`{"text":"a","list":["b",null]}`, "list must be a list of strings"},
		{`{"text":"a","list":["b",1]}`, "list must be a list of strings"},
		{`{"text":"a","at":5}`, "at must be an ISO 8601 time"},
		{`{"text":"a","at":"2026-01-31"}`, "at must be an ISO 8601 time, such as 2026-01-31T12:00:00Z"},
		{`{"text":"a","inner":null}`, "inner must not be null"},
		{`{"text":"a","inner":[]}`, "inner must be an object"},
		{`{"text":"a","inner":{}}`, "inner.text is required"},
		{`{"text":"a","inner":{"text":1}}`, "inner.text must be a string"},
		{`{"text":"a","inner":{"text":null}}`, "inner.text must not be null"},
		{`{"text":"a","inner":{"text":"d","deeper":{"deep":1}}}`, "inner.deeper.deep must be true or false"},
		{`{"text":"a","inner":{"text":"d","deeper":{"x":1}}}`, `unknown field "inner.deeper.x"`},
		{`{"flag":1,"number":"x"}`, "text is required"},
		{`{"text":"a","flag":1,"number":"x"}`, "flag must be true or false"},
	} {
		var fault *Fault
		if _, err := readRecord(c.body); !errors.As(err, &fault) || err.Error() != c.fault {
			t.Errorf("%s: %v, want %s", c.body, err, c.fault)
		}
	}
}

// TestFormReadsNothingFromFaults checks that a field with a fault leaves its variable as it is and is
// reported as unread, and that a fault of the caller's own is kept like the others.
func TestFormReadsNothingFromFaults(t *testing.T) {
	f := Read([]byte(`{"text":5,"number":1.5,"list":[null],"at":"x","flag":null}`), Rules{Deepest: 2}, "text", "number", "list", "at", "flag")
	own := errors.New("the caller's own")
	f.Fail(own)
	text, number, list, at, flag := "a", int64(7), []string{"b"}, time.Unix(9, 0), true
	if f.Text("text", &text) || f.Integer("number", &number) || f.Texts("list", &list) || f.Instant("at", &at) || f.Flag("flag", &flag) || f.Text("none", &text) {
		t.Error("a field with a fault was read")
	}
	if text != "a" || number != 7 || !slices.Equal(list, []string{"b"}) || !at.Equal(time.Unix(9, 0)) || !flag {
		t.Error(text, number, list, at, flag)
	}
	if !f.Null("flag") || f.Null("text") || f.Null("none") || !f.Has("flag") || f.Has("none") {
		t.Error("null or missing fields are mistaken")
	}
	if err := f.Fault(); !errors.Is(err, own) {
		t.Error(err)
	}
}
