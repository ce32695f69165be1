// Package plot draws lines in front of two axes as SVG, for pages whose style sheet has the colours.
package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"strings"

	"github.com/go-analyze/charts/chartdraw"         //nolint:misspell // the library has this name
	"github.com/go-analyze/charts/chartdraw/drawing" //nolint:misspell // the library has this name
)

// A Line is one line of a plot. Where a point is missing (NaN) the line is interrupted.
type Line struct {
	Class  string // its name in the page's style sheet, which has its colour and its dashes
	Name   string // beside the plot's title; empty: it has none
	Xs, Ys []float64
}

// An Axis is a list of ticks whose first and last are its ends. The library has a logarithmic
// axis of its own, but it moves every figure by the axis' lowest one before it takes the
// logarithm, and so draws wrong distances; a plot of logarithms has ticks that say what they stand for.
type Axis struct {
	Name  string // with its unit; shown at the axis
	Ticks []Tick
}

// Tick is a place on an axis, and its label.
type Tick = chartdraw.Tick

// plotScale is the number of units in which a pixel is drawn: the library draws at whole units,
// and lines of whole pixels have steps.
const plotScale = 2

// A plot's size in pixels, where it is not given.
const plotWidth, plotHeight = 640, 300

// mostSteps is the largest number of steps of a figure's axis.
const mostSteps = 5

// densePoints is the number of points above which a line is drawn thin and without dashes, which
// would be a blur.
const densePoints = 150

// A Plot is a picture of lines in front of two axes.
type Plot struct {
	About         string // what is drawn, for those who do not see it
	Width, Height int    // in pixels; 0: 640 and 300
	X, Y          Axis
	Lines         []Line
}

// plotInk stands for all colours: the library draws only what has one, but where a class is
// given, it leaves the colour to the style sheet. The grid has no class there.
var (
	plotInk  = drawing.Color{R: 1, G: 1, B: 1, A: 255}
	plotGrid = chartdraw.Style{StrokeColor: drawing.Color{R: 128, G: 128, B: 128, A: 77}, StrokeWidth: plotScale}
)

// SVG draws the plot as an SVG element of a page.
func (p Plot) SVG() (template.HTML, error) {
	x, y := p.X, p.Y
	width, height := cmp.Or(p.Width, plotWidth)*plotScale, cmp.Or(p.Height, plotHeight)*plotScale
	c := chartdraw.Chart{
		Width: width, Height: height,
		DPI: 72 * plotScale, // a point is a pixel
		Background: chartdraw.Style{ClassName: "behind", Padding: chartdraw.Box{
			Top: 30 * plotScale, Left: 8 * plotScale, Right: 24 * plotScale, Bottom: 9 * plotScale, IsSet: true,
		}},
		Canvas: chartdraw.Style{ClassName: "behind"},
		XAxis:  chartdraw.XAxis{Name: x.Name, NameStyle: plotText("x"), Style: plotText("x"), Ticks: x.Ticks, GridMajorStyle: plotGrid, GridMinorStyle: plotGrid},
		// The library's first axis is on the right. It is not shown, but needs a range.
		YAxis:          chartdraw.YAxis{Style: chartdraw.Hidden(), Range: &chartdraw.ContinuousRange{Max: 1}},
		YAxisSecondary: chartdraw.YAxis{Style: plotText("y"), Ticks: y.Ticks, GridMajorStyle: plotGrid, GridMinorStyle: plotGrid},
		Series:         p.series(x.Ticks[0].Value, y.Ticks[0].Value),
		Elements: []chartdraw.Renderable{func(r chartdraw.Renderer, _ chartdraw.Box, _ chartdraw.Style) {
			chartdraw.Draw.Text(r, y.Name, 4*plotScale, 14*plotScale, plotText("name")) // the library has no room for a name of a left axis
		}},
	}
	var b bytes.Buffer
	if err := c.Render(chartdraw.SVG, &b); err != nil {
		return "", fmt.Errorf("plot of %s: %w", p.About, err)
	}
	_, inner, _ := strings.Cut(b.String(), ">") // the element itself is written anew, with a description
	inner = ownStyle.ReplaceAllStringFunc(inner, func(style string) string {
		if strings.Contains(style, "stroke:none") {
			return ` class="behind"`
		}
		return ` class="grid"`
	})
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s`,
		width, height, html.EscapeString(p.About), inner)), nil // the library has escaped all texts in it
}

// ownStyle is a style that an element has in itself: the grid's, or that of an axis that is not shown. Pages do not
// allow such styles.
var ownStyle = regexp.MustCompile(` style="[^"]*"`)

