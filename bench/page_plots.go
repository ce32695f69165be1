package bench

import (
	"html/template"
	"math"
	"slices"
)

// A pagePlot is a plot with what is written above and below it.
type pagePlot struct {
	Name    string // its class in the page
	Title   string
	Keys    []pageKey
	Picture template.HTML // empty: Missing says why
	Missing string
	Note    string
}

// A pageKey names a line of a plot.
type pageKey struct{ Class, Name string }

// shortestDrawn is the shortest part of a second, in seconds, that is drawn. What is left of a
// second at a run's end may be so short that a few answers look like a flood.
const shortestDrawn = 0.2

// plots draws everything there is to draw of a run.
func (r *Run) plots() (all []pagePlot, err error) {
	for _, one := range []func() (pagePlot, plot){r.distributionPlot, r.throughputPlot, r.latencyPlot, r.processorPlot, r.memoryPlot} {
		p, drawn := one()
		if p.Missing == "" {
			if p.Picture, err = drawn.svg(); err != nil {
				return nil, err
			}
			for i, l := range drawn.lines {
				if i < len(p.Keys) {
					p.Keys[i].Class = l.classes() // the keys are in the order of the lines
				}
			}
		}
		all = append(all, p)
	}
	return all, nil
}

const noLatencies = "No request was carried out, and so there are no latencies."

func (r *Run) distributionPlot() (pagePlot, plot) {
	p := pagePlot{Name: "distribution", Title: "Latency by share of the requests"}
	if r.Done == 0 || len(r.Distribution) == 0 {
		p.Missing = noLatencies
		return p, plot{}
	}
	l := plotLine{class: "p50"}
	for _, q := range r.Distribution {
		l.xs = append(l.xs, quantilePlace(q.Q, r.Done))
		l.ys = append(l.ys, log10Micros(float64(q.Latency)))
	}
	low, high := bounds([]plotLine{l})
	last := l.xs[len(l.xs)-1]
	return p, plot{
		about: "latency of the requests that were carried out, against the share of them that took no longer",
		x:     func(s plotSize) plotAxis { return quantileAxis(last, s.xLabels) },
		y:     func(plotSize) plotAxis { return latencyAxis(low, high) },
		lines: []plotLine{l},
	}
}

// overTime is a line with a point in the middle of each second of a run; NaN is no point.
func (r *Run) overTime(class string, of func(Second) float64) plotLine {
	l := plotLine{class: class}
	for _, s := range r.Series {
		if s.Seconds < shortestDrawn {
			continue
		}
		l.xs = append(l.xs, s.At-s.Seconds/2)
		l.ys = append(l.ys, of(s))
	}
	return l
}

// timePlot is a plot of lines over time, of figures which begin at 0.
func (r *Run) timePlot(about, unit string, lines ...plotLine) plot {
	_, high := bounds(lines)
	return plot{
		about: about, lines: lines, x: r.timeAxis(),
		y: func(s plotSize) plotAxis { return linearAxis(unit, high, s.ySteps) },
	}
}

func (r *Run) timeAxis() func(plotSize) plotAxis {
	end := r.Series[len(r.Series)-1].At
	return func(s plotSize) plotAxis { return timeAxis(end, s.xSteps) }
}

func (r *Run) throughputPlot() (pagePlot, plot) {
	p := pagePlot{Name: "throughput", Title: "Requests over time", Keys: []pageKey{{"done", "carried out"}}}
	if !r.drawn() {
		return p.none(), plot{}
	}
	lines := []plotLine{r.overTime("done", func(s Second) float64 { return float64(s.Done) / s.Seconds })}
	if r.failed() > 0 {
		lines = append(lines, r.overTime("errors-line", func(s Second) float64 { return float64(s.Errors) / s.Seconds }))
		p.Keys = append(p.Keys, pageKey{"errors-line", "errors"})
	} else {
		p.Note = "There were no errors. "
	}
	if r.Rate > 0 {
		lines = append(lines, plotLine{
			class: "due", xs: []float64{0, r.Series[len(r.Series)-1].At}, ys: []float64{float64(r.Rate), float64(r.Rate)},
		})
		p.Keys = append(p.Keys, pageKey{"due", "due"})
	}
	p.Note += r.shortNote()
	return p, r.timePlot("requests for each second of the run", "requests/s", lines...)
}

