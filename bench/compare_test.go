package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// steadyRun has seconds whose figures are all multiplied by a factor and wobble by a share.
func steadyRun(scenario string, seconds int, factor, wobble float64) Run {
	r := sampleRun(scenario, seconds, 1000*factor)
	r.PerSecond = 1000 * factor
	f := func(v float64) int64 { return int64(v * factor) }
	r.Latency = Latency{f(10000), f(20000), f(40000), f(80000), f(160000)}
	r.Engine = Usage{CPU: 10 * factor, PerDone: 500, MaxMemory: uint64(f(400e6))}
	for i := range seconds {
		at := 1 + wobble*math.Sin(2.4*float64(i+1))
		r.Series[i] = Second{
			At: float64(i + 1), Seconds: 1, Done: int(1000 * factor * at), P50: f(10000 * at), P99: f(40000 * at), Max: f(160000 * at),
			Engine: 0.5 * factor * at, Memory: uint64(f(400e6 * at)), Generator: 0.2,
		}
	}
	return r
}

func compareRuns(t *testing.T, a, b Run) *Comparison {
	t.Helper()
	c, err := Compare(sampleReport(a), sampleReport(b))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompareTellsNoise checks the word for shifts and wobbles of known sizes, and that the
// exchange of A and B gives inverse ratios and spreads.
func TestCompareTellsNoise(t *testing.T) {
	for _, c := range []struct {
		factor, wobble float64
		seconds        int
		word, inverse  string
	}{
		{1.10, 0.02, 30, Higher, Lower},
		{0.90, 0.02, 30, Lower, Higher},
		{1.03, 0.08, 30, WithinNoise, WithinNoise},
		{0.97, 0.08, 30, WithinNoise, WithinNoise},
		{1.00, 0.02, 30, WithinNoise, WithinNoise},
		{1.10, 0.02, 3, Higher, Lower},
		{1.10, 0.02, 700, Higher, Lower},
		{2.00, 0.02, 2, TooShort, TooShort},
	} {
		a, b := steadyRun("balance", 30, 1, c.wobble), steadyRun("balance", c.seconds, c.factor, c.wobble)
		there, back := compareRuns(t, a, b).Pairs[0].Figures, compareRuns(t, b, a).Pairs[0].Figures
		for i, f := range there {
			factor, word, inverse := c.factor, c.word, c.inverse
			if f.Name == "engine CPU per request" { // it has the same factor above and below the line
				factor = 1
				if word != TooShort {
					word, inverse = WithinNoise, WithinNoise
				}
			}
			if math.Abs(f.Ratio-factor) > 0.001 || f.Word != word || back[i].Word != inverse {
				t.Errorf("%+v: %s: %.4f %s %s, back %s", c, f.Name, f.Ratio, f.Spread, f.Word, back[i].Word)
			}
			if math.Abs(f.Ratio*back[i].Ratio-1) > 1e-9 || f.Spread.Known && math.Abs(f.Spread.Low*back[i].Spread.High-1) > 1e-9 {
				t.Errorf("%+v: %s: %v and back %v", c, f.Name, f, back[i])
			}
		}
	}
}

// TestCompareFigures checks that each figure is compared with its own seconds: each figure of B
// has a factor of its own.
func TestCompareFigures(t *testing.T) {
	a, b := steadyRun("balance", 30, 1, 0.001), steadyRun("balance", 30, 1, 0.001)
	b.PerSecond *= 2
	b.Latency = Latency{30000, 80000, 200000, 480000, 1120000}
	b.Engine.PerDone, b.Engine.MaxMemory = 4000, 3600e6
	for i := range b.Series {
		s := &b.Series[i]
		s.Done, s.P50, s.P99, s.Max, s.Engine, s.Memory = 2*s.Done, 3*s.P50, 5*s.P99, 7*s.Max, 16*s.Engine, 9*s.Memory
	}
	want := map[string]float64{
		"requests/s": 2, "p50": 3, "p90": 4, "p99": 5, "p99.9": 6, "slowest": 7, "engine CPU per request": 8, "engine memory": 9,
	}
	figures := compareRuns(t, a, b).Pairs[0].Figures
	for _, f := range figures {
		w := want[f.Name]
		near := func(v float64) bool { return math.Abs(v/w-1) < 0.005 }
		if !near(f.Ratio) || !near(f.Spread.Low) || !near(f.Spread.Middle) || !near(f.Spread.High) || f.Word != Higher {
			t.Errorf("%s: %v, want %v", f.Name, f, w)
		}
	}
	if len(figures) != len(want) {
		t.Errorf("%d figures", len(figures))
	}
}

// TestCompareLeavesOut checks that neither the first second nor a rest at the end is compared,
// and that seconds without an answer have no latency.
func TestCompareLeavesOut(t *testing.T) {
	a, b := steadyRun("balance", 30, 1, 0), steadyRun("balance", 4, 1, 0)
	b.Series[0].P50, b.Series[4].P50 = 1, 1 // the fourth is the rest
	b.Series[0].P99 = 1
	f := compareRuns(t, a, b).Pairs[0].Figures
	if f[1].Spread.Low != 1 || f[1].Word != WithinNoise {
		t.Errorf("p50: %v", f[1])
	}
	b.Series[2] = Second{At: 3, Seconds: 1}
	f = compareRuns(t, a, b).Pairs[0].Figures
	if f[1].Word != TooShort || f[0].Word != WithinNoise || f[0].Spread.Low != 0 {
		t.Errorf("requests/s: %v, p50: %v", f[0], f[1])
	}
	b.Engine = Usage{}
	if f = compareRuns(t, a, b).Pairs[0].Figures; f[7].Word != NotKnown || f[7].Ratio != 0 {
		t.Errorf("memory: %v", f[7])
	}
}

// TestSpread checks the percentiles of a spread of known figures.
func TestSpread(t *testing.T) {
	s := spread([]float64{1, 1, 1}, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if s.Low != 2 || math.Abs(s.Middle-math.Sqrt(30)) > 1e-12 || s.High != 9 {
		t.Errorf("%+v", s)
	}
	if s := spread([]float64{1, 1}, []float64{1, 1, 1}); s.Known {
		t.Errorf("%+v", s)
	}
	if s := spread([]float64{0, 0, 0}, []float64{0, 5, 5}); s.Low != 1 || !math.IsInf(s.High, 1) || s.word() != WithinNoise || s.String() != "1.000 to over 1000" {
		t.Errorf("%+v", s)
	}
	long := make([]float64, 2000)
	for i := range long {
		long[i] = float64(i + 1)
	}
	if some := thinned(long); len(some) != mostSamples || some[0] != 1 || some[mostSamples-1] != 2000 {
		t.Error(len(some), some[0])
	}
}

// TestCompareRefuses checks that runs of different kinds are not compared.
func TestCompareRefuses(t *testing.T) {
	due := steadyRun("balance", 5, 1, 0)
	due.Rate = 100
	for _, other := range []Run{due, steadyRun("refund", 5, 1, 0)} {
		if c, err := Compare(sampleReport(steadyRun("balance", 5, 1, 0)), sampleReport(other)); err == nil || c != nil {
			t.Errorf("%v, %v", c, err)
		}
	}
	// Two runs of the same kind are compared in their order.
	a, b := steadyRun("balance", 5, 1, 0), steadyRun("balance", 5, 2, 0)
	c, err := Compare(sampleReport(a, b), sampleReport(a, b))
	if err != nil || len(c.Pairs) != 2 || c.Pairs[0].Figures[0].Ratio != 1 || c.Pairs[1].Figures[0].Ratio != 1 {
		t.Errorf("%v, %v", c, err)
	}
}

// TestCompareText compares the text of a comparison with testdata/compare.txt.
func TestCompareText(t *testing.T) {
	a := sampleReport(steadyRun("balance", 30, 1, 0.02), steadyRun("cash-in", 2, 1, 0.02), steadyRun("refund", 5, 1, 0))
	b := sampleReport(steadyRun("balance", 30, 1.1, 0.02), steadyRun("cash-in", 30, 1.1, 0.02), steadyRun("statement\x1b", 5, 1, 0))
	b.Program, b.Engine.Version, b.Engine.Commit, b.Machine.Cores = "1.5.0", "1.5.0", "89abcdef", 4
	b.Engine.Own, b.Engine.Sync, b.Interrupted = false, "1ms", true
	b.Audit.Found, b.Audit.Differences = 2, []string{"one"}
	r := &b.Runs[0]
	r.Accounts, r.Connections, r.Addresses = 10, 128, 2
	r.Errors, r.Sent = []Count{{"503", 1200}, {"connection \x1b reset", 3}}, r.Done+1203
	b.Runs[1].Engine = Usage{}
	a.Runs[0].Stolen, r.Stolen = new(0.01), new(0.031)
	a.Runs[1].Stolen, b.Runs[1].Stolen = new(0.01), new(0.029) // not far enough apart
	a.Runs[0].Syncs.P50, r.Syncs.P50 = 600, 300
	a.Runs[1].Syncs.P50, b.Runs[1].Syncs.P50 = 599, 300
	a.Runs[0].Rate, r.Rate = 15000, 20000
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := c.Write(&text); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "compare.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}
