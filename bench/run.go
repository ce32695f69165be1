package bench

import (
	"context"
	"fmt"
	"time"
)

// load runs the scenarios, one after the other, until the context ends.
func (s *session) load(ctx context.Context, r *Report) error {
	for i := range s.Scenarios {
		if s.Scenarios[i].Name == neighbours {
			return s.measureWays(ctx, s.tag, r)
		}
		run, err := s.scenario(ctx, s.Scenarios[i], fmt.Sprintf("%s-%d-", s.tag, i))
		if err != nil {
			return err
		}
		r.Runs = append(r.Runs, *run)
		if ctx.Err() != nil {
			break
		}
	}
	return nil
}

// expectMore is how many times the requests that a warm-up lets expect are signed before the load.
const expectMore = 1.5

// warmUpRate is how many requests a second are signed for the warm-up of a closed loop.
const warmUpRate = 20_000

// scenario runs one scenario: a warm-up, and the load whose figures count.
func (s *session) scenario(ctx context.Context, of Scenario, tag string) (*Run, error) {
	w, err := s.warmed(ctx, of, tag, of.Name)
	if err != nil {
		return nil, err
	}
	return s.measured(ctx, w)
}

// warmed runs the warm-up of a load and signs as many of the load's requests as it lets expect.
// An error says that none of its requests was carried out. name is what is shown.
func (s *session) warmed(ctx context.Context, of Scenario, tag, name string) (*work, error) {
	expected := float64(s.Rate)
	if s.WarmUp > 0 {
		warm := &work{session: s, scenario: of, tag: tag + "w"}
		warm.prepare(ctx, int(max(float64(s.Rate), warmUpRate)*s.WarmUp.Seconds()))
		s.show(Progress{Stage: "warming up", What: name})
		r := s.loadOf(warm, s.WarmUp).Run(ctx)
		if r.Done == 0 && r.Sent > 0 && ctx.Err() == nil {
			return nil, fmt.Errorf("%s: none of %d requests was carried out: %d times %s", name, r.Sent, r.counts()[0].Count, r.counts()[0].Kind)
		}
		if s.Rate == 0 {
			expected = expectMore * r.PerSecond()
		}
	}
	if s.Rate == 0 && expected == 0 {
		expected = warmUpRate
	}
	w := &work{session: s, scenario: of, tag: tag}
	w.prepare(ctx, int(expected*s.Duration.Seconds())+1)
	return w, nil
}

func (s *session) loadOf(w *work, d time.Duration) Load {
	return Load{
		Addr: s.target.addr, TLS: s.target.tls, From: s.target.from, Connections: s.connections(), Duration: d, Rate: s.Rate, Source: w,
	}
}

// measured runs the load whose figures count, and reports it.
func (s *session) measured(ctx context.Context, w *work) (*Run, error) {
	r, err := s.measuredLoad(ctx, w.scenario.Name, s.loadOf(w, s.Duration))
	if err != nil {
		return nil, err
	}
	if late := w.late.Load(); late > 0 {
		r.Prepared = 1 - float64(late)/float64(r.Sent)
	}
	return r, nil
}

// measuredLoad runs a load, and reports it under a name.
func (s *session) measuredLoad(ctx context.Context, name string, l Load) (*Run, error) {
	before, err := s.sampler.take(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	processors := processorTime()
	watch := &watch{session: s, scenario: name, last: before}
	l.Second = watch.second
	result := l.Run(ctx)
	stolen := processorTime().since(processors)
	_, _ = watch.take() // the engine may have ended; the audit says so
	r := &Run{
		Scenario: name, Rate: l.Rate, Connections: result.Connections, Accounts: len(s.merchants), Addresses: min(max(1, len(l.From)), result.Connections),
		Seconds: result.Elapsed.Seconds(), Sent: result.Sent, Done: result.Done, PerSecond: result.PerSecond(), Errors: result.counts(),
		Latency: latencyOf(result.done), Refused: latencyOf(result.refused), Distribution: distributionOf(result.done), Series: result.Series,
		Engine: Usage{CPU: watch.cpu, MaxMemory: watch.memory}, Generator: Usage{CPU: result.CPU.Seconds(), MaxMemory: ownMemory()},
		Syncs: watch.last.syncs.since(before.syncs).latency(), Stolen: stolen, Prepared: 1,
	}
	for _, u := range []*Usage{&r.Engine, &r.Generator} {
		u.Cores = u.CPU / r.Seconds
		if r.Done > 0 {
			u.PerDone = 1e6 * u.CPU / float64(r.Done)
		}
	}
	return r, nil
}

// watch completes a load's seconds with what the engine used.
type watch struct {
	*session
	scenario string
	last     sample
	cpu      float64 // seconds that the engine has used since the first sample
	memory   uint64  // the most that it had
}

// take reads what the engine has used, and returns the processors that it kept busy since last.
func (w *watch) take() (cores float64, err error) {
	now, err := w.sampler.take(context.Background())
	if err != nil {
		return 0, err
	}
	used := now.since(w.last)
	if took := now.at.Sub(w.last.at).Seconds(); took > 0 {
		cores = used / took
	}
	w.cpu += used
	w.memory = max(w.memory, now.memory)
	w.last = now
	return cores, nil
}

func (w *watch) second(s *Second) {
	if cores, err := w.take(); err == nil { // else the engine is silent, as the seconds show
		s.Engine, s.Memory = cores, w.last.memory
	}
	w.show(Progress{Stage: "load", What: w.scenario, Second: s})
}
