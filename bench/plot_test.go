package bench

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A drawn plot is what a page's SVG shows: its frame, and the points of each line, in the
// plot's units.
type drawn struct {
	left, right, top, bottom float64
	lines                    map[string][][2]float64 // of all parts of a line, dots among them
	parts                    map[string]int
	labels                   []string
}

var coordinates = regexp.MustCompile(`[ML] (-?\d+) (-?\d+)`)

// read finds a plot of the first run among a page's elements.
func read(t *testing.T, all []element, name string) *drawn {
	t.Helper()
	d := &drawn{lines: map[string][][2]float64{}, parts: map[string]int{}}
	axes := map[string][][2]float64{}
	for _, e := range all {
		if !strings.Contains(e.path, "run-1 ") || !strings.Contains(e.path, "figure.plot-"+name+" ") || !strings.HasSuffix(e.path, "svg.") {
			continue
		}
		class := strings.Fields(e.attrs["class"] + " none none")
		points := pointsOf(t, e)
		switch {
		case e.name == "text":
			d.labels = append(d.labels, e.text)
		case class[0] == "line" && (e.name == "circle" || len(points) > 1):
			d.lines[class[1]] = append(d.lines[class[1]], points...)
			d.parts[class[1]]++
		case class[0] == "axis" && axes[class[1]] == nil:
			axes[class[1]] = points // the first path of an axis is its line
		}
	}
	if axes["x"] == nil || axes["y"] == nil {
		t.Fatalf("no plot %s", name)
	}
	d.left, d.bottom = axes["x"][0][0], axes["x"][0][1]
	d.right, d.top = axes["x"][1][0], axes["y"][1][1]
	return d
}

func pointsOf(t *testing.T, e element) (points [][2]float64) {
	t.Helper()
	found := coordinates.FindAllStringSubmatch(e.attrs["d"], -1)
	if e.name == "circle" {
		found = [][]string{{"", e.attrs["cx"], e.attrs["cy"]}}
	}
	for _, f := range found {
		x, err := strconv.ParseFloat(f[1], 64)
		y, err2 := strconv.ParseFloat(f[2], 64)
		if err != nil || err2 != nil {
			t.Fatal(f)
		}
		points = append(points, [2]float64{x, y})
	}
	return points
}

// expect checks that a line has exactly the given points, within a unit; the ends of the axes
// stand at the frame.
func (d *drawn) expect(t *testing.T, line string, x, y [2]float64, want [][2]float64) {
	t.Helper()
	got := d.lines[line]
	if len(got) != len(want) {
		t.Fatalf("%s: %d points, want %d", line, len(got), len(want))
	}
	for i, w := range want {
		px := d.left + (w[0]-x[0])/(x[1]-x[0])*(d.right-d.left)
		py := d.bottom - (w[1]-y[0])/(y[1]-y[0])*(d.bottom-d.top)
		if math.Abs(got[i][0]-px) > 1.01 || math.Abs(got[i][1]-py) > 1.01 {
			t.Fatalf("%s: point %d is at %v, want (%.1f, %.1f)", line, i, got[i], px, py)
		}
	}
}

// knownReport has one run of four seconds and a rest that is long enough to be drawn; in its
// third second nothing was answered.
func knownReport() *Report {
	r := Run{
		Scenario: "balance", Rate: 1500, Seconds: 4.5, Sent: 5000, Done: 4500, Errors: []Count{{"503", 500}},
		Latency: Latency{200, 400, 800, 2000, 90000}, Engine: Usage{CPU: 3, MaxMemory: 300e6},
		Distribution: []Quantile{{0, 100}, {0.5, 200}, {0.9, 400}, {0.99, 800}, {0.999, 2000}, {1, 90000}},
		Series: []Second{
			{1, 1, 1000, 100, 200, 900, 20000, 0.5, 100e6, 0.1},
			{2, 1, 1200, 200, 250, 1000, 30000, 0.6, 150e6, 0.2},
			{3, 1, 0, 0, 0, 0, 0, 0.1, 160e6, 0.05},
			{4, 1, 1500, 150, 220, 5000, 90000, 0.8, 200e6, 0.3},
			{4.5, 0.5, 800, 50, 210, 800, 10000, 0.4, 300e6, 0.2},
		},
	}
	return sampleReport(r)
}

// TestPlotPoints checks the place of every point of every plot of a known run.
func TestPlotPoints(t *testing.T) {
	_, all := page(t, knownReport())
	time := [2]float64{0, 4.5}
	latency := func(us ...float64) (points [][2]float64) {
		for i, at := range []float64{0.5, 1.5, 3.5, 4.25} {
			points = append(points, [2]float64{at, math.Log10(us[i])})
		}
		return points
	}
	over := func(vs ...float64) (points [][2]float64) {
		for i, at := range []float64{0.5, 1.5, 2.5, 3.5, 4.25} {
			points = append(points, [2]float64{at, vs[i]})
		}
		return points
	}
	d := read(t, all, "latency")
	d.expect(t, "p50", time, [2]float64{2, 5}, latency(200, 250, 220, 210))
	d.expect(t, "p99", time, [2]float64{2, 5}, latency(900, 1000, 5000, 800))
	d.expect(t, "max", time, [2]float64{2, 5}, latency(20000, 30000, 90000, 10000))
	if d.parts["p50"] != 2 {
		t.Errorf("p50 is not interrupted: %d parts", d.parts["p50"])
	}

	d = read(t, all, "throughput")
	d.expect(t, "done", time, [2]float64{0, 2000}, over(1000, 1200, 0, 1500, 1600))
	d.expect(t, "errors-line", time, [2]float64{0, 2000}, over(100, 200, 0, 150, 100))
	d.expect(t, "due", time, [2]float64{0, 2000}, [][2]float64{{0, 1500}, {4.5, 1500}})

	d = read(t, all, "processors")
	d.expect(t, "engine", time, [2]float64{0, 0.8}, over(0.5, 0.6, 0.1, 0.8, 0.4))
	d.expect(t, "generator", time, [2]float64{0, 0.8}, over(0.1, 0.2, 0.05, 0.3, 0.2))

	d = read(t, all, "memory")
	d.expect(t, "engine", time, [2]float64{0, 300}, over(100, 150, 160, 200, 300))

	d = read(t, all, "distribution")
	last := math.Log10(4500)
	d.expect(t, "p50", [2]float64{0, last}, [2]float64{2, 5}, [][2]float64{
		{0, 2}, {math.Log10(2), math.Log10(200)}, {1, math.Log10(400)}, {2, math.Log10(800)}, {3, math.Log10(2000)}, {last, math.Log10(90000)},
	})
}

