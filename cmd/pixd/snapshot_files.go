package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/restored"
	"pixd/cmd/journal"
	"pixd/cmd/serving"
	"pixd/cmd/terminal"
	"pixd/snapshot"
)

func snapshotVerify() *cobra.Command {
	var o journal.SnapshotOptions
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a snapshot, and derive every balance in it again",
		Long: "Checks the checksum at the file's end and that of each file, also of those that an increment has from\n" +
			"other snapshots, unpacks them, and does with the journal in them what pixd journal verify does: every\n" +
			"checksum and chain, every balance and every row derived again from the records. What the snapshot says\n" +
			"of itself must be what its records come to. Exit status 1, with the reason, where it fails.\n" +
			"Progress goes to standard error. Amounts are base units.",
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
	c.Flags().StringVar(&o.TempDir, "temp-dir", os.TempDir(), "`FOLDER` in which the snapshot is unpacked and rows are sorted")
	return c
}

func snapshotRestore() *cobra.Command {
	var o journal.SnapshotOptions
	var until string
	c := &cobra.Command{
		Use:   "restore FILE --data-dir DIR [--until TIME]",
		Short: "Make a data folder of a snapshot",
		Long: "Verifies a snapshot as pixd snapshot verify does, and makes a data folder of it: DIR must not exist, or be\n" +
			"empty. The folder is in place once all is well; after an error nothing is there. It prints what the\n" +
			"snapshot says of itself and what the restored records come to.\n\n" +
			"With --until the folder is as the journal was at that instant: the last batch committed at or before it is\n" +
			"the newest, and every row is what the records up to there make of it. --dry-run does all of it in --temp-dir,\n" +
			"prints what would be there, and removes it.\n\n" +
			"What happened since the snapshot is missing in the folder: the next pixd serve asks the scheme for it, and\n" +
			"books it before it serves merchants. The simulator's own book and the operators' token are in no snapshot.",
		Example: "  pixd snapshot restore pixd-20260131T120000Z-4711.snap --data-dir ./restored\n" +
			"  pixd snapshot restore pixd-20260131T120000Z-4711.snap --data-dir ./restored --until 2026-01-31T08:30:00-03:00",
		Args: exactly(1, "the snapshot's file"),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if o.Until, err = readUntil(c, until); err != nil {
				return err
			}
			o.File, o.Now = args[0], time.Now()
			v, err := withProgress(c, &o, journal.RestoreSnapshot)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), totals(v)+next(v, &o))
			return err
		},
	}
	c.Flags().StringVar(&o.DataDir, "data-dir", "", "the new data `FOLDER`")
	c.Flags().StringVar(&o.TempDir, "temp-dir", os.TempDir(), "`FOLDER` in which rows are sorted, some 110 bytes for each record; with --dry-run also where the snapshot is unpacked")
	c.Flags().StringVar(&until, "until", "", untilHelp)
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "make nothing, and print what would be there")
	requireFlags(c, "data-dir")
	return c
}

func withProgress(c *cobra.Command, o *journal.SnapshotOptions, do func(journal.SnapshotOptions) (*journal.VerifiedSnapshot, error)) (*journal.VerifiedSnapshot, error) {
	if _, err := os.Stat(o.TempDir); err != nil {
		return nil, fmt.Errorf("--temp-dir: %w", err)
	}
	var v *journal.VerifiedSnapshot
	err := whileRunning(c, "unpacked", func(ctx context.Context, progress func(journal.Progress)) (err error) {
		o.Context, o.Progress = ctx, progress
		v, err = do(*o)
		return err
	})
	return v, err
}

// whileRunning does something that takes long: it shows progress, and a signal ends it, with nothing left
// behind. made is the word for what it makes.
func whileRunning(c *cobra.Command, made string, do func(context.Context, func(journal.Progress)) error) error {
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	p := terminal.NewProgress(c.ErrOrStderr(), terminal.Is(os.Stderr))
	defer p.End()
	err := do(ctx, shown(p))
	if serving.Canceled(err) {
		err = fmt.Errorf("stopped by a signal; what was %s is removed", made)
	}
	return err
}

// totalNames are the names of the totals of a journal.
var totalNames = []string{"position", "accounts", "balance", "pending", "med held"}

// totalsOf are the totals of a verified journal, in the order of totalNames.
func totalsOf(v *journal.Verified) []any {
	return []any{v.Position, v.Accounts, &v.Balance, &v.Pending, &v.MEDHeld}
}

// sideBySide shows the totals of several journals beside each other.
func sideBySide(columns []string, totals ...[]any) string {
	var lines []table.Row
	for i, name := range totalNames {
		line := table.Row{name}
		for _, of := range totals {
			line = append(line, of[i])
		}
		lines = append(lines, line)
	}
	return rows(append([]string{""}, columns...), lines, func(r *table.Row) table.Row { return *r })
}

// totals shows what a snapshot says of itself beside what its records come to, and what is left of
// them where it was cut.
func totals(v *journal.VerifiedSnapshot) string {
	m, found := v.Manifest, &v.Found
	columns, of := []string{">snapshot", ">records in it"}, [][]any{{m.Position(), m.Accounts, m.Balance, m.Pending, m.MEDHeld}, totalsOf(found)}
	cut := ""
	if v.Cut != nil {
		columns, of = append(columns, ">left of them"), append(of, totalsOf(&v.Cut.Left))
		cut = cutLine(v.Cut)
	}
	return fmt.Sprintf("%s, made %s by pixd %s: %d records, %d rows\n%s%s", m.Name(), m.CreatedAt.Format(time.RFC3339), terminal.Plain(m.Engine), found.Records, found.Rows, upon(m), sideBySide(columns, of...)) + cut
}

// upon says which other snapshots an increment is made of.
func upon(m *snapshot.Manifest) string {
	if m.Base == "" {
		return ""
	}
	return "an increment; it needs " + strings.Join(m.Needs(), ", ") + "\n"
}

// next says how to go on with a restored folder.
func next(v *journal.VerifiedSnapshot, o *journal.SnapshotOptions) string {
	if o.DryRun {
		return fmt.Sprintf("a dry run: %s is as it was\n", terminal.Plain(o.DataDir))
	}
	return "restored to " + serveAgain(o.DataDir, v.Manifest.SimDir, v.Mark)
}

// serveAgain names a folder that was made, and says how to serve it.
func serveAgain(dir, simDir string, m *restored.Mark) string {
	sim := ""
	if simDir != "" {
		sim = " --sim-dir " + terminal.Plain(simDir)
	}
	return fmt.Sprintf("%s; the next pixd serve asks the scheme for what happened since %s\n"+
		"pixd serve --data-dir %s%s\n", terminal.Plain(dir), m.Since().Time().Format(time.RFC3339Nano), terminal.Plain(dir), sim)
}
