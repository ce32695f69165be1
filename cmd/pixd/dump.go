package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/cmd/terminal"
	"pixd/httpapi/admin"
)

func dumpCommand() *cobra.Command {
	o := journal.DumpOptions{DataDir: engine.Defaults().DataDir}
	var from, to string
	c := &cobra.Command{
		Use:   "dump",
		Short: "Print records as JSON lines, without secrets",
		Long: "Prints every record as a JSON object on a line of its own, in the order in which records were\n" +
			"written: the position of its batch, stream (an account, registry, reservations or operators), sequence in the stream, time,\n" +
			"kind, and body. Amounts are base units, times UTC. What is zero or absent is left out. Secrets, also\n" +
			"those in stored answers, and the query of a webhook's URL are ***. A CPF that only the directory has\n" +
			"told is masked (***.456.789-**). Characters that a terminal might take for a command are escaped.\n" +
			"docs/formats.md explains each field.\n\n" +
			"--from and --to are as those of `pixd statement`: days in UTC, both of which count, or instants, such\n" +
			"as 2026-01-31T12:00:00-03:00; then --to is the first instant that does not count. With --account only\n" +
			"that stream is read, which is fast, and lines have no position.\n\n" +
			"Only records whose checksums hold are printed. At damage it stops with exit status 1 and a line that\n" +
			"says where; `pixd journal verify` checks more. The engine must not be running.",
		Example: "  pixd journal dump --data-dir ./pixd-data --account acc_7oi7njakvirg4 --from 2026-01-31\n" +
			"  pixd journal dump | jq 'select(.kind == \"payout.failed\")'",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			for _, name := range []string{"account", "from", "to"} {
				if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return fmt.Errorf("--%s is empty", name) // a script's unset variable would otherwise print everything
				}
			}
			if o.From, o.Until, err = admin.ReadSpan(from, to); err != nil {
				return fmt.Errorf("--%w", err)
			}
			return printDump(c, o)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "the engine's data `FOLDER`")
	flags.StringVar(&o.Stream, "account", "", "print only the records of this account, `ID`, or of registry, reservations or operators")
	flags.StringVar(&from, "from", "", "the first day or instant, `T`")
	flags.StringVar(&to, "to", "", "the last day, or the first instant that does not count, `T`")
	return c
}

// printDump prints a dump. Progress is shown only where it does not run into the lines.
func printDump(c *cobra.Command, o journal.DumpOptions) error {
	signal.Ignore(syscall.SIGPIPE) // so that the journal is closed although nobody reads on
	if terminal.Is(os.Stderr) && !terminal.Is(os.Stdout) {
		p := terminal.NewProgress(c.ErrOrStderr(), true)
		defer p.End()
		o.Progress = shown(p)
	}
	out := &output{Writer: c.OutOrStdout()}
	err := journal.Dump(o, out)
	if errors.Is(out.err, syscall.EPIPE) {
		return nil // the reader has seen enough
	}
	return err
}

// output remembers why a write failed.
type output struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (n int, err error) {
	if n, err = o.Writer.Write(b); err != nil {
		o.err = err
	}
	return n, err
}