// TestPlotLabels checks the axes' names, units and ticks.
func TestPlotLabels(t *testing.T) {
	_, all := page(t, knownReport())
	for name, want := range map[string]string{
		"distribution": "0|90 %|99 %|99.9 %|share of the requests that took no longer|100 µs|1 ms|10 ms|100 ms|latency, logarithmic",
		"throughput":   "0|0.5|1|1.5|2|2.5|3|3.5|4|4.5|seconds since the beginning|0|500|1,000|1,500|2,000|requests/s",
		"latency":      "0|0.5|1|1.5|2|2.5|3|3.5|4|4.5|seconds since the beginning|100 µs|1 ms|10 ms|100 ms|latency, logarithmic",
		"processors":   "0|0.5|1|1.5|2|2.5|3|3.5|4|4.5|seconds since the beginning|0|0.2|0.4|0.6|0.8|processors",
		"memory":       "0|0.5|1|1.5|2|2.5|3|3.5|4|4.5|seconds since the beginning|0|100|200|300|MB",
	} {
		if got := strings.Join(read(t, all, name).labels, "|"); got != want {
			t.Errorf("%s:\n%s\n%s", name, got, want)
		}
	}
	_, all = page(t, samples()["minutes"])
	got := strings.Join(read(t, all, "memory").labels, "|")
	if want := "0|1|2|3|4|5|6|7|8|9|10|minutes since the beginning|0|100|200|300|400|500|MB"; got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

// TestPlotsPresent checks that each run of each sample has its five plots, or says why not.
func TestPlotsPresent(t *testing.T) {
	for name, r := range samples() {
		_, all := page(t, r)
		for i := range r.Runs {
			for _, plot := range []string{"distribution", "throughput", "latency", "processors", "memory"} {
				path := fmt.Sprintf("section.runrun-%d div.plots figure.plot-%s", i+1, plot)
				pictures, missing := 0, 0
				for _, e := range all {
					if strings.HasSuffix(e.path, path) && e.name == "svg" {
						pictures++
					} else if strings.HasSuffix(e.path, path) && e.is("missing") && e.text != "" {
						missing++
					}
				}
				bare := name == "bare" || name == "silent" && slices.Contains([]string{"distribution", "latency", "memory"}, plot)
				if pictures != 1 && !bare || bare && (missing != 1 || pictures != 0) {
					t.Errorf("%s, run %d, %s: %d pictures, %d reasons", name, i+1, plot, pictures, missing)
				}
			}
		}
	}
}

// TestPlotWithoutPoints checks that axes are drawn where a line has no point.
func TestPlotWithoutPoints(t *testing.T) {
	r := knownReport()
	for i := range r.Runs[0].Series {
		r.Runs[0].Series[i].Memory = 0
	}
	_, all := page(t, r)
	if d := read(t, all, "memory"); len(d.lines) != 0 || d.right <= d.left || d.bottom <= d.top {
		t.Errorf("%+v", d)
	}
}

// TestPlotDots checks that a point between two missing ones is a dot, and that 600 seconds are
// 600 points.
func TestPlotDots(t *testing.T) {
	_, all := page(t, sampleOverload())
	dots := 0
	for _, e := range all {
		if e.name == "circle" && e.is("p99") && strings.HasSuffix(e.path, "svg.") {
			dots++
		}
	}
	if d := read(t, all, "latency"); dots != 1 || d.parts["p99"] != 3 || len(d.lines["p99"]) != 25 {
		t.Errorf("%d dots, %d parts, %d points", dots, d.parts["p99"], len(d.lines["p99"]))
	}
	_, all = page(t, samples()["minutes"])
	if n := len(read(t, all, "throughput").lines["done"]); n != 600 {
		t.Errorf("%d points", n)
	}
}

// TestPlotKeys checks that each line of a plot is named, in its own colour and dashes.
func TestPlotKeys(t *testing.T) {
	for name, want := range map[string]string{
		"overload": "done=carried out errors-line=errors due=due max=slowest p99=p99 p50=p50 engine=engine generator=load generator engine=resident size",
		"minutes":  "done dense=carried out max dense=slowest p99 dense=p99 p50 dense=p50 engine dense=engine generator dense=load generator engine dense=resident size",
		"silent":   "done=carried out errors-line=errors generator=load generator",
	} {
		var keys []string
		_, all := page(t, samples()[name])
		for i, e := range all {
			if e.name == "i" {
				keys = append(keys, e.attrs["class"]+"="+all[i-1].text) // the text stands in the element around it
			}
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
	}
}
