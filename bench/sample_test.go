package bench

import (
	"math"
	"time"
)

// sampleReport is a report without runs, of a computer and an engine that do not exist.
func sampleReport(runs ...Run) *Report {
	return &Report{
		Program: "1.4.0", StartedAt: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
		Machine: Machine{CPU: "Imaginary 9000 at 3.00 GHz", Cores: 8, Memory: 16 << 30, System: "linux/amd64", Go: "go1.26.8"},
		Engine:  Target{URL: "http://127.0.0.1:8080", Version: "1.4.0", Commit: "0123abcd", Own: true},
		Runs:    runs,
		Audit:   Audit{Answers: 412345, Accounts: 1000, Scheme: "compared", Seconds: 3.2},
	}
}

// sampleRun is a run of a number of whole seconds and a rest, whose figures wobble in a way
// that is the same each time. Its median latency is about half a millisecond.
func sampleRun(scenario string, seconds int, perSecond float64) Run {
	r := Run{
		Scenario: scenario, Connections: 64, Accounts: 1000, Addresses: 1, Seconds: float64(seconds) + 0.013,
		Latency:   Latency{P50: 480, P90: 1210, P99: 4300, P999: 18200, Max: 61000},
		Engine:    Usage{CPU: 0.9 * float64(seconds), Cores: 0.9, PerDone: 900000 / perSecond, MaxMemory: 512e6},
		Generator: Usage{CPU: 0.4 * float64(seconds), Cores: 0.4, PerDone: 400000 / perSecond, MaxMemory: 90e6},
		Prepared:  1,
	}
	for i := range seconds {
		r.Series = append(r.Series, sampleSecond(i, perSecond))
	}
	if seconds > 0 {
		r.Series = append(r.Series, Second{
			At: r.Seconds, Seconds: 0.013, Done: 40, P50: 500, P99: 900, Max: 910, Engine: 0.5, Memory: 500e6, Generator: 0.3,
		})
	}
	for _, s := range r.Series {
		r.Done += s.Done
	}
	r.Sent, r.PerSecond = r.Done, float64(r.Done)/r.Seconds
	r.Distribution = sampleDistribution(r.Latency)
	return r
}

func sampleSecond(i int, perSecond float64) Second {
	wobble := math.Sin(float64(i)*1.3) + math.Sin(float64(i)*0.37)
	s := Second{
		At: float64(i + 1), Seconds: 1, Done: int(perSecond * (1 + 0.02*wobble)),
		P50: int64(480 * (1 - 0.05*wobble)), P99: int64(4300 * (1 - 0.2*wobble)), Max: int64(20000 * (1.2 - 0.5*wobble)),
		Engine: 0.9 + 0.03*wobble, Memory: uint64(300e6 + 200e6*(1-math.Exp(-float64(i)/20))), Generator: 0.4 + 0.01*wobble,
	}
	if i%9 == 5 {
		s.Max *= 3
	}
	return s
}

// sampleDistribution has points between the quantiles of a latency, dense towards 1.
func sampleDistribution(l Latency) (all []Quantile) {
	known := []struct{ x, us float64 }{{0, float64(l.P50) / 4}, {0.301, float64(l.P50)}, {1, float64(l.P90)}, {2, float64(l.P99)}, {3, float64(l.P999)}, {5, float64(l.Max)}}
	for x := 0.0; x < 5; x += 0.05 {
		k := 1
		for known[k].x < x {
			k++
		}
		a, b := known[k-1], known[k]
		part := (x - a.x) / (b.x - a.x)
		all = append(all, Quantile{1 - math.Pow(10, -x), int64(math.Exp(math.Log(a.us)*(1-part) + math.Log(b.us)*part))})
	}
	return append(all, Quantile{1, l.Max})
}

func sampleSix() *Report {
	var runs []Run
	for i, s := range []string{"balance", "cash-in", "cash-out", "refund", "statement", "mixed"} {
		r := sampleRun(s, 30, 38000/float64(i+1))
		r.Prepared = 1 / float64(i+1)
		runs = append(runs, r)
	}
	return sampleReport(runs...)
}

