package bench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

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

// Bounds of what a report may say. They are far above all that a load has: beyond them a figure
// was damaged or made up.
const (
	mostCount   = 1e15 // requests, accounts, connections
	mostSeconds = 1e8  // three years
	mostMicros  = 1e6 * mostSeconds
	mostCores   = 1e6
	mostBytes   = 1 << 60
)

// A figure is a number of a report, with its name and its largest value.
type figure struct {
	name        string
	value, most float64
}

// outside returns an error that names the first figure which is negative, above its bound or
// not a number.
func outside(all ...figure) error {
	for _, f := range all {
		if !(f.value >= 0 && f.value <= f.most) {
			return fmt.Errorf("%s is %v, which no load can have", f.name, f.value)
		}
	}
	return nil
}

func (r *Report) check() error {
	a := r.Audit
	if y := r.StartedAt.UTC().Year(); y < 2000 || y > 9999 {
		return fmt.Errorf("the load began in the year %d, which no load can have", y)
	}
	err := outside(
		figure{"the machine's number of processors", float64(r.Machine.Cores), mostCores},
		figure{"the machine's memory", float64(r.Machine.Memory), mostBytes},
		figure{"the audit's number of answers", float64(a.Answers), mostCount},
		figure{"the audit's number of accounts", float64(a.Accounts), mostCount},
		figure{"the audit's number of unknown outcomes", float64(a.Unknown), mostCount},
		figure{"the audit's number of unsettled transactions", float64(a.InFlight), mostCount},
		figure{"the audit's length", a.Seconds, mostSeconds},
		figure{"the audit's number of differences", float64(a.Found), mostCount},
	)
	if err != nil {
		return err
	}
	for _, e := range a.Statuses {
		if err := outside(figure{"the audit's number of transactions in a status", float64(e.Count), mostCount}); err != nil {
			return err
		}
	}
	if a.Found < len(a.Differences) {
		return fmt.Errorf("the audit lists %d differences and says that it found %d", len(a.Differences), a.Found)
	}
	for i := range r.Neighbours {
		if err := r.Neighbours[i].check(); err != nil {
			return fmt.Errorf("neighbour %d (%s): %w", i+1, legible(r.Neighbours[i].Way), err)
		}
	}
	for i := range r.Runs {
		if err := r.Runs[i].check(); err != nil {
			return fmt.Errorf("run %d (%s): %w", i+1, legible(r.Runs[i].Scenario), err)
		}
	}
	return nil
}

func (n *Neighbour) check() error {
	err := outside(
		figure{"the ratio of requests", n.Ratio, mostMicros},
		figure{"the ratio of webhooks", n.Told, mostMicros},
		figure{"the number of requests of the greedy account", float64(n.Greedy.Sent), mostCount},
		figure{"the number of them that were carried out", float64(n.Greedy.Done), float64(n.Greedy.Sent)},
		figure{"the number of webhooks that did not arrive", float64(n.Alone.Untold), mostCount},
		figure{"the number of webhooks that did not arrive", float64(n.Beside.Untold), mostCount},
	)
	for _, e := range slices.Concat(n.Greedy.Errors, n.Alone.Errors, n.Beside.Errors) {
		err = cmp.Or(err, outside(figure{"the number of errors", float64(e.Count), mostCount}))
	}
	return cmp.Or(err, n.Alone.Requests.check(), n.Alone.Webhooks.check(), n.Beside.Requests.check(), n.Beside.Webhooks.check())
}

func (r *Run) check() error {
	err := outside(
		figure{"the rate", float64(r.Rate), mostCount},
		figure{"the number of connections", float64(r.Connections), mostCount},
		figure{"the number of accounts", float64(r.Accounts), mostCount},
		figure{"the number of addresses", float64(r.Addresses), mostCount},
		figure{"the length", r.Seconds, mostSeconds},
		figure{"the number of requests sent", float64(r.Sent), mostCount},
		figure{"the number of requests carried out", float64(r.Done), float64(r.Sent)},
		figure{"the number of requests per second", r.PerSecond, mostCount},
		figure{"the share of requests signed before", r.Prepared, 1},
	)
	if r.Stolen != nil {
		err = cmp.Or(err, outside(figure{"the share of processor time that other machines had", *r.Stolen, 1}))
	}
	for _, e := range r.Errors {
		err = cmp.Or(err, outside(figure{"the number of errors", float64(e.Count), mostCount}))
	}
	return cmp.Or(err, r.Latency.check(), r.Refused.check(), r.Syncs.check(), r.Engine.check("engine"), r.Generator.check("generator"),
		checkDistribution(r.Distribution), checkSeries(r.Series))
}

// about is the largest value of a quantile below another one: a histogram may round either, by
// less than a tenth.
func about(us int64) float64 { return min(1.1*float64(us)+1, mostMicros) }

func (l Latency) check() error {
	return outside(
		figure{"the p50", float64(l.P50), about(l.P90)},
		figure{"the p90", float64(l.P90), about(l.P99)},
		figure{"the p99", float64(l.P99), about(l.P999)},
		figure{"the p99.9", float64(l.P999), about(l.Max)},
		figure{"the largest latency", float64(l.Max), mostMicros},
	)
}

func (u Usage) check(of string) error {
	return outside(
		figure{"the " + of + "'s processor time", u.CPU, mostCores * mostSeconds},
		figure{"the " + of + "'s number of processors", u.Cores, mostCores},
		figure{"the " + of + "'s processor time per request", u.PerDone, mostMicros * mostCores},
		figure{"the " + of + "'s memory", float64(u.MaxMemory), mostBytes},
	)
}

func checkDistribution(all []Quantile) error {
	var before Quantile
	for i, q := range all {
		name := fmt.Sprintf("point %d of the distribution", i+1)
		if err := outside(figure{name, q.Q, 1}, figure{name, float64(q.Latency), mostMicros}); err != nil {
			return err
		}
		if q.Q < before.Q || q.Latency < before.Latency {
			return fmt.Errorf("%s is below the one before it", name)
		}
		before = q
	}
	return nil
}

func checkSeries(all []Second) error {
	end := 0.0
	for i, s := range all {
		name := fmt.Sprintf("of second %d ", i+1)
		err := outside(
			figure{name + "the end", s.At, mostSeconds}, figure{name + "the length", s.Seconds, s.At + 0.1},
			figure{name + "the number of requests carried out", float64(s.Done), mostCount},
			figure{name + "the number of errors", float64(s.Errors), mostCount},
			figure{name + "the p50", float64(s.P50), about(s.P99)}, figure{name + "the p99", float64(s.P99), about(s.Max)},
			figure{name + "the largest latency", float64(s.Max), mostMicros},
			figure{name + "the engine's use", s.Engine, mostCores}, figure{name + "the generator's use", s.Generator, mostCores},
			figure{name + "the memory", float64(s.Memory), mostBytes},
		)
		if err != nil {
			return err
		}
		if s.At < end {
			return fmt.Errorf("second %d ends before the one before it", i+1)
		}
		end = s.At
	}
	return nil
}
