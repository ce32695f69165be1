package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/goccy/go-json"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/cmd/operator"
	"pixd/cmd/snapshots"
	"pixd/cmd/terminal"
	"pixd/httpapi/admin"
)

func snapshotCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Make, list, verify and restore snapshots",
		Long: "Makes, lists, verifies and restores snapshots. A snapshot is a file with everything that the engine\n" +
			"keeps, as it was at one moment, or, as an increment, with what another one has not. It has the merchants' data and the service's secrets: keep it as safe\n" +
			"as the data folder. The simulator's book and the operators' token are not in it.",
		Example: "  pixd snapshot create",
		Args:    cobra.NoArgs, // an unknown subcommand is an error, not a call for help
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(snapshotPack(), snapshotCreate(), snapshotList(), snapshotVerify(), snapshotRestore())
	return c
}

// packWords are the arguments with which an engine has another process pack a snapshot.
var packWords = []string{"snapshot", "pack"}

func snapshotPack() *cobra.Command {
	return &cobra.Command{
		Use:    packWords[1],
		Short:  "Pack a copy of a journal or verify a snapshot, as a running engine asks on standard input",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return snapshots.PlayPacker(os.Stdin, os.Stdout) },
	}
}

func snapshotCreate() *cobra.Command {
	f := &adminFlags{}
	var base string
	c := &cobra.Command{
		Use:   "create [--base FILE|auto]",
		Short: "Make a snapshot of a running engine",
		Long: "Has a running engine make a snapshot, waits for it, and prints the file's path on the engine's machine.\n" +
			"Requests go on meanwhile. If the command is ended, the engine goes on. Progress goes to standard error.\n\n" +
			"With --base the snapshot is an increment: it has only what another snapshot in the engine's folder has not, so\n" +
			"it is made sooner and is smaller. It cannot be restored without the snapshots beside it that list --json says it\n" +
			"needs. auto stands for the newest one that can be used; where there is none, everything is packed." + adminHelp,
		Example: "  pixd snapshot create\n  pixd snapshot create --base auto",
		Args:    exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("base") && base == "" {
				return errors.New("--base is empty")
			}
			return f.createSnapshot(c, base)
		},
	}
	f.Add(c)
	c.Flags().StringVar(&base, "base", "", "make an increment upon the snapshot of this `NAME` in the engine's folder, or upon the newest one (auto)")
	return c
}

// snapshotRun is the making of a snapshot, in an answer of the operator API.
type snapshotRun struct {
	Status    string
	StartedAt string `json:"started_at"`
	Stage     *string
	Done      int64 `json:"bytes_done"`
	Total     int64 `json:"bytes_total"`
	Path      *string
	Error     *string
}

// pollEvery is the time between two questions whether the snapshot is finished.
const pollEvery = 100 * time.Millisecond

func (f *adminFlags) createSnapshot(c *cobra.Command, base string) error {
	o, err := f.Client()
	if err != nil {
		return err
	}
	var body any
	if base != "" {
		body = map[string]string{"base": base}
	}
	var begun snapshotRun
	if err := o.Post(c.Context(), "/admin/snapshots", body, &begun); err != nil {
		return err
	}
	p := terminal.NewProgress(c.ErrOrStderr(), terminal.Is(os.Stderr))
	defer p.End()
	for {
		at, raw, err := snapshotState(c.Context(), o, begun.StartedAt)
		switch {
		case err != nil:
			return err
		case at.Error != nil:
			return errors.New("the engine made no snapshot: " + terminal.Plain(*at.Error))
		case at.Path != nil:
			p.End()
			if f.JSON {
				return printJSON(c.OutOrStdout(), raw)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), terminal.Plain(*at.Path))
			return err
		}
		p.Now(func(took time.Duration) string { return at.line(took) })
		select {
		case <-c.Context().Done():
			return c.Context().Err()
		case <-time.After(pollEvery):
		}
	}
}

// snapshotState asks what became of the snapshot that was begun at a time.
func snapshotState(ctx context.Context, o *operator.Client, begun string) (at snapshotRun, raw json.RawMessage, err error) {
	got, err := o.Do(ctx, http.MethodGet, "/admin/snapshots?limit=1", nil)
	if err != nil {
		return at, nil, err
	}
	var l struct{ Running, Last json.RawMessage }
	if err := json.Unmarshal(got, &l); err != nil {
		return at, nil, fmt.Errorf("%s answers no list of snapshots: %w", o.Base, err)
	}
	for _, raw := range []json.RawMessage{l.Last, l.Running} {
		var run *snapshotRun
		if err := json.Unmarshal(raw, &run); err != nil {
			return at, nil, fmt.Errorf("%s answers no list of snapshots: %w", o.Base, err)
		}
		if run != nil && run.StartedAt == begun {
			return *run, raw, nil
		}
	}
	return at, nil, errors.New("the engine no longer says what became of the snapshot: pixd snapshot list shows whether there is one")
}

func (r *snapshotRun) line(took time.Duration) string {
	line := "starting"
	if r.Stage != nil {
		line = terminal.Plain(*r.Stage)
	}
	if r.Total > 0 {
		line += ": " + bytesOf(r.Done, r.Total)
	}
	return line + fmt.Sprintf(", %v", took.Round(time.Second))
}

func snapshotList() *cobra.Command {
	f := &adminFlags{}
	var dir string
	c := listing[admin.Snapshot]{
		use:   "list [--snapshot-dir DIR]",
		short: "List snapshots, newest first",
		long: "Lists the snapshots of a running engine, newest first, or with --snapshot-dir those in a folder, without\n" +
			"an engine. Amounts are base units. It reads what each file says of itself; pixd snapshot verify checks\n" +
			"whether that is true.",
		example: "  pixd snapshot list\n  pixd snapshot list --snapshot-dir /mnt/backup",
		path:    "/admin/snapshots", show: snapshotTable,
	}.command(f)
	f.Add(c)
	c.Flags().StringVar(&dir, "snapshot-dir", "", "the snapshots in this `FOLDER`, without an engine")
	listEngine := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("snapshot-dir") {
			return f.listFolder(c, dir)
		}
		return listEngine(c, args)
	}
	return c
}

// listFolder lists the snapshots in a folder of this machine.
func (f *adminFlags) listFolder(c *cobra.Command, dir string) error {
	if _, err := os.ReadDir(dir); err != nil {
		return fmt.Errorf("--snapshot-dir: %w", err)
	}
	all, err := snapshots.List(nil, dir, time.Now())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"data": all, "next_cursor": nil})
	if err != nil {
		return err
	}
	var l list
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	return showEntries(c, f, l, snapshotTable, "")
}

func snapshotTable(all []admin.Snapshot) string {
	columns := []string{"file", "time", ">position", ">accounts", ">balance", ">size", "base", "error"}
	return rows(columns, all, func(s *admin.Snapshot) table.Row {
		if s.Err != nil {
			return table.Row{s.File, "", "", "", "", humanize.IBytes(uint64(s.Size)), "", *s.Err}
		}
		return table.Row{
			s.File, moment(orZero(s.CreatedAt)), orZero(s.Position), orZero(s.Accounts), s.Balance, humanize.IBytes(uint64(s.Size)), orZero(s.Base), orElse(s.Warning, "", terminal.Plain),
		}
	})
}
