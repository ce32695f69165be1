package bench

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"

	"pixd/cmd/terminal"
)

// WriteText writes the report for people: a table with a row for each scenario, and below it what
// failed, and the audit.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	t := terminal.NewTable()
	t.AppendHeader(table.Row{"scenario", "rate", "requests/s", "errors", "p50", "p90", "p99", "p99.9", "max", "engine CPU", "per request", "memory", "generator CPU"})
	terminal.RightAligned(t, "rate", "requests/s", "errors", "p50", "p90", "p99", "p99.9", "max", "engine CPU", "per request", "memory", "generator CPU")
	for i := range r.Runs {
		t.AppendRow(r.Runs[i].row())
	}
	b.WriteString(t.Render() + "\n")
	for i := range r.Runs {
		r.Runs[i].remarks(&b)
	}
	if r.Interrupted {
		b.WriteString("the load was interrupted: these are the figures until then\n")
	}
	r.Audit.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Run) row() table.Row {
	rate := "max"
	if r.Rate > 0 {
		rate = humanize.Comma(int64(r.Rate))
	}
	return table.Row{
		terminal.Plain(r.Scenario), rate, humanize.CommafWithDigits(r.PerSecond, 0), humanize.Comma(int64(r.Sent - r.Done)),
		micros(r.Latency.P50), micros(r.Latency.P90), micros(r.Latency.P99), micros(r.Latency.P999), micros(r.Latency.Max),
		fmt.Sprintf("%.2f", r.Engine.Cores), micros(int64(r.Engine.PerDone)), humanize.IBytes(r.Engine.MaxMemory), fmt.Sprintf("%.2f", r.Generator.Cores),
	}
}

// micros shows microseconds in three digits.
func micros(n int64) string {
	d := time.Duration(n) * time.Microsecond
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.String()
}

// remarks writes what a row has no room for.
func (r *Run) remarks(b *strings.Builder) {
	var all []string
	for _, e := range r.Errors {
		all = append(all, fmt.Sprintf("%s %s", humanize.Comma(int64(e.Count)), terminal.Plain(e.Kind)))
	}
	if len(all) > 0 {
		fmt.Fprintf(b, "%s: errors: %s", r.Scenario, strings.Join(all, ", "))
		if r.Refused.Max > 0 {
			fmt.Fprintf(b, "; refusals took p50 %s, p99 %s, max %s", micros(r.Refused.P50), micros(r.Refused.P99), micros(r.Refused.Max))
		}
		b.WriteString("\n")
	}
	if r.Prepared < 1 {
		fmt.Fprintf(b, "%s: %.1f %% of the requests were signed during the load, which is in the generator's CPU\n", r.Scenario, 100*(1-r.Prepared))
	}
}

// write writes the audit's result.
func (a *Audit) write(b *strings.Builder) {
	verdict := "the books agree"
	if !a.OK() {
		verdict = fmt.Sprintf("THE BOOKS DIFFER, %d differences", a.Found)
	}
	fmt.Fprintf(b, "audit: %s: %s answers, %s accounts, scheme's book %s", verdict, humanize.Comma(int64(a.Answers)), humanize.Comma(int64(a.Accounts)), terminal.Plain(a.Scheme))
	if a.Unknown > 0 {
		fmt.Fprintf(b, ", %s requests without a known outcome", humanize.Comma(int64(a.Unknown)))
	}
	if a.InFlight > 0 {
		fmt.Fprintf(b, ", %s transactions still in flight", humanize.Comma(int64(a.InFlight)))
	}
	fmt.Fprintf(b, " (%.1f s)\n", a.Seconds)
	for _, d := range a.Differences {
		b.WriteString("  " + terminal.Plain(d) + "\n")
	}
	if more := a.Found - len(a.Differences); more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}
