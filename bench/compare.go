package bench

import (
	"errors"
	"slices"
)

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

// A Ratio compares one figure of two runs.
type Ratio struct {
	Name   string
	A, B   float64
	Show   func(float64) string // shows A or B with its unit
	Ratio  float64              // B : A; 0 where one of them is not known
	Spread Spread
	Word   string // one of the words below
}

// The words for a ratio.
const (
	Higher      = "higher"
	Lower       = "lower"
	WithinNoise = "within noise"
	TooShort    = "too short to tell" // one of the runs has fewer than three seconds
	NotKnown    = "not known"         // one of the runs does not have the figure
)

// Compare compares the runs of two reports that have the same scenario and the same kind of
// load: at a rate, or as fast as requests were answered. If a report has several such runs, the
// first ones are compared with each other, then the second ones, and so on. Compare fails where
// no two runs can be compared.
//
// A figure's spread is the 10th to the 90th percentile of the ratios of one second of B to one
// second of A, over all pairs of seconds. A difference is within noise where the spread includes
// 1. What is left of a second at a run's end is not counted, nor is the first second of a run
// that has four whole ones or more. Each second has a p50, a p99 and a largest latency; p90 and
// p99.9 have none, and their spread is that of p99, moved so that its middle is their own ratio.
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

// A compared figure is one of a run and of each of its seconds.
type compared struct {
	name   string
	show   func(float64) string
	run    func(*Run) float64
	second func(Second) (value float64, known bool)
	near   bool // the second's figure is of a quantile nearby
}

func showBytes(v float64) string { return showSize(uint64(v)) }

func micros(of func(Second) int64) func(Second) (float64, bool) {
	return func(s Second) (float64, bool) { return float64(of(s)), s.Done > 0 }
}

func secondP99(s Second) int64 { return s.P99 }

// comparedFigures are the figures in the order in which they are shown.
var comparedFigures = []compared{
	{
		"requests/s", showDigits, func(r *Run) float64 { return r.PerSecond },
		func(s Second) (float64, bool) { return float64(s.Done) / s.Seconds, true }, false,
	},
	{"p50", showMicros, func(r *Run) float64 { return float64(r.Latency.P50) }, micros(func(s Second) int64 { return s.P50 }), false},
	{"p90", showMicros, func(r *Run) float64 { return float64(r.Latency.P90) }, micros(secondP99), true},
	{"p99", showMicros, func(r *Run) float64 { return float64(r.Latency.P99) }, micros(secondP99), false},
	{"p99.9", showMicros, func(r *Run) float64 { return float64(r.Latency.P999) }, micros(secondP99), true},
	{"slowest", showMicros, func(r *Run) float64 { return float64(r.Latency.Max) }, micros(func(s Second) int64 { return s.Max }), false},
	{
		"engine CPU per request", showMicros, func(r *Run) float64 { return r.Engine.PerDone },
		func(s Second) (float64, bool) { return s.Engine * s.Seconds / float64(max(s.Done, 1)), s.Done > 0 }, false,
	},
	{
		"engine memory", showBytes, func(r *Run) float64 { return float64(r.Engine.MaxMemory) },
		func(s Second) (float64, bool) { return float64(s.Memory), s.Memory > 0 }, false,
	},
}

func ratios(a, b *Run) (all []Ratio) {
	for _, m := range comparedFigures {
		r := Ratio{Name: m.name, A: m.run(a), B: m.run(b), Show: m.show, Word: NotKnown}
		if r.A > 0 && r.B > 0 {
			r.Ratio = r.B / r.A
			r.Spread = spread(m.seconds(a), m.seconds(b))
			if m.near {
				r.Spread = r.Spread.around(r.Ratio)
			}
			r.Word = r.Spread.word()
		}
		all = append(all, r)
	}
	return all
}

// seconds are a run's figures for each second, in rising order.
func (m compared) seconds(r *Run) (all []float64) {
	for _, s := range r.steady() {
		if v, known := m.second(s); known {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}
