package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"pixd/actors/ledger"
	"pixd/cmd/engine"
)

func journalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "journal",
		Short:   "Look into a journal without an engine",
		Example: "  pixd journal verify --data-dir ./pixd-data",
		Args:    cobra.NoArgs, // a word that is no command is an error, not a call for help
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(verifyCommand())
	return c
}

func verifyCommand() *cobra.Command {
	dir := engine.Defaults().DataDir
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check every record and derive every balance again",
		Long: "Checks each record's checksum and the chains over records and batches, derives every balance\n" +
			"again from the records alone, holds each account's head row against them, and reads every block\n" +
			"of every table. Exit status 1, with the place, at the first thing that does not hold. The engine\n" +
			"must not be running. Amounts are base units.",
		Example: "  pixd journal verify --data-dir ./pixd-data",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v, err := engine.Verify(dir, slog.New(slog.DiscardHandler))
			out := c.OutOrStdout()
			if err != nil {
				if v.Batches > 0 {
					fmt.Fprintf(out, "verified until the damage: %d records in %d batches\n", v.Records, v.Batches)
				}
				return err
			}
			newest := ""
			if v.Batches > 0 {
				newest = fmt.Sprintf(" (newest at %s)", ledger.Millis(v.Time))
			}
			fmt.Fprintf(out, "records   %d\nbatches   %d%s\naccounts  %d\n", v.Records, v.Batches, newest, v.Accounts)
			fmt.Fprintf(out, "balance   %v\npending   %v\nmed held  %v\nok\n", &v.Balance, &v.Pending, &v.MEDHeld)
			return nil
		},
	}
	c.Flags().StringVar(&dir, "data-dir", dir, "the engine's data folder")
	return c
}
