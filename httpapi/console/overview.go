package console

import (
	"fmt"
	"html/template"
	"math"

	"github.com/valyala/fasthttp"

	"pixd/httpapi/plot"
)

// picture is a plot of the last hour.
type picture struct {
	Word string
	Keys []pictureKey
	SVG  template.HTML
}

// pictureKey names a line of a plot.
type pictureKey struct{ Class, Word string }

// overview shows the figures of this moment and of the last hour.
func overview(v *visit) error {
	f, _ := v.Live.now()
	all, err := v.pictures()
	v.Data = map[string]any{"At": moment(v.Lang, f.At.String()), "Tiles": tilesOf(f, v.Lang), "Pictures": all}
	return err
}

// drawn is a line of a plot of the last hour.
type drawn struct {
	class, word string
	of          func(Figures) float64
}

// pictures draws the last hour.
func (v *visit) pictures() (all []picture, err error) {
	hour := v.Live.hour()
	for _, p := range []struct {
		word, unit string
		lines      []drawn
	}{
		{"plot_moves", "/s", []drawn{
			{"one", "payments", func(f Figures) float64 { return f.Payments }},
			{"two", "payouts", func(f Figures) float64 { return f.Payouts }},
			{"three", "refunds", func(f Figures) float64 { return f.Refunds }},
		}},
		{"plot_latency", "ms", []drawn{
			{"one", "p50", func(f Figures) float64 { return f.P50 }},
			{"two", "p99", func(f Figures) float64 { return f.P99 }},
			{"three", "commit", func(f Figures) float64 { return f.Commit }},
		}},
		{"plot_waiting", "", []drawn{
			{"one", "settling", func(f Figures) float64 { return f.Settling }},
			{"two", "queued", func(f Figures) float64 { return f.Queued }},
			{"three", "doubt", func(f Figures) float64 { return f.Doubt }},
		}},
		{"plot_hand", "", []drawn{{"one", "in_hand", func(f Figures) float64 { return f.InHand }}, {"two", "approval", func(f Figures) float64 { return f.Approval }}}},
	} {
		one := picture{Word: p.word}
		for _, l := range p.lines {
			one.Keys = append(one.Keys, pictureKey{l.class, l.word})
		}
		if one.SVG, err = v.lines(hour, v.Lang.say(p.word), p.unit, p.lines); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// lines draws some figures of the last hour.
func (v *visit) lines(hour []Figures, about, unit string, lines []drawn) (template.HTML, error) {
	p := plot.Plot{About: about, Width: 520, Height: 200, X: plot.Axis{Name: v.Lang.say("minutes")}}
	for m := -60; m <= 0; m += 15 {
		p.X.Ticks = append(p.X.Ticks, plot.Tick{Value: float64(m), Label: fmt.Sprint(m)})
	}
	for _, d := range lines {
		l := plot.Line{Class: d.class}
		for i, f := range hour {
			if i > 0 && f.At-hour[i-1].At > 3*keepEvery { // nothing was measured
				l.Xs, l.Ys = append(l.Xs, 0), append(l.Ys, math.NaN())
			}
			if ago := float64(f.At-v.Now) / 60_000; ago >= -60 && ago <= 0 {
				l.Xs, l.Ys = append(l.Xs, ago), append(l.Ys, d.of(f))
			}
		}
		p.Lines = append(p.Lines, l)
	}
	_, high := plot.Bounds(p.Lines)
	p.Y = plot.Linear(unit, high, func(n float64) string { return v.Lang.number(n, -1) })
	return p.SVG()
}

// plots sends the plots alone, which the overview reads again and again.
func (c *console) plots(ctx *fasthttp.RequestCtx) {
	v := c.visitor(ctx)
	if v == nil {
		toLogin(ctx)
		return
	}
	v.Page = "overview"
	if err := overview(v); err != nil {
		status, text := v.judge(err)
		refuse(ctx, status, text)
		return
	}
	c.part(ctx, "plots", v)
}
