package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// Limit is what `pixbench limit` has measured: how far the parts of an engine, each alone and then
// together, can go with the same requests.
type Limit struct {
	StartedAt time.Time  `json:"started_at"`
	Machine   Machine    `json:"machine"`
	Rows      []LimitRow `json:"rows"`
}

// LimitRow is one server under a closed loop of cash-outs.
type LimitRow struct {
	Server    string  `json:"server"`
	Sync      string  `json:"sync_delay"` // what was added to each sync; empty: nothing
	PerSecond float64 `json:"per_second"`
	Ratio     float64 `json:"ratio"`       // PerSecond to that of the echo in the same run
	PerDone   float64 `json:"per_request"` // microseconds of the servers' processor time for each request
	Latency   Latency `json:"latency"`
}

// limitServer is one of the compared servers.
type limitServer struct {
	name     string
	role     string
	simApart bool
	syncs    bool // it is measured with slow syncs too
	audited  bool
}

var limitServers = []limitServer{
	{name: "bare fasthttp echo", role: roleEcho},
	{name: "echo behind checks 1 to 6", role: roleChecks},
	{name: "journal alone", role: roleJournal, syncs: true},
	{name: "engine, simulator inside", role: roleEngine, syncs: true, audited: true},
	{name: "engine, simulator apart", role: roleEngine, simApart: true, syncs: true, audited: true},
}

// limitSyncs are what is added to each sync, in turn.
var limitSyncs = []time.Duration{0, time.Millisecond, 5 * time.Millisecond}

// MeasureLimit loads the servers one after the other, with the Duration, Connections, Accounts and
// TempDir of the options. Where an engine's books do not agree at the end, that is an error.
func MeasureLimit(ctx context.Context, o Options) (*Limit, error) {
	if o.Connections < 1 {
		return nil, fmt.Errorf("--connections %d: 1 to %d", o.Connections, MostConnections)
	}
	l := &Limit{StartedAt: time.Now().UTC().Truncate(time.Millisecond), Machine: describeMachine()}
	for _, delay := range limitSyncs {
		for i := range limitServers {
			server := &limitServers[i]
			if delay > 0 && !server.syncs {
				continue
			}
			row, err := o.measure(ctx, server, delay)
			if err != nil {
				return nil, err
			}
			l.Rows = append(l.Rows, *row)
			row = &l.Rows[len(l.Rows)-1]
			row.Ratio = row.PerSecond / l.Rows[0].PerSecond
		}
	}
	return l, nil
}

// limitWarmUp is how long a server is loaded before its figures are taken.
const limitWarmUp = time.Second

// measure loads one server.
func (o Options) measure(ctx context.Context, server *limitServer, delay time.Duration) (row *LimitRow, err error) {
	scenario, err := FindScenario("cash-out")
	if err != nil {
		return nil, err
	}
	o.Scenarios, o.WarmUp, o.SyncDelay, o.role, o.simApart = []Scenario{scenario}, limitWarmUp, delay, server.role, server.simApart
	s := &session{tag: newTag(), Options: &o}
	if err := s.Check(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if server.audited || server.role == roleChecks {
		err = s.open(ctx)
	} else {
		err = s.openBare()
	}
	if err != nil {
		return nil, err
	}
	r, cpu, err := s.timed(ctx, scenario, server.name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", server.name, err)
	}
	row = &LimitRow{Server: server.name, PerSecond: r.PerSecond(), PerDone: float64(cpu.Microseconds()) / float64(r.Done), Latency: latencyOf(r.done)}
	if delay > 0 {
		row.Sync = delay.String()
	}
	if !server.audited {
		return row, nil
	}
	a := Audit{Differences: []string{}}
	if err := s.audit(ctx, &a); err != nil {
		return nil, err
	}
	if !a.OK() {
		return nil, fmt.Errorf("%s: the books differ: %s", server.name, strings.Join(a.Differences, "; "))
	}
	return row, nil
}

// openBare starts a server that has no accounts; requests are made as for accounts.
func (s *session) openBare() (err error) {
	if s.folder, err = os.MkdirTemp(s.TempDir, "pixbench-"); err != nil {
		return fmt.Errorf("folder for a server: %w", err)
	}
	if s.process, err = StartProcess(s.role, nil, "-dir", filepath.Join(s.folder, "engine"), "-sync-delay", s.SyncDelay.String()); err != nil {
		return err
	}
	s.target = &target{addr: s.process.Addr, host: s.process.Addr}
	s.merchants = make([]merchant, s.Accounts)
	for i := range s.merchants {
		m := &s.merchants[i]
		m.clientID, m.secret = "cli_"+newToken()[:26], "sk_"+newToken()[:43]
		m.heads(s.target.host)
	}
	return nil
}

// timed loads the server, and returns with the result the processor time that its processes have
// used.
func (s *session) timed(ctx context.Context, scenario Scenario, name string) (*Result, time.Duration, error) {
	w, err := s.warmed(ctx, scenario, s.tag, name)
	if err != nil {
		return nil, 0, err
	}
	before, err := s.cpu()
	if err != nil {
		return nil, 0, err
	}
	l := s.loadOf(w, s.Duration)
	l.Second = func(at *Second) { s.show(Progress{Stage: "load", What: name, Second: at}) }
	r := l.Run(ctx)
	after, err := s.cpu()
	switch {
	case err != nil:
		return nil, 0, err
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case len(r.Errors) > 0 || r.Done == 0:
		return nil, 0, fmt.Errorf("of %d requests %d were carried out; errors: %s", r.Sent, r.Done, showKinds(r.counts()))
	}
	return r, after - before, nil
}

// cpu is the processor time that our processes have used.
func (s *session) cpu() (sum time.Duration, err error) {
	for _, p := range []*Process{s.process, s.second} {
		if p == nil {
			continue
		}
		proc, err := procfs.NewProc(p.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		stat, err := proc.Stat()
		if err != nil {
			return 0, err
		}
		sum += time.Duration(stat.CPUTime() * float64(time.Second))
	}
	return sum, nil
}

// WriteText writes the figures as a table.
func (l *Limit) WriteText(w io.Writer) error {
	var rows [][]string
	for i := range l.Rows {
		r := &l.Rows[i]
		sync := "as it is"
		if r.Sync != "" {
			sync = "+" + r.Sync
		}
		rows = append(rows, []string{
			r.Server, sync, showDigits(r.PerSecond), fmt.Sprintf("%.3f", r.Ratio),
			showMicros(r.PerDone), showMicros(float64(r.Latency.P50)), showMicros(float64(r.Latency.P99)),
		})
	}
	text := renderTable([]string{"server", "sync", "requests/s", "ratio", "CPU per request", "p50", "p99"}, rows)
	_, err := fmt.Fprintf(w, "%s\n%s, %d processors, %s\n", text, legible(l.Machine.CPU), l.Machine.Cores, l.StartedAt.Format(time.DateOnly))
	return err
}
