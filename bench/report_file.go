package bench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-json"
)

// WriteJSON writes the report as indented JSON, which ReadReport reads.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteJSON writes the figures as indented JSON.
func (l *Limit) WriteJSON(w io.Writer) error { return writeJSON(w, l) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// ReadReport reads a report that WriteJSON wrote. Its errors are one line, which names the
// file: the file cannot be read, is not JSON, ends too early, is JSON of something else, has no
// runs, or has figures that no load can have.
func ReadReport(file string) (*Report, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err // it names the file
	}
	r, err := parseReport(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", legible(file), err)
	}
	return r, nil
}

var errNoReport = errors.New("this is JSON, but not a report of pixbench run")

func parseReport(raw []byte) (*Report, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, errors.New("the file is empty")
	case !json.Valid(raw) && raw[0] == '{' && raw[len(raw)-1] != '}':
		return nil, errors.New("the file ends before its JSON does: it may be truncated")
	case !json.Valid(raw):
		return nil, errors.New("the file is not JSON")
	case raw[0] != '{':
		return nil, errNoReport
	}
	var r Report
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%w: %s", errNoReport, legible(err.Error()))
	}
	if r.StartedAt.IsZero() {
		return nil, errNoReport
	}
	if len(r.Runs) == 0 {
		return nil, errors.New("the report has no runs")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}

// mostFigure is far above every figure that a load has; bytes and microseconds are the largest.
const mostFigure = 1e18

func (r *Report) check() error {
	if y := r.StartedAt.UTC().Year(); y < 2000 || y > 9999 {
		return fmt.Errorf("the load began in the year %d, which no load can have", y)
	}
	if err := checkFigures("", reflect.ValueOf(*r)); err != nil {
		return err
	}
	if a := r.Audit; a.Found < len(a.Differences) {
		return fmt.Errorf("the audit lists %d differences and says that it found %d", len(a.Differences), a.Found)
	}
	for i, run := range r.Runs {
		if run.Done > run.Sent {
			return fmt.Errorf("runs[%d].done is %d, and .sent %d", i, run.Done, run.Sent)
		}
	}
	for i, n := range r.Neighbours {
		if n.Greedy.Done > n.Greedy.Sent {
			return fmt.Errorf("neighbours[%d].greedy.done is %d, and .sent %d", i, n.Greedy.Done, n.Greedy.Sent)
		}
	}
	return nil
}

// checkFigures returns an error for the first number in v that no load can have: a negative or
// enormous one. name is where v stands in the file, such as .runs[0].latency.
func checkFigures(name string, v reflect.Value) (err error) {
	figure := 0.0
	switch v.Kind() {
	case reflect.Struct:
		for f, value := range v.Fields() {
			if member, _, _ := strings.Cut(f.Tag.Get("json"), ","); member != "" {
				err = cmp.Or(err, checkFigures(name+"."+member, value))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			err = cmp.Or(err, checkFigures(fmt.Sprintf("%s[%d]", name, i), v.Index(i)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			err = checkFigures(name, v.Elem())
		}
	case reflect.Int, reflect.Int64:
		figure = float64(v.Int())
	case reflect.Uint64:
		figure = float64(v.Uint())
	case reflect.Float64:
		figure = v.Float()
	}
	if !(figure >= 0 && figure <= mostFigure) {
		return fmt.Errorf("%s is %v, which no load can have", strings.TrimPrefix(name, "."), v)
	}
	return err
}