// shortNote says that the end of a run is not drawn, where that is so.
func (r *Run) shortNote() string {
	if n := len(r.Series); n > 0 && r.Series[n-1].Seconds < shortestDrawn {
		return "The last " + showSeconds(r.Series[n-1].Seconds) + " are too short to be drawn."
	}
	return ""
}

// drawn reports whether the run has a second that is long enough to be drawn.
func (r *Run) drawn() bool {
	return slices.ContainsFunc(r.Series, func(s Second) bool { return s.Seconds >= shortestDrawn })
}

func (r *Run) latencyPlot() (pagePlot, plot) {
	p := pagePlot{
		Name: "latency", Title: "Latency over time",
		Keys: []pageKey{{"max", "slowest"}, {"p99", "p99"}, {"p50", "p50"}},
		Note: "A line is interrupted where no request was carried out. " + r.shortNote(),
	}
	if !r.drawn() {
		return p.none(), plot{}
	}
	if r.Done == 0 {
		p.Missing = noLatencies
		return p, plot{}
	}
	lines := []plotLine{
		r.overTime("max", func(s Second) float64 { return s.latency(s.Max) }),
		r.overTime("p99", func(s Second) float64 { return s.latency(s.P99) }),
		r.overTime("p50", func(s Second) float64 { return s.latency(s.P50) }),
	}
	low, high := bounds(lines)
	return p, plot{
		about: "p50, p99 and largest latency for each second of the run", lines: lines, x: r.timeAxis(),
		y: func(plotSize) plotAxis { return latencyAxis(low, high) },
	}
}

func (r *Run) processorPlot() (pagePlot, plot) {
	p := pagePlot{
		Name: "processors", Title: "Processors in use over time",
		Keys: []pageKey{{"engine", "engine"}, {"generator", "load generator"}},
	}
	if !r.drawn() {
		return p.none(), plot{}
	}
	lines := []plotLine{
		r.overTime("engine", func(s Second) float64 { return s.Engine }),
		r.overTime("generator", func(s Second) float64 { return s.Generator }),
	}
	if r.Engine.CPU == 0 {
		lines, p.Keys, p.Note = lines[1:], p.Keys[1:], "The engine's use is not known."
	}
	return p, r.timePlot("processors that the engine and the load generator used", "processors", lines...)
}

func (r *Run) memoryPlot() (pagePlot, plot) {
	p := pagePlot{Name: "memory", Title: "Engine's memory over time", Keys: []pageKey{{"engine", "resident size"}}}
	if !r.drawn() {
		return p.none(), plot{}
	}
	if r.Engine.MaxMemory == 0 {
		p.Missing = "The engine's memory is not known."
		return p, plot{}
	}
	l := r.overTime("engine", func(s Second) float64 {
		if s.Memory == 0 {
			return math.NaN() // the size could not be read
		}
		return float64(s.Memory) / 1e6
	})
	return p, r.timePlot("resident size of the engine", "MB", l)
}

func (p pagePlot) none() pagePlot {
	p.Missing = "The run was too short for figures over time."
	return p
}

// latency is the place of a latency in microseconds on a latencyAxis; NaN where no request was
// carried out.
func (s Second) latency(us int64) float64 {
	if s.Done == 0 {
		return math.NaN()
	}
	return log10Micros(float64(us))
}

// failed is the number of requests that were not carried out.
func (r *Run) failed() (n int) {
	for _, e := range r.Errors {
		n += e.Count
	}
	return n
}
