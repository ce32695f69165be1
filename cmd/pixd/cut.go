package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/journal"
)

func cutCommand() *cobra.Command {
	o := journal.CutOptions{DataDir: engine.Defaults().DataDir}
	var until string
	c := &cobra.Command{
		Use:   "cut --until TIME --to DIR",
		Short: "Make a data folder as the journal was at an instant",
		Long: "Copies the journal of a stopped engine to DIR, which must not exist, or be empty, as it was at an instant:\n" +
			"the last batch committed at or before it is the newest, and every row is what the records up to there make\n" +
			"of it. The engine's folder is only read; tables are linked where the disk can do that. Everything is verified\n" +
			"before and after, and the folder is in place once all is well; after an error nothing is there.\n\n" +
			"It counts as restored: what happened since the instant is missing in it, and the next pixd serve asks the\n" +
			"scheme for it. The simulator's own book and the operators' token are not copied. Progress goes to standard\n" +
			"error. Amounts are base units.",
		Example: "  pixd journal cut --data-dir ./pixd-data --until 2026-01-31T08:30:00-03:00 --to ./morning",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Until, err = readUntil(c, until); err != nil {
				return err
			}
			o.Now = time.Now()
			return cutFolder(c, o)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "the stopped engine's data `FOLDER`")
	flags.StringVar(&o.To, "to", "", "the new data `FOLDER`")
	flags.StringVar(&o.TempDir, "temp-dir", os.TempDir(), "`FOLDER` in which rows are sorted, some 110 bytes for each record")
	flags.StringVar(&until, "until", "", untilHelp)
	requireFlags(c, "until", "to")
	return c
}

func cutFolder(c *cobra.Command, o journal.CutOptions) error {
	if _, err := os.Stat(o.TempDir); err != nil {
		return fmt.Errorf("--temp-dir: %w", err)
	}
	var made *journal.CutCopy
	err := whileRunning(c, "copied", func(ctx context.Context, progress func(journal.Progress)) (err error) {
		o.Context, o.Progress = ctx, progress
		made, err = journal.CutFolder(o)
		return err
	})
	if err != nil {
		return err
	}
	sim := filepath.Join(o.DataDir, journal.SimFolder)
	if _, err := os.Stat(sim); err != nil {
		sim = ""
	}
	_, err = io.WriteString(c.OutOrStdout(), sideBySide([]string{">before", ">left of it"}, totalsOf(&made.Before), totalsOf(&made.Cut.Left))+cutLine(made.Cut)+
		"cut to "+serveAgain(o.To, sim, made.Mark))
	return err
}

// cutLine says what was cut off.
func cutLine(c *journal.CutJournal) string {
	newest := pix.Millis(c.Time)
	if c.Batches == 0 {
		return fmt.Sprintf("the newest batch is of %v: nothing was to be cut off at %v\n", newest, c.Until)
	}
	return fmt.Sprintf("cut at %v: the newest batch is of %v; cut off after it: %s in %s\n", c.Until, newest,
		english.Plural(int(c.Records), "record", ""), english.Plural(int(c.Batches), "batch", "batches"))
}

const untilHelp = "cut off what was committed after this instant, `TIME`, such as 2026-01-31T08:30:00-03:00"

// readUntil reads the flag --until; 0 where it is not set.
func readUntil(c *cobra.Command, text string) (pix.Millis, error) {
	if !c.Flags().Changed("until") {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, errors.New("--until must be an ISO 8601 time with its offset, such as 2026-01-31T08:30:00-03:00 or 2026-01-31T11:30:00Z")
	}
	return pix.Millis(max(1, at.UnixMilli())), nil // 0 would stand for no flag
}
