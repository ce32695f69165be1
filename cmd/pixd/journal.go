package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"pixd/actors/ledger"
	"pixd/cmd/engine"
)

func journalCommand() *cobra.Command {
	c := &cobra.Command{Use: "journal", Short: "Look into a journal without an engine", Example: "  pixd journal verify --data-dir ./pixd-data"}
	c.AddCommand(verifyCommand())
	return c
}

func verifyCommand() *cobra.Command {
	dir := engine.Defaults().DataDir
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check every record and derive every balance again",
		Long: "Checks each record's checksum and the chains over records and batches, derives every balance\n" +
			"again from the records alone, and holds each account's head row against them. Exit status 1,\n" +
			"with the place, at the first thing that does not hold. The engine must not be running.",
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
			fmt.Fprintf(out, "records   %d\nbatches   %d (newest at %s)\naccounts  %d\n",
				v.Records, v.Batches, ledger.Millis(v.Time), v.Accounts)
			fmt.Fprintf(out, "balance   %d\npending   %d\nmed held  %d\nok\n", v.Balance, v.Pending, v.MEDHeld)
			return nil
		},
	}
	c.Flags().StringVar(&dir, "data-dir", dir, "the engine's data folder")
	return c
}
