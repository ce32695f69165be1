package bench

import "errors"

// A Comparison says how two reports differ, run by run.
type Comparison struct {
	A, B  *Report
	Pairs []Pair
	// OnlyA and OnlyB name the loads that one of the reports has alone.
	OnlyA, OnlyB []string
	// Differ has a line for each condition, such as the machine, that was not the same in both
	// reports. Where there is one, ratios say less about the engine.
	Differ []string
}

// A Pair is one load in two reports.
type Pair struct {
	Load    string // scenario and kind of load
	A, B    *Run
	Figures []Ratio
}

// A Ratio compares one figure of two runs. A figure of 0 is not known.
type Ratio struct {
	Name  string
	A, B  float64
	Show  func(float64) string // shows A or B with its unit
	Ratio float64              // B : A; 0 where one of them is not known
}

// Compare compares the runs of two reports that have the same scenario and the same kind of
// load: at a rate, or as fast as requests were answered. If a report has several such runs, the
// first ones are compared with each other, then the second ones, and so on. Compare fails where
// no two runs can be compared.
func Compare(a, b *Report) (*Comparison, error) {
	c := &Comparison{A: a, B: b}
	taken := map[*Run]bool{}
	for i := range a.Runs {
		one := &a.Runs[i]
		other := one.counterpart(b.Runs, taken)
		if other == nil {
			c.OnlyA = append(c.OnlyA, one.kind())
			continue
		}
		taken[other] = true
		c.Pairs = append(c.Pairs, Pair{Load: one.kind(), A: one, B: other, Figures: ratios(one, other)})
	}
	for i := range b.Runs {
		if !taken[&b.Runs[i]] {
			c.OnlyB = append(c.OnlyB, b.Runs[i].kind())
		}
	}
	if len(c.Pairs) == 0 {
		return nil, errors.New("the reports have no scenario in common that was loaded in the same way")
	}
	c.Differ = differences(c)
	return c, nil
}

// counterpart is the first run with the same scenario and kind of load that is not taken.
func (r *Run) counterpart(runs []Run, taken map[*Run]bool) *Run {
	for i := range runs {
		o := &runs[i]
		if !taken[o] && o.Scenario == r.Scenario && (o.Rate > 0) == (r.Rate > 0) {
			return o
		}
	}
	return nil
}

// kind names a run's scenario and its kind of load.
func (r *Run) kind() string {
	if r.Rate > 0 {
		return legible(r.Scenario) + ", at a rate"
	}
	return legible(r.Scenario) + ", as fast as answered"
}

func showBytes(v float64) string { return showSize(uint64(v)) }

// comparedFigures are the figures in the order in which they are shown.
var comparedFigures = []struct {
	name string
	show func(float64) string
	of   func(*Run) float64
}{
	{"requests/s", showDigits, func(r *Run) float64 { return r.PerSecond }},
	{"p50", showMicros, func(r *Run) float64 { return float64(r.Latency.P50) }},
	{"p90", showMicros, func(r *Run) float64 { return float64(r.Latency.P90) }},
	{"p99", showMicros, func(r *Run) float64 { return float64(r.Latency.P99) }},
	{"p99.9", showMicros, func(r *Run) float64 { return float64(r.Latency.P999) }},
	{"slowest", showMicros, func(r *Run) float64 { return float64(r.Latency.Max) }},
	{"engine CPU per request", showMicros, func(r *Run) float64 { return r.Engine.PerDone }},
	{"engine memory", showBytes, func(r *Run) float64 { return float64(r.Engine.MaxMemory) }},
}

func ratios(a, b *Run) (all []Ratio) {
	for _, f := range comparedFigures {
		r := Ratio{Name: f.name, A: f.of(a), B: f.of(b), Show: f.show}
		if r.A > 0 && r.B > 0 {
			r.Ratio = r.B / r.A
		}
		all = append(all, r)
	}
	return all
}