// sampleOverload was due 15,000 requests/s and refused many; in two stretches nothing was
// answered, and one second had answers between two that had none.
func sampleOverload() *Report {
	r := sampleRun("cash-out", 30, 9000)
	r.Rate, r.Done = 15000, 0
	for i := range r.Series {
		s := &r.Series[i]
		s.Errors = 5000 + 137*(i%7)
		s.P50, s.P99, s.Max = s.P50*400, s.P99*300, s.Max*300
		if i >= 11 && i <= 13 || i == 15 || i == 16 {
			*s = Second{At: s.At, Seconds: s.Seconds, Engine: 0.02, Memory: s.Memory, Generator: 0.05}
		}
		r.Done += s.Done
	}
	r.Errors = []Count{{"503", 130456}, {"429", 1204}, {"no answer within 10s", 37}, {"connection reset", 3}}
	r.Sent, r.PerSecond = r.Done+r.failed(), float64(r.Done)/r.Seconds
	r.Latency = Latency{P50: 192000, P90: 700000, P99: 1290000, P999: 5200000, Max: 12200000}
	r.Refused = Latency{P50: 310, P90: 900, P99: 4100, P999: 9000, Max: 15000}
	r.Distribution = sampleDistribution(r.Latency)
	r.Syncs = Latency{P50: 300, P90: 800, P99: 2000, P999: 20000, Max: 500000}
	r.Stolen = new(0.1234)
	report := sampleReport(r)
	report.Engine.Own, report.Interrupted = false, true
	report.Audit.Unknown, report.Audit.InFlight = 40, 12
	report.Audit.Scheme = "the engine's scheme is a provider, which has no book to read"
	return report
}

// sampleSilent has no answer at all.
func sampleSilent() *Report {
	r := Run{Scenario: "balance", Connections: 8, Accounts: 10, Addresses: 1, Seconds: 3, Sent: 24, Errors: []Count{{"connection refused", 24}}}
	for i := range 3 {
		r.Series = append(r.Series, Second{At: float64(i + 1), Seconds: 1, Errors: 8, Generator: 0.01})
	}
	report := sampleReport(r)
	report.Engine, report.Audit = Target{URL: "https://engine.example:8443"}, Audit{Scheme: "the engine could not be reached"}
	return report
}

func sampleDifferent() *Report {
	report := sampleReport(sampleRun("mixed", 30, 8000))
	report.Audit.Found = 17
	report.Audit.Differences = []string{
		"account 5d2f: the engine's balance is 10,000 and the answers say 10,100",
		"transaction 77: answered 201, and the engine's book does not have it",
	}
	return report
}

// sampleHostile has in each text what a page must not take for its own.
func sampleHostile() *Report {
	const text = `<script>alert(1)</script><img src="http://evil.example/x.png" onerror='alert(2)'>"'</style></svg>` + "\x1b[31m\u202e"
	r := sampleRun(text, 5, 100)
	r.Errors, r.Sent = []Count{{text, 3}, {"", 1}}, r.Sent+4
	report := sampleReport(r)
	report.Program, report.Engine = text, Target{URL: "javascript:alert(3)//" + text, Version: text, Commit: text, Sync: text}
	report.Machine = Machine{CPU: text, Cores: 2, System: text, Go: text}
	report.Audit.Scheme, report.Audit.Found, report.Audit.Differences = text, 1, []string{text}
	report.Neighbours = []Neighbour{{Way: text, Says: text, Greedy: Greed{Sent: 1, Errors: []Count{{text, 1}}}}, {Way: text, Says: text, LeftOut: text}}
	return report
}

// sampleLong has texts that are longer than a page is wide.
func sampleLong() *Report {
	long := ""
	for range 60 {
		long += "averylongtextwithoutaspace"
	}
	r := sampleRun("cash-in-with-"+long[:120], 12, 12345678)
	for i := range 60 {
		r.Errors = append(r.Errors, Count{long[:600-9*i], 100000 - i})
	}
	r.Sent += r.failed()
	report := sampleReport(r, sampleRun("balance", 12, 3))
	report.Engine = Target{URL: "https://" + long + ".example", Version: long[:200], Commit: long[:64]}
	report.Machine.CPU = long[:300]
	report.Audit.Scheme, report.Audit.Found, report.Audit.Differences = long, 1, []string{long}
	return report
}

// samples are reports of every kind, by name.
func samples() map[string]*Report {
	return map[string]*Report{
		"healthy":   sampleReport(sampleRun("balance", 30, 38000)),
		"six":       sampleSix(),
		"overload":  sampleOverload(),
		"second":    sampleReport(sampleRun("balance", 1, 38000)),
		"silent":    sampleSilent(),
		"minutes":   sampleReport(sampleRun("mixed", 600, 8000)),
		"different": sampleDifferent(),
		"long":      sampleLong(),
		"neighbour": sampleNeighbours(),
		"hostile":   sampleHostile(),
		"empty":     {},
		"bare":      sampleReport(Run{Scenario: "balance"}),
	}
}
