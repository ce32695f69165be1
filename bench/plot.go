package bench

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/go-analyze/charts/chartdraw"         //nolint:misspell // the library has this name
	"github.com/go-analyze/charts/chartdraw/drawing" //nolint:misspell // the library has this name
)

// A plotLine is one line of a plot. Where a point is missing (NaN) the line is interrupted.
type plotLine struct {
	class  string // its name in the page's style sheet, which has its colour and its dashes
	name   string // beside the plot's title; empty: it has none
	xs, ys []float64
}

// plotScale is the number of units in which a pixel is drawn: the library draws at whole units,
// and lines of whole pixels have steps.
const plotScale = 2

// A plot's size in pixels.
const plotWidth, plotHeight = 640, 300

// The largest numbers of steps of a figure's axis and of a time axis, and of labels of shares.
const (
	mostSteps     = 5
	mostTimeSteps = 10
	mostShares    = 8
)

// densePoints is the number of points above which a line is drawn thin and without dashes, which
// would be a blur.
const densePoints = 150

// A plot is a picture of lines in front of two axes.
type plot struct {
	about string // what is drawn, for those who do not see it
	x, y  plotAxis
	lines []plotLine
}

// plotInk stands for all colours: the library draws only what has one, but where a class is
// given, it leaves the colour to the style sheet. grid has no class there; its grey is legible
// in front of black and of white.
var (
	plotInk  = drawing.Color{R: 1, G: 1, B: 1, A: 255}
	plotGrid = chartdraw.Style{StrokeColor: drawing.Color{R: 128, G: 128, B: 128, A: 77}, StrokeWidth: plotScale}
)

// svg draws the plot as an SVG element of a page.
func (p plot) svg() (template.HTML, error) {
	x, y := p.x, p.y
	c := chartdraw.Chart{
		Width: plotWidth * plotScale, Height: plotHeight * plotScale,
		DPI: 72 * plotScale, // a point is a pixel
		Background: chartdraw.Style{ClassName: "behind", Padding: chartdraw.Box{
			Top: 30 * plotScale, Left: 8 * plotScale, Right: 24 * plotScale, Bottom: 9 * plotScale, IsSet: true,
		}},
		Canvas: chartdraw.Style{ClassName: "behind"},
		XAxis:  chartdraw.XAxis{Name: x.name, NameStyle: plotText("x"), Style: plotText("x"), Ticks: x.ticks, GridMajorStyle: plotGrid, GridMinorStyle: plotGrid},
		// The library's first axis is on the right. It is not shown, but needs a range.
		YAxis:          chartdraw.YAxis{Style: chartdraw.Hidden(), Range: &chartdraw.ContinuousRange{Max: 1}},
		YAxisSecondary: chartdraw.YAxis{Style: plotText("y"), Ticks: y.ticks, GridMajorStyle: plotGrid, GridMinorStyle: plotGrid},
		Series:         p.series(x.ticks[0].Value, y.ticks[0].Value),
		Elements: []chartdraw.Renderable{func(r chartdraw.Renderer, _ chartdraw.Box, _ chartdraw.Style) {
			chartdraw.Draw.Text(r, y.name, 4*plotScale, 14*plotScale, plotText("name")) // the library has no room for a name of a left axis
		}},
	}
	var b bytes.Buffer
	if err := c.Render(chartdraw.SVG, &b); err != nil {
		return "", fmt.Errorf("plot of %s: %w", p.about, err)
	}
	_, inner, _ := strings.Cut(b.String(), ">") // the element itself is written anew, with a description
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s`,
		plotWidth*plotScale, plotHeight*plotScale, html.EscapeString(p.about), inner)), nil // the library has escaped all texts in it
}

// series are the parts of all lines. Where there are none it is a line without a colour at the
// axes' beginnings, because the library refuses to draw axes alone.
func (p plot) series(x, y float64) (all []chartdraw.Series) {
	for _, l := range p.lines {
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
func (l plotLine) parts() (all []chartdraw.Series) {
	from := 0
	for i := 0; i <= len(l.xs); i++ {
		if i < len(l.xs) && finite(l.xs[i]) && finite(l.ys[i]) {
			continue
		}
		if i > from {
			all = append(all, l.part(from, i))
		}
		from = i + 1
	}
	return all
}

func (l plotLine) part(from, to int) chartdraw.Series {
	s := chartdraw.ContinuousSeries{
		XValues: l.xs[from:to], YValues: l.ys[from:to], YAxis: chartdraw.YAxisSecondary,
		Style: chartdraw.Style{ClassName: "line " + l.classes(), StrokeColor: plotInk, StrokeWidth: 2},
	}
	if to-from == 1 {
		s.Style.DotColor, s.Style.DotWidth = plotInk, 3*plotScale
	}
	return s
}

// classes are the names of the line's styles.
func (l plotLine) classes() string {
	if len(l.xs) > densePoints {
		return l.class + " dense"
	}
	return l.class
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// bounds are the smallest and the largest finite ordinate of the lines; both 0 where there is
// none.
func bounds(lines []plotLine) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, y := range l.ys {
			if finite(y) {
				low, high = min(low, y), max(high, y)
			}
		}
	}
	if low > high {
		return 0, 0
	}
	return low, high
}
