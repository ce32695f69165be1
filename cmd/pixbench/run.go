package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"pixd/bench"
	"pixd/cmd/certificate"
	"pixd/cmd/engine"
	"pixd/cmd/operator"
	"pixd/cmd/terminal"
)

// runFlags are the flags of `pixbench run`.
type runFlags struct {
	bench.Options
	scenario, rate string
	targetCA       string
	admin, sim     operator.Flags
	json, html     string
}

// The canonical workload: every scenario as fast as it goes.
const canonicalDuration = 8 * time.Second

func runCommand() *cobra.Command {
	f := &runFlags{admin: operator.Flags{Flag: "admin", Asks: "engine"}, sim: operator.Flags{Flag: "sim", Asks: "simulator"}}
	scenarios := ""
	for _, s := range append(bench.Scenarios(), bench.Neighbours()) {
		scenarios += fmt.Sprintf("\n  %-10s %s", s.Name, strings.ReplaceAll(terminal.Fold(s.Says, 66), "\n", "\n"+strings.Repeat(" ", 13)))
	}
	c := &cobra.Command{
		Use:   "run",
		Short: "Load an engine, report what it did, and audit its books",
		Long: "Loads an engine with a scenario: the one at --target, or else one of its own on a temporary folder. It makes\n" +
			"accounts, API keys and payments through the operator API, signs requests beforehand, warms up, loads, and\n" +
			"at the end compares what clients were answered, the engine's book and the simulator's. Exit status 1 if they\n" +
			"differ, or if it cannot be done. Ctrl-C ends the load; what was measured is audited and printed.\n\n" +
			"At a --rate requests are due at fixed times, and a latency counts from then, so that a stall is not hidden.\n" +
			"With --rate max each connection sends its next request when it has its answer. Without --scenario every\n" +
			"scenario but neighbours is run for 8 s in turn: the canonical workload.\n\nScenarios:" + scenarios,
		Example: "  pixbench run\n  pixbench run --scenario cash-out --rate 1500 --accounts 1 --ips 1 --html cash-out.html\n" +
			"  pixbench run --target http://127.0.0.1:8080 --admin http://127.0.0.1:8081 --scenario mixed --duration 1m",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.Target, "target", "", "the engine's merchant API, as a `URL` (default: an engine of its own)")
	flags.StringVar(&f.targetCA, "target-ca", "", "`FILE` with the certificates, in PEM, that an https --target is trusted by")
	flags.StringVar(&f.admin.URL, "admin", "http://"+engine.Defaults().AdminListen, "the --target's operator API, as a `URL`")
	flags.StringVar(&f.admin.CA, "admin-ca", "", "`FILE` with the certificates, in PEM, that an https --admin is trusted by")
	flags.StringVar(&f.admin.TokenFile, "token-file", "", "`FILE` with the operators' token (default: PIXD_ADMIN_TOKEN, else ./pixd-data/admin.token)")
	flags.StringVar(&f.sim.URL, "sim", "", "the --target's simulator, as a `URL`, if it is a process of its own")
	flags.StringVar(&f.scenario, "scenario", "", "`NAME` of the scenario (default: all of them, one after the other)")
	flags.StringVar(&f.rate, "rate", "max", "requests per second that are due, or max: `N|max`")
	flags.DurationVar(&f.Duration, "duration", 30*time.Second, "how long a scenario is measured; without --scenario 8s")
	flags.DurationVar(&f.WarmUp, "warm-up", 2*time.Second, "how long a scenario is run before its figures are taken")
	flags.IntVar(&f.Accounts, "accounts", 1000, "`N` accounts, each with an API key; neighbours has its own")
	flags.IntVar(&f.Addresses, "ips", 0, "`N` source addresses, of 127.0.0.0/8 (default: one for each 500 requests/s; 256 for --rate max)")
	flags.IntVar(&f.Connections, "connections", 0, "`N` connections (default 256; at a rate as many as are needed, at most 1536)")
	flags.DurationVar(&f.SyncDelay, "sync-delay", 0, "how much longer each sync of an engine of its own takes")
	flags.StringVar(&f.TempDir, "temp-dir", "", "`FOLDER` in which an engine of its own gets its data folder (default: the system's)")
	flags.StringVar(&f.json, "json", "", "write the report to `F` as JSON, for pixbench compare")
	flags.StringVar(&f.html, "html", "", "write the report to `F` as one page with plots")
	return c
}

// read turns the flags into options.
func (f *runFlags) read(c *cobra.Command) (err error) {
	f.Build = build()
	f.Rate = 0
	if f.rate != "max" {
		if f.Rate, err = strconv.Atoi(f.rate); err != nil || f.Rate < 1 {
			return fmt.Errorf("--rate %q: max, or 1 to %d requests per second", f.rate, bench.MostRate)
		}
	}
	if f.scenario == "" {
		f.Scenarios = bench.Scenarios()
		if !c.Flags().Changed("duration") {
			f.Duration = canonicalDuration
		}
	} else {
		one, err := bench.FindScenario(f.scenario)
		if err != nil {
			return err
		}
		f.Scenarios = []bench.Scenario{one}
	}
	for _, n := range []string{"ips", "connections"} {
		if v := c.Flags().Lookup(n); v.Changed && v.Value.String() == "0" {
			return fmt.Errorf("--%s 0: 1 or more", n)
		}
	}
	if err := f.Check(); err != nil {
		return err
	}
	return f.clients(c)
}

// clients makes the clients of the target's operator API and simulator.
func (f *runFlags) clients(c *cobra.Command) (err error) {
	if f.Target == "" {
		for _, n := range []string{"admin", "admin-ca", "token-file", "sim", "target-ca"} {
			if c.Flags().Changed(n) {
				return fmt.Errorf("--%s goes with --target", n)
			}
		}
		return nil
	}
	if f.targetCA != "" {
		if f.TargetTrust, err = certificate.Trusting("target-ca", f.targetCA); err != nil {
			return err
		}
	}
	if f.Operator, err = f.admin.Client(); err != nil || f.sim.URL == "" {
		return err
	}
	f.sim.TokenFile = f.admin.TokenFile
	f.Sim, err = f.sim.Client()
	return err
}

func (f *runFlags) run(c *cobra.Command) error {
	if err := f.read(c); err != nil {
		return err
	}
	out, err := openOutputs(f.json, f.html)
	if err != nil {
		return err
	}
	ctx, cut, end := interruptible(c.Context())
	defer end()
	show := newDisplay(c.ErrOrStderr(), terminal.Is(os.Stderr), f.Duration)
	f.Show = show.show
	r, err := bench.Measure(ctx, cut, f.Options)
	show.End()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted before there was anything to report")
		}
		return errors.Join(err, out.drop())
	}
	if err := errors.Join(r.WriteText(c.OutOrStdout()), out.write(r)); err != nil {
		return err
	}
	if !r.Audit.OK() {
		return fmt.Errorf("the books differ: %s", english.Plural(r.Audit.Found, "difference", ""))
	}
	return nil
}

// interruptible returns two contexts: the first ends with the first signal to end, the second
// with the second one.
func interruptible(parent context.Context) (first, second context.Context, end func()) {
	first, endFirst := context.WithCancel(parent)
	second, endSecond := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		endFirst()
		<-signals
		endSecond()
	}()
	return first, second, func() { signal.Stop(signals); endFirst(); endSecond() }
}
