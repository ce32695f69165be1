package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-json"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pixd/actors/audit"
	"pixd/cmd/journal"
	"pixd/cmd/terminal"
)

// auditFlags are the flags of the audit command: they name a running engine or the files to
// audit.
type auditFlags struct {
	adminFlags
	dataDir, simDir string
}

func auditCommand() *cobra.Command {
	f := &auditFlags{}
	c := &cobra.Command{
		Use:   "audit",
		Short: "Hold every account's books, and the scheme's, against each other",
		Long: "Derives every account from its records and tells, to the base unit, where credits less debits are not\n" +
			"the balance, where what is held is not the work in flight, and where the engine and the scheme have\n" +
			"settled different sums. Work in flight is told and is no difference. It asks a running engine, whose\n" +
			"requests go on; what the scheme has told and the engine has not yet heard is waited for, for 30 s at\n" +
			"most. With --data-dir it reads the files of an engine that does not run, and writes none. Exit status 1,\n" +
			"and the rows that differ, where books differ. Rows of work that has ended, claims and payments received\n" +
			"are not looked at: `pixd journal verify` does that, of an engine that does not run. What it counts as\n" +
			"records are those of accounts: verify also counts the registry's, about accounts, API keys, PIX keys and\n" +
			"end-to-end ids." + adminHelp,
		Example: "  pixd audit\n  pixd audit --data-dir ./pixd-data",
		Args:    exactly(0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.Add(c)
	c.Flags().StringVar(&f.dataDir, "data-dir", "", "the data `FOLDER` of an engine that does not run, instead of --admin")
	c.Flags().StringVar(&f.simDir, "sim-dir", "", "with --data-dir: the simulator's `FOLDER` (default <data-dir>/sim)")
	return c
}

func (f *auditFlags) run(c *cobra.Command) error {
	offline, err := f.offline(c)
	if err != nil {
		return err
	}
	read := f.live
	if offline {
		read = f.files
	}
	raw, err := read(c)
	if err != nil {
		return err
	}
	var report audit.Report
	if err := json.Unmarshal(raw, &report); err != nil || report.Balance == nil || report.Pending == nil || report.MEDHeld == nil {
		return errors.Join(fmt.Errorf("%s answers no audit", f.URL), err)
	}
	if f.JSON {
		err = printJSON(c.OutOrStdout(), raw)
	} else {
		_, err = io.WriteString(c.OutOrStdout(), audited(&report))
	}
	if n := len(report.Differences); err == nil && n > 0 {
		err = fmt.Errorf("the books differ: %d found", n)
	}
	return err
}

// files audits the files of an engine that does not run.
func (f *auditFlags) files(c *cobra.Command) (json.RawMessage, error) {
	found, err := journal.Audit(c.Context(), journal.AuditOptions{DataDir: f.dataDir, SimDir: f.simDir})
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

// offline reports whether the files of --data-dir are audited and not a running engine. A
// flag on the command line decides before environment variables, which may set both.
func (f *auditFlags) offline(c *cobra.Command) (bool, error) {
	files, engine := given(c, "data-dir"), given(c, f.Flag)
	if files == engine {
		files, engine = c.Flags().Changed("data-dir"), c.Flags().Changed(f.Flag)
	}
	switch {
	case files && engine:
		return false, errors.New("give --admin or --data-dir: the books of a running engine, or of one that does not run")
	case !files && f.simDir != "" && given(c, "sim-dir"):
		return false, errors.New("--sim-dir goes with --data-dir")
	}
	return files, nil
}

// given reports whether a flag was set on the command line: its value then differs from that
// of its environment variable.
func given(c *cobra.Command, name string) bool {
	f := c.Flags().Lookup(name)
	env, ok := os.LookupEnv("PIXD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	return f.Changed && (!ok || env != f.Value.String())
}

// audited shows a report as text: the accounts, the differences, and the sums.
func audited(r *audit.Report) string {
	var b strings.Builder
	if len(r.Rows) > 0 {
		columns := []string{"account", ">balance", ">pending", ">in flight", ">med held", ">sent", ">received", ">returned by", ">returned to", ">differences"}
		b.WriteString(rows(columns, r.Rows, func(a *audit.ReportedAccount) table.Row {
			return table.Row{
				a.ID, int64(a.Balance), int64(a.Pending), a.InFlight, int64(a.MEDHeld), int64(a.Sent), int64(a.Received), int64(a.ReturnedBy), int64(a.ReturnedTo), a.Differences,
			}
		}) + "\n")
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "and %d more accounts without a difference\n\n", r.LeftOut)
	}
	if len(r.Differences) > 0 {
		b.WriteString(differences(r.Differences) + "\n")
	}
	b.WriteString(facts([]fact{
		{"read at", moment(r.At)},
		{"accounts", fmt.Sprint(r.Accounts)},
		{"records", fmt.Sprintf("%d of accounts; those of the registry are not looked at", r.Records)},
		{"balance", r.Balance.String()},
		{"pending", r.Pending.String()},
		{"in flight", fmt.Sprint(r.InFlight)},
		{"med held", r.MEDHeld.String()},
		{"open cases", fmt.Sprint(r.Cases)},
		{"scheme's book", r.Book},
		{"differences", fmt.Sprint(len(r.Differences))},
	}))
	return b.String()
}

func differences(all []audit.ReportedDifference) string {
	return rows([]string{"account", "differs in", "transaction", "how"}, all, func(d *audit.ReportedDifference) table.Row {
		return table.Row{d.Account, d.Kind, orElse(d.Transaction, "", terminal.Plain), d.Message}
	})
}
