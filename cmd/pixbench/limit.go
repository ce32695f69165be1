package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pixd/bench"
	"pixd/cmd/terminal"
)

// limitFlags are the flags of `pixbench limit`.
type limitFlags struct {
	bench.Options
	json string
}

func limitCommand() *cobra.Command {
	f := &limitFlags{}
	c := &cobra.Command{
		Use:   "limit",
		Short: "Compare the engine with its parts, and with slower disks",
		Long: "Loads five servers of its own with the same cash-outs, one after the other: a bare fasthttp echo, the echo\n" +
			"behind the merchant API's checks 1 to 6, the journal alone with what a cash-out writes, the engine with the\n" +
			"simulator inside, and the engine with the simulator in a process of its own. Those with a journal are\n" +
			"loaded again with syncs that take 1 ms and 5 ms longer. It prints requests/s, their ratio to the echo's,\n" +
			"and the servers' processor time for each request. It takes some two minutes.",
		Example: "  pixbench limit\n  pixbench limit --duration 10s --json limit.json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.DurationVar(&f.Duration, "duration", 5*time.Second, "how long each server is measured")
	flags.IntVar(&f.Accounts, "accounts", 1000, "`N` accounts, each with an API key")
	flags.IntVar(&f.Connections, "connections", 512, "`N` connections")
	flags.StringVar(&f.TempDir, "temp-dir", "", "`FOLDER` in which servers get their data folders (default: the system's)")
	flags.StringVar(&f.json, "json", "", "write the figures to `F` as JSON")
	return c
}

func (f *limitFlags) run(c *cobra.Command) error {
	f.Build = build()
	out, err := openOutputs(f.json, "")
	if err != nil {
		return err
	}
	ctx, _, end := interruptible(c.Context())
	defer end()
	show := newDisplay(c.ErrOrStderr(), terminal.Is(os.Stderr), f.Duration)
	f.Show = show.show
	l, err := bench.MeasureLimit(ctx, f.Options)
	show.End()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = fmt.Errorf("interrupted: a part of the comparison says nothing")
		}
		return errors.Join(err, out.drop())
	}
	return errors.Join(l.WriteText(c.OutOrStdout()), fill(out.json, l.WriteJSON))
}