// series are the parts of all lines. Where there are none it is a line without a colour at the
// axes' beginnings, because the library refuses to draw axes alone.
func (p Plot) series(x, y float64) (all []chartdraw.Series) {
	for _, l := range p.Lines {
		all = append(all, l.parts()...)
	}
	if len(all) == 0 {
		all = []chartdraw.Series{chartdraw.ContinuousSeries{
			XValues: []float64{x}, YValues: []float64{y}, YAxis: chartdraw.YAxisSecondary, Style: chartdraw.Style{ClassName: "behind"},
		}}
	}
	return all
}

// plotText is the style of an axis and its labels; the size is for the library, which computes
// the room that they need.
func plotText(class string) chartdraw.Style {
	return chartdraw.Style{
		ClassName: "axis " + class, StrokeColor: plotInk, StrokeWidth: 1,
		FontStyle: chartdraw.FontStyle{FontSize: 12, FontColor: plotInk},
	}
}

// parts cuts a line where points are missing. A point between two missing ones is drawn as a
// dot, because a line of one point would not be seen.
func (l Line) parts() (all []chartdraw.Series) {
	from := 0
	for i := 0; i <= len(l.Xs); i++ {
		if i < len(l.Xs) && Finite(l.Xs[i]) && Finite(l.Ys[i]) {
			continue
		}
		if i > from {
			all = append(all, l.part(from, i))
		}
		from = i + 1
	}
	return all
}

func (l Line) part(from, to int) chartdraw.Series {
	s := chartdraw.ContinuousSeries{
		XValues: l.Xs[from:to], YValues: l.Ys[from:to], YAxis: chartdraw.YAxisSecondary,
		Style: chartdraw.Style{ClassName: "line " + l.Classes(), StrokeColor: plotInk, StrokeWidth: 2},
	}
	if to-from == 1 {
		s.Style.DotColor, s.Style.DotWidth = plotInk, 3*plotScale
	}
	return s
}

// Classes are the names of the line's styles.
func (l Line) Classes() string {
	if len(l.Xs) > densePoints {
		return l.Class + " dense"
	}
	return l.Class
}

// Finite reports whether a figure is one: no NaN and no infinity.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Bounds are the smallest and the largest finite ordinate of the lines; both 0 where there is
// none.
func Bounds(lines []Line) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, y := range l.Ys {
			if Finite(y) {
				low, high = min(low, y), max(high, y)
			}
		}
	}
	if low > high {
		return 0, 0
	}
	return low, high
}

// Linear returns an axis that begins at 0 and ends at the first of its round steps that is not below top. What is
// below 0.00001 has no label of its own and is drawn on an axis to 1.
func Linear(name string, top float64, label func(float64) string) Axis {
	step := 1.0
	if top >= 1e-5 {
		step = RoundStep(top / mostSteps)
	}
	a := Axis{Name: name}
	for i := 0; ; i++ {
		v := float64(i) * step
		a.Ticks = append(a.Ticks, Tick{Value: v, Label: label(v)})
		if i > 0 && v >= top*(1-1e-9) {
			return a
		}
	}
}

// RoundStep is the smallest of 1, 2, 2.5 and 5 times a power of ten that is not below least;
// 1 for 0.
func RoundStep(least float64) float64 {
	if !(least > 0) || math.IsInf(least, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= least*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}
