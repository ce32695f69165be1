package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/cmd/terminal"
)

func journalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "journal",
		Short:   "Look into a journal without an engine",
		Long:    "Checks, prints and copies the journal of a stopped engine. It reads files alone, and needs no token.",
		Example: "  pixd journal verify --data-dir ./pixd-data\n  pixd journal dump --data-dir ./pixd-data",
		Args:    cobra.NoArgs, // an unknown subcommand is an error, not a call for help
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(verifyCommand(), dumpCommand(), cutCommand())
	return c
}

func verifyCommand() *cobra.Command {
	o := journal.VerifyOptions{DataDir: engine.Defaults().DataDir, Log: slog.New(slog.DiscardHandler)}
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check every record, and derive every balance and row again",
		Long: "Checks each record's checksum and the chains over records and batches, derives every balance\n" +
			"again from the records alone, holds each account's head row against them, derives every other\n" +
			"row again and compares both ways (a row that is missing, wrong, or made by no record), and reads\n" +
			"every block of every table. Exempt: claims of days that are dropped by now may be gone, and named\n" +
			"values are not derived. Exit status 1, with the place, at the first thing that does not hold. The\n" +
			"engine must not be running. Progress goes to standard error. Amounts are base units.\n\n" +
			"It counts every record of the journal: those of accounts, which are what `pixd audit` counts, and the\n" +
			"registry's, about accounts, API keys, PIX keys and end-to-end ids.\n\n" +
			"`pixd audit --data-dir` checks balances, work in flight and the scheme's book, and no other rows.",
		Example: "  pixd journal verify --data-dir ./pixd-data",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p := terminal.NewProgress(c.ErrOrStderr(), terminal.Is(os.Stderr))
			o.Progress = shown(p)
			v, err := journal.Verify(o)
			p.End()
			return tellVerified(c, &v, err)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "the engine's data `FOLDER`")
	flags.StringVar(&o.TempDir, "temp-dir", "", "`FOLDER` in which rows are sorted, some 110 bytes for each record (default the system's folder for temporary files)")
	return c
}

func tellVerified(c *cobra.Command, v *journal.Verified, err error) error {
	out := c.OutOrStdout()
	if err != nil {
		if v.Batches > 0 {
			fmt.Fprintf(out, "verified until the damage: %d records in %d batches\n", v.Records, v.Batches)
		}
		return err
	}
	newest := ""
	if v.Batches > 0 {
		newest = fmt.Sprintf(" (newest at %s)", pix.Millis(v.Time))
	}
	fmt.Fprintf(out, "records   %d (%d of accounts, %d of the registry)\nbatches   %d%s\nrows      %d\naccounts  %d\n",
		v.Records, v.OfAccounts, v.Records-v.OfAccounts, v.Batches, newest, v.Rows, v.Accounts)
	fmt.Fprintf(out, "balance   %v\npending   %v\nmed held  %v\nok\n", &v.Balance, &v.Pending, &v.MEDHeld)
	return nil
}
