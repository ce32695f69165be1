package bench

import (
	"html/template"
	"math"
	"slices"

	"pixd/httpapi/plot"
)

// A pagePlot is a plot with what is written above and below it.
type pagePlot struct {
	Name    string // its class in the page
	Title   string
	Keys    []pageKey
	Picture template.HTML // empty: Missing says why
	Missing string
	Note    string

	plot plot.Plot // what Picture shows
}

// A pageKey names a line of a plot.
type pageKey struct{ Class, Name string }

// shortestDrawn is the shortest part of a second, in seconds, that is drawn. What is left of a
// second at a run's end may be so short that a few answers look like a flood.
const shortestDrawn = 0.2

// plots draws everything there is to draw of a run.
func (r *Run) plots() (all []pagePlot, err error) {
	all = []pagePlot{r.distributionPlot(), r.throughputPlot(), r.latencyPlot(), r.processorPlot(), r.memoryPlot()}
	for i := range all {
		p := &all[i]
		if i > 0 && !r.drawn() {
			p.Missing = "The run was too short for figures over time."
		}
		if p.Missing != "" {
			continue
		}
		if p.Picture, err = p.plot.SVG(); err != nil {
			return nil, err
		}
		for _, l := range p.plot.Lines {
			if l.Name != "" {
				p.Keys = append(p.Keys, pageKey{l.Classes(), l.Name})
			}
		}
	}
	return all, nil
}

const noLatencies = "No request was carried out, and so there are no latencies."

func (r *Run) distributionPlot() pagePlot {
	p := pagePlot{Name: "distribution", Title: "Latency by share of the requests"}
	if r.Done == 0 || len(r.Distribution) == 0 {
		p.Missing = noLatencies
		return p
	}
	l := plot.Line{Class: "p50"}
	for _, q := range r.Distribution {
		l.Xs = append(l.Xs, quantilePlace(q.Q, r.Done))
		l.Ys = append(l.Ys, log10Micros(float64(q.Latency)))
	}
	low, high := plot.Bounds([]plot.Line{l})
	p.plot = plot.Plot{
		About: "latency of the requests that were carried out, against the share of them that took no longer",
		X:     quantileAxis(l.Xs[len(l.Xs)-1]),
		Y:     latencyAxis(low, high),
		Lines: []plot.Line{l},
	}
	return p
}

// overTime is a line with a point in the middle of each second of a run; NaN is no point.
func (r *Run) overTime(class, name string, of func(Second) float64) plot.Line {
	l := plot.Line{Class: class, Name: name}
	for _, s := range r.Series {
		if s.Seconds < shortestDrawn {
			continue
		}
		l.Xs = append(l.Xs, s.At-s.Seconds/2)
		l.Ys = append(l.Ys, of(s))
	}
	return l
}

// timePlot is a plot of lines over time, of figures which begin at 0.
func (r *Run) timePlot(about, unit string, lines ...plot.Line) plot.Plot {
	_, high := plot.Bounds(lines)
	return plot.Plot{About: about, Lines: lines, X: timeAxis(r.lastSecond().At), Y: plot.Linear(unit, high, showExact)}
}

// lastSecond is the run's last second, or what was left of it; zero where the run has none.
func (r *Run) lastSecond() (last Second) {
	if n := len(r.Series); n > 0 {
		last = r.Series[n-1]
	}
	return last
}

func (r *Run) throughputPlot() pagePlot {
	p := pagePlot{Name: "throughput", Title: "Requests over time"}
	lines := []plot.Line{r.overTime("done", "carried out", func(s Second) float64 { return float64(s.Done) / s.Seconds })}
	if r.failed() > 0 {
		lines = append(lines, r.overTime("errors-line", "errors", func(s Second) float64 { return float64(s.Errors) / s.Seconds }))
	} else {
		p.Note = "There were no errors. "
	}
	if r.Rate > 0 {
		lines = append(lines, plot.Line{
			Class: "due", Name: "due", Xs: []float64{0, r.lastSecond().At}, Ys: []float64{float64(r.Rate), float64(r.Rate)},
		})
	}
	p.Note += r.shortNote()
	p.plot = r.timePlot("requests for each second of the run", "requests/s", lines...)
	return p
}

// shortNote says that the end of a run is not drawn, where that is so.
func (r *Run) shortNote() string {
	if last := r.lastSecond(); len(r.Series) > 0 && last.Seconds < shortestDrawn {
		return "The last " + showSeconds(last.Seconds) + " are too short to be drawn."
	}
	return ""
}

// drawn reports whether the run has a second that is long enough to be drawn.
func (r *Run) drawn() bool {
	return slices.ContainsFunc(r.Series, func(s Second) bool { return s.Seconds >= shortestDrawn })
}

func (r *Run) latencyPlot() pagePlot {
	p := pagePlot{
		Name: "latency", Title: "Latency over time",
		Note: "A line is interrupted where no request was carried out. " + r.shortNote(),
	}
	if r.Done == 0 {
		p.Missing = noLatencies
		return p
	}
	lines := []plot.Line{
		r.overTime("max", "slowest", func(s Second) float64 { return s.latency(s.Max) }),
		r.overTime("p99", "p99", func(s Second) float64 { return s.latency(s.P99) }),
		r.overTime("p50", "p50", func(s Second) float64 { return s.latency(s.P50) }),
	}
	low, high := plot.Bounds(lines)
	p.plot = plot.Plot{
		About: "p50, p99 and largest latency for each second of the run", Lines: lines, X: timeAxis(r.lastSecond().At), Y: latencyAxis(low, high),
	}
	return p
}

func (r *Run) processorPlot() pagePlot {
	p := pagePlot{Name: "processors", Title: "Processors in use over time"}
	lines := []plot.Line{
		r.overTime("engine", "engine", func(s Second) float64 { return s.Engine }),
		r.overTime("generator", "load generator", func(s Second) float64 { return s.Generator }),
	}
	if r.Engine.CPU == 0 {
		lines, p.Note = lines[1:], "The engine's use is not known."
	}
	p.plot = r.timePlot("processors that the engine and the load generator used", "processors", lines...)
	return p
}

func (r *Run) memoryPlot() pagePlot {
	p := pagePlot{Name: "memory", Title: "Engine's memory over time"}
	if r.Engine.MaxMemory == 0 {
		p.Missing = "The engine's memory is not known."
		return p
	}
	p.plot = r.timePlot("resident size of the engine", "MB", r.overTime("engine", "resident size", func(s Second) float64 {
		if s.Memory == 0 {
			return math.NaN() // the size could not be read
		}
		return float64(s.Memory) / 1e6
	}))
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
