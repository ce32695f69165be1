package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pixd/cmd/operator"
	"pixd/cmd/terminal"
)

// statementFlags are the flags of the statement command.
type statementFlags struct {
	adminFlags
	account, from, to string
	csv               bool
}

func statementCommand() *cobra.Command {
	f := &statementFlags{}
	c := &cobra.Command{
		Use:   "statement --account ID --from T --to T",
		Short: "Print an account's movements, the oldest first",
		Long: "Prints an account's statement: every movement that is booked, the oldest first. Those are settled\n" +
			"movements, and payouts and refunds that were rejected or failed, which move no money. What is in\n" +
			"flight is not among them. --from and --to are days in UTC, both of which count, or instants, such as\n" +
			"2026-01-31T12:00:00-03:00; then --to is the first instant that does not count. movement is by how much\n" +
			"the balance has changed. A late settlement stays at the place where the payout had failed;\n" +
			"completed_at says when it settled.\n\n" +
			"--csv prints CSV in UTF-8 with a row of column names, amounts in BRL with a decimal point, and a '\n" +
			"before texts that a spreadsheet would compute. --json prints the API's list, with a movement on each\n" +
			"line and amounts in base units (1.00 BRL = 10000). A statement may be of any length. If it breaks off,\n" +
			"the exit status is 1 and what was printed is incomplete. The engine waits two minutes for a reader\n" +
			"that pauses." + adminHelp,
		Example: "  pixd statement --account acc_7oi7njakvirg4 --from 2026-01-01 --to 2026-01-31 --csv > january.csv",
		Args:    exactly(0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.Add(c)
	c.Flags().StringVar(&f.account, "account", "", "the account's `ID`, as `pixd account list` has it")
	c.Flags().StringVar(&f.from, "from", "", "the first day or instant, `T`")
	c.Flags().StringVar(&f.to, "to", "", "the last day, or the first instant that does not count, `T`")
	c.Flags().BoolVar(&f.csv, "csv", false, "print CSV, for spreadsheets")
	requireFlags(c, "account", "from", "to")
	return c
}

func (f *statementFlags) run(c *cobra.Command) error {
	if f.csv && f.JSON {
		return errors.New("give --csv or --json, not both")
	}
	if f.from == "" || f.to == "" { // to the API these would be no bound
		return errors.New("--from and --to need a day or an instant, such as 2026-01-31")
	}
	account, err := operator.Segment(f.account)
	if err != nil {
		return err
	}
	o, err := f.Client()
	if err != nil {
		return err
	}
	format, kind := "json", "application/json"
	if f.csv {
		format, kind = "csv", "text/csv"
	}
	q := url.Values{"from": {f.from}, "to": {f.to}, "format": {format}}
	d, err := o.Download(c.Context(), "/admin/accounts/"+account+"/statement?"+q.Encode(), kind, operator.Patience)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if terminal.Is(os.Stderr) && !terminal.Is(os.Stdout) {
		p := terminal.NewProgress(c.ErrOrStderr(), true)
		defer p.End()
		d.Each = func(got int64) { p.Now(func(took time.Duration) string { return downloadLine(got, took) }) }
	}
	return f.print(c.OutOrStdout(), d)
}

func downloadLine(got int64, took time.Duration) string {
	return fmt.Sprintf("%.1f MB, %v", float64(got)/1e6, took.Round(time.Second))
}

// print prints a statement as it arrives. An error says that the output is incomplete.
func (f *statementFlags) print(w io.Writer, from io.Reader) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var err error
	switch {
	case f.csv:
		_, err = io.Copy(w, from)
	case f.JSON:
		err = passJSON(out, from)
	default:
		err = movements(out, from)
	}
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return fmt.Errorf("the output is incomplete: %w", err)
	}
	return nil
}

// passJSON prints a long list in JSON as printJSON does, but keeps its lines.
func passJSON(out *bufio.Writer, from io.Reader) error {
	in := bufio.NewReader(from)
	for {
		r, _, err := in.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return out.WriteByte('\n')
		case err != nil:
			return err
		case r == '\n':
			if err := out.WriteByte('\n'); err != nil {
				return err
			}
		default:
			writeJSON(out, r)
		}
	}
}
