package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"pixd/cmd/terminal"
)

// WriteText writes the report for people: a table with a row for each scenario, and below it what
// failed, and the audit.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	if len(r.Neighbours) > 0 {
		r.writeNeighbours(&b) // whose runs are in the files
	} else {
		r.writeRuns(&b)
	}
	if r.Interrupted {
		b.WriteString("the load was interrupted: these are the figures until then\n")
	}
	r.Audit.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// runTextColumns are the columns of the table of all runs, as text.
var runTextColumns = []string{
	"scenario", "rate", "requests/s", "errors", "p50", "p90", "p99", "p99.9", "max",
	"engine CPU", "per request", "memory", "generator CPU", "sync p99", "stolen",
}

// writeRuns writes the table of the runs, and below it what failed.
func (r *Report) writeRuns(b *strings.Builder) {
	var rows [][]string
	for i := range r.Runs {
		rows = append(rows, r.Runs[i].row())
	}
	b.WriteString(renderTable(runTextColumns, rows) + "\n")
	for i := range r.Runs {
		r.Runs[i].remarks(b)
	}
}

// renderTable renders rows whose first cell is a name and whose others are figures.
func renderTable(columns []string, rows [][]string) string {
	t := terminal.NewTable()
	t.AppendHeader(tableRow(columns))
	terminal.RightAligned(t, columns[1:]...)
	for _, r := range rows {
		t.AppendRow(tableRow(r))
	}
	return t.Render()
}

func tableRow(cells []string) (row table.Row) {
	for _, c := range cells {
		row = append(row, c)
	}
	return row
}

// row has a run's figures in the order of runTextColumns.
func (r *Run) row() []string {
	rate := "max"
	if r.Rate > 0 {
		rate = showCount(r.Rate)
	}
	return []string{
		legible(r.Scenario), rate, showDigits(r.PerSecond), showCount(r.Sent - r.Done),
		showMicros(float64(r.Latency.P50)), showMicros(float64(r.Latency.P90)), showMicros(float64(r.Latency.P99)), showMicros(float64(r.Latency.P999)), showMicros(float64(r.Latency.Max)),
		fmt.Sprintf("%.2f", r.Engine.Cores), showMicros(r.Engine.PerDone), showSize(r.Engine.MaxMemory), fmt.Sprintf("%.2f", r.Generator.Cores),
		r.syncP99(), r.stolen(),
	}
}

// remarks writes what a row has no room for.
func (r *Run) remarks(b *strings.Builder) {
	if len(r.Errors) > 0 {
		fmt.Fprintf(b, "%s: errors: %s", r.Scenario, showKinds(r.Errors))
		if r.Refused.Max > 0 {
			fmt.Fprintf(b, "; refusals took p50 %s, p99 %s, max %s from when they were sent", showMicros(float64(r.Refused.P50)), showMicros(float64(r.Refused.P99)), showMicros(float64(r.Refused.Max)))
		}
		b.WriteString("\n")
	}
	if r.Prepared < 1 {
		fmt.Fprintf(b, "%s: %.1f %% of the requests were signed during the load, which is in the generator's CPU\n", r.Scenario, 100*(1-r.Prepared))
	}
}

// showKinds lists how often each kind of error was.
func showKinds(errors []Count) string {
	all := make([]string, len(errors))
	for i, e := range errors {
		all[i] = showCount(e.Count) + " × " + legible(e.Kind)
	}
	return strings.Join(all, ", ")
}

// write writes the audit's result.
func (a *Audit) write(b *strings.Builder) {
	v := a.verdict()
	verdict := strings.ToLower(v.Headline[:1]) + strings.TrimSuffix(v.Headline[1:], ".")
	if !a.OK() {
		verdict = "THE BOOKS DIFFER, " + plural(a.Found, "difference")
	} else if a.Accounts == 0 {
		b.WriteString("audit: " + verdict + "\n")
		return
	}
	fmt.Fprintf(b, "audit: %s: %s answers, %s accounts, scheme's book %s", verdict, showCount(a.Answers), showCount(a.Accounts), legible(a.Scheme))
	if a.Unknown > 0 {
		fmt.Fprintf(b, ", %s requests without a known outcome", showCount(a.Unknown))
	}
	if a.InFlight > 0 {
		fmt.Fprintf(b, ", %s transactions still in flight", showCount(a.InFlight))
	}
	fmt.Fprintf(b, " (%.1f s)\n", a.Seconds)
	if len(a.Statuses) > 0 {
		b.WriteString("  " + a.sayEnds() + "\n")
	}
	for _, d := range a.Differences {
		b.WriteString("  " + legible(d) + "\n")
	}
	if more := a.Found - len(a.Differences); more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}
