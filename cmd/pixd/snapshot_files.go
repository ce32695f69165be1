package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/cmd/terminal"
	"pixd/snapshot"
)

func snapshotVerify() *cobra.Command {
	var o journal.SnapshotOptions
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a snapshot, and derive every balance in it again",
		Long: "Checks the checksum at the file's end and that of each file in it, unpacks it, and does with the journal\n" +
			"in it what pixd journal verify does: every checksum and chain, every balance and every row derived again\n" +
			"from the records. What the snapshot says of itself must be what its records come to. Exit status 1, with\n" +
			"the reason, where it fails. Progress goes to standard error. Amounts are base units.",
		Example: "  pixd snapshot verify pixd-data/snapshots/pixd-20260131T120000Z-4711.snap",
		Args:    exactly(1, "the snapshot's file"),
		RunE: func(c *cobra.Command, args []string) error {
			o.File = args[0]
			v, err := withProgress(c, &o, journal.VerifySnapshot)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), totals(v)+"ok\n")
			return err
		},
	}
	c.Flags().StringVar(&o.TempDir, "temp-dir", os.TempDir(), "where the snapshot is unpacked and rows are sorted")
	return c
}

func snapshotRestore() *cobra.Command {
	var o journal.SnapshotOptions
	c := &cobra.Command{
		Use:   "restore FILE --data-dir DIR",
		Short: "Make a data folder of a snapshot",
		Long: "Verifies a snapshot as pixd snapshot verify does, and makes a data folder of it: DIR must not exist, or be\n" +
			"empty. The folder is in place once all is well; after an error nothing is there. It prints what the\n" +
			"snapshot says of itself and what the restored records come to.\n\n" +
			"Payments since the snapshot are missing in the folder. pixd serve refuses it without\n" +
			"--accept-restored-gap: a merchant who repeats a payment of that time pays it twice. The simulator's own\n" +
			"book and the operators' token are in no snapshot.",
		Example: "  pixd snapshot restore pixd-20260131T120000Z-4711.snap --data-dir ./restored",
		Args:    exactly(1, "the snapshot's file"),
		RunE: func(c *cobra.Command, args []string) error {
			o.File, o.Now = args[0], time.Now()
			v, err := withProgress(c, &o, journal.RestoreSnapshot)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), totals(v)+next(v.Manifest, o.DataDir))
			return err
		},
	}
	c.Flags().StringVar(&o.DataDir, "data-dir", "", "the new data `FOLDER`")
	c.Flags().StringVar(&o.TempDir, "temp-dir", os.TempDir(), "where rows are sorted, some 110 bytes for each record")
	requireFlags(c, "data-dir")
	return c
}

func withProgress(c *cobra.Command, o *journal.SnapshotOptions, do func(journal.SnapshotOptions) (*journal.VerifiedSnapshot, error)) (*journal.VerifiedSnapshot, error) {
	if _, err := os.Stat(o.TempDir); err != nil {
		return nil, fmt.Errorf("--temp-dir: %w", err)
	}
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	o.Context = ctx
	p := terminal.NewProgress(c.ErrOrStderr(), terminal.Is(os.Stderr))
	defer p.End()
	o.Progress = shown(p)
	v, err := do(*o)
	if engine.Canceled(err) {
		err = errors.New("stopped by a signal; what was unpacked is removed")
	}
	return v, err
}

// totals shows what a snapshot says of itself beside what its records come to.
func totals(v *journal.VerifiedSnapshot) string {
	m, found := v.Manifest, &v.Found
	type total struct {
		name     string
		says, is any // in the snapshot's manifest, and in its records
	}
	sums := rows([]string{"", ">snapshot", ">records in it"}, []total{
		{"position", m.Position(), found.Position},
		{"accounts", m.Accounts, found.Accounts},
		{"balance", m.Balance, &found.Balance},
		{"pending", m.Pending, &found.Pending},
		{"med held", m.MEDHeld, &found.MEDHeld},
	}, func(t *total) table.Row { return table.Row{t.name, t.says, t.is} })
	return fmt.Sprintf("%s, made %s by pixd %s: %d records, %d rows\n%s", m.Name(), m.CreatedAt.Format(time.RFC3339), terminal.Plain(m.Engine), found.Records, found.Rows, sums)
}

// next says how to go on with a restored folder.
func next(m *snapshot.Manifest, dir string) string {
	sim := ""
	if m.SimDir != "" {
		sim = " --sim-dir " + terminal.Plain(m.SimDir)
	}
	return fmt.Sprintf("restored to %s; payments since %s are missing in it\n"+
		"pixd serve --data-dir %s%s --accept-restored-gap\n", terminal.Plain(dir), m.CreatedAt.Format(time.RFC3339), terminal.Plain(dir), sim)
}
