package bench

import (
	"math"
	"slices"
)

// A Spread is where most of the ratios between single seconds of two runs are.
type Spread struct {
	Low, Middle, High float64 // 10th, 50th and 90th percentile
	Known             bool    // false: one of the runs has fewer than three seconds
}

// Bounds of what a spread is computed from.
const (
	fewestSeconds = 3
	mostSamples   = 500 // of a longer run as many seconds are taken, at equal distances in the order of their figures
	wholeSecond   = 0.9 // seconds; a shorter one is what is left at a run's end
)

// steady are the seconds of a run that are compared: without what is left of a second at the
// end, and without the first one where four whole ones or more are left.
func (r *Run) steady() []Second {
	all := r.Series
	if n := len(all); n > 0 && all[n-1].Seconds < wholeSecond {
		all = all[:n-1]
	}
	if len(all) >= 4 {
		all = all[1:]
	}
	return slices.DeleteFunc(slices.Clone(all), func(s Second) bool { return s.Seconds <= 0 })
}

// spread computes the spread of all ratios of a figure of b to one of a. Both are in rising
// order. A ratio of two zeros is 1.
func spread(a, b []float64) Spread {
	if len(a) < fewestSeconds || len(b) < fewestSeconds {
		return Spread{}
	}
	a, b = thinned(a), thinned(b)
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if x == y {
				all = append(all, 1)
			} else {
				all = append(all, y/x) // infinite where only x is 0
			}
		}
	}
	slices.Sort(all)
	n := len(all)
	// Both ends are as far from their side, so that exchanged runs have the inverse spread.
	tenth := n / 10
	middle := math.Sqrt(all[(n-1)/2]) * math.Sqrt(all[n/2])
	return Spread{Low: all[tenth], Middle: middle, High: all[n-1-tenth], Known: true}
}

// thinned takes mostSamples of more figures, the first and the last among them.
func thinned(all []float64) []float64 {
	if len(all) <= mostSamples {
		return all
	}
	some := make([]float64, mostSamples)
	for i := range some {
		some[i] = all[i*(len(all)-1)/(mostSamples-1)]
	}
	return some
}

// around is a spread as wide, in proportion, whose middle is a ratio. A spread without a
// positive finite middle has no proportions and is not known.
func (s Spread) around(ratio float64) Spread {
	if !s.Known || !(s.Middle > 0) || math.IsInf(s.Middle, 0) {
		return Spread{}
	}
	return Spread{s.Low / s.Middle * ratio, ratio, s.High / s.Middle * ratio, true}
}

func (s Spread) word() string {
	switch {
	case !s.Known:
		return TooShort
	case s.Low > 1:
		return Higher
	case s.High < 1:
		return Lower
	}
	return WithinNoise
}
