package bench

import (
	"math"
	"strings"

	"pixd/httpapi/plot"
)

// The largest numbers of steps of a time axis, and of labels of shares.
const (
	mostTimeSteps = 10
	mostShares    = 8
)

// timeSteps are the distances in seconds that ticks of time may have: parts of minutes and
// hours that people count in.
var timeSteps = []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400}

// timeAxis ends at the end of a load, in seconds, with at most mostTimeSteps. From three
// minutes on its ticks are labelled in minutes.
func timeAxis(end float64) plot.Axis {
	least := 0.98 * end / mostTimeSteps // a load may be a little longer than it was meant to be
	step := plot.RoundStep(least)
	for _, s := range timeSteps {
		if s >= least {
			step = s
			break
		}
	}
	a, unit := plot.Axis{Name: "seconds since the beginning"}, 1.0
	if end >= 180 {
		a.Name, unit = "minutes since the beginning", 60
	}
	for i := 0; float64(i)*step <= end; i++ {
		v := float64(i) * step
		a.Ticks = append(a.Ticks, plot.Tick{Value: v, Label: showExact(math.Round(100*v/unit) / 100)})
	}
	if last := a.Ticks[len(a.Ticks)-1].Value; last < end || last == 0 {
		a.Ticks = append(a.Ticks, plot.Tick{Value: max(end, 0.1)})
	}
	return a
}

// latencyAxis is logarithmic: a latency of n microseconds is at log10(n), and so are the given
// lowest and highest place. It has ticks at the powers of ten and, where these are no more than
// three, at 2 and 5 times each.
func latencyAxis(low, high float64) plot.Axis {
	low, high = math.Floor(low+1e-9), math.Ceil(high-1e-9)
	a := plot.Axis{Name: "latency, logarithmic"}
	for p := low; p <= max(high, low+1); p++ {
		a.Ticks = append(a.Ticks, plot.Tick{Value: p, Label: showPower(p)})
	}
	if len(a.Ticks) > 3 {
		return a
	}
	var fine []plot.Tick
	for i, t := range a.Ticks {
		fine = append(fine, t)
		for _, m := range []float64{2, 5} {
			if i < len(a.Ticks)-1 {
				v := m * math.Pow(10, t.Value)
				fine = append(fine, plot.Tick{Value: math.Log10(v), Label: showTick(v)})
			}
		}
	}
	a.Ticks = fine
	return a
}

// log10Micros is the place of a latency in microseconds on a latencyAxis; less than a
// microsecond is drawn as one.
func log10Micros(us float64) float64 { return math.Log10(max(1, us)) }

func showPower(p float64) string { return showTick(math.Pow(10, p)) }

// showTick shows a round number of microseconds.
func showTick(us float64) string {
	switch {
	case us < 999:
		return showExact(math.Round(us)) + " µs"
	case us < 999e3:
		return showExact(math.Round(us/1e3)) + " ms"
	}
	return showExact(math.Round(us/1e6)) + " s"
}

// quantileAxis has the share q of the requests at log10(1/(1-q)), as HdrHistogram's plots have
// it: 0 at 0, 90 % at 1, 99 % at 2, and so on. It ends at top, or at 2 where that is more. Every
// tick is labelled where there are at most mostShares of them, and otherwise every second one.
func quantileAxis(top float64) plot.Axis {
	a := plot.Axis{Name: "share of the requests that took no longer"}
	top = max(top, 2)
	whole := int(top + 1e-9)
	for i := 0; i <= whole; i++ {
		t := plot.Tick{Value: float64(i)}
		if whole < mostShares || i%2 == 0 {
			t.Label = showNines(i)
		}
		a.Ticks = append(a.Ticks, t)
	}
	if top-float64(whole) > 1e-9 {
		a.Ticks = append(a.Ticks, plot.Tick{Value: top})
	}
	return a
}

// showNines shows the share 1-10^-n in per cent.
func showNines(n int) string {
	switch n {
	case 0:
		return "0"
	case 1:
		return "90 %"
	}
	return strings.TrimSuffix("99."+strings.Repeat("9", n-2), ".") + " %"
}

// quantilePlace is the place of a share q on a quantileAxis. All requests, q = 1, have no place
// there; the slowest of n requests is drawn where one of n is, at 1-1/n.
func quantilePlace(q float64, n int) float64 {
	return min(math.Log10(1/(1-min(q, 1))), math.Log10(float64(max(n, 2))))
}
