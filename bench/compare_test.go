package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// steadyRun has figures that are all multiplied by a factor.
func steadyRun(scenario string, seconds int, factor float64) Run {
	r := sampleRun(scenario, seconds, 1000*factor)
	r.PerSecond = 1000 * factor
	f := func(v float64) int64 { return int64(v * factor) }
	r.Latency = Latency{f(10000), f(20000), f(40000), f(80000), f(160000)}
	r.Engine = Usage{CPU: 10 * factor, PerDone: 500, MaxMemory: uint64(f(400e6))}
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

// TestCompareFigures checks that each figure is compared with the same figure of the other run:
// each figure of B has a factor of its own. The exchange of A and B gives the inverse ratios.
func TestCompareFigures(t *testing.T) {
	a, b := steadyRun("balance", 30, 1), steadyRun("balance", 30, 1)
	b.PerSecond *= 2
	b.Latency = Latency{30000, 80000, 200000, 480000, 1120000}
	b.Engine.PerDone, b.Engine.MaxMemory = 4000, 3600e6
	want := map[string]float64{
		"requests/s": 2, "p50": 3, "p90": 4, "p99": 5, "p99.9": 6, "slowest": 7, "engine CPU per request": 8, "engine memory": 9,
	}
	there, back := compareRuns(t, a, b).Pairs[0].Figures, compareRuns(t, b, a).Pairs[0].Figures
	for i, f := range there {
		if math.Abs(f.Ratio-want[f.Name]) > 1e-9 || math.Abs(f.Ratio*back[i].Ratio-1) > 1e-9 {
			t.Errorf("%s: %v, want %v; back %v", f.Name, f, want[f.Name], back[i])
		}
	}
	if len(there) != len(want) {
		t.Errorf("%d figures", len(there))
	}
	a.Engine = Usage{}
	if f := compareRuns(t, a, b).Pairs[0].Figures[7]; f.Ratio != 0 || f.B == 0 {
		t.Errorf("where A's memory is not known: %v", f)
	}
}

// TestCompareRefuses checks that runs of different kinds are not compared.
func TestCompareRefuses(t *testing.T) {
	due := steadyRun("balance", 5, 1)
	due.Rate = 100
	for _, other := range []Run{due, steadyRun("refund", 5, 1)} {
		if c, err := Compare(sampleReport(steadyRun("balance", 5, 1)), sampleReport(other)); err == nil || c != nil {
			t.Errorf("%v, %v", c, err)
		}
	}
	// Two runs of the same kind are compared in their order.
	a, b := steadyRun("balance", 5, 1), steadyRun("balance", 5, 2)
	c, err := Compare(sampleReport(a, b), sampleReport(a, b))
	if err != nil || len(c.Pairs) != 2 || c.Pairs[0].Figures[0].Ratio != 1 || c.Pairs[1].Figures[0].Ratio != 1 {
		t.Errorf("%v, %v", c, err)
	}
}

// TestCompareText compares the text of a comparison with testdata/compare.txt.
func TestCompareText(t *testing.T) {
	a := sampleReport(steadyRun("balance", 30, 1), steadyRun("cash-in", 2, 1), steadyRun("refund", 5, 1))
	b := sampleReport(steadyRun("balance", 30, 1.1), steadyRun("cash-in", 30, 1.1), steadyRun("statement\x1b", 5, 1))
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
