package bench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Write writes the comparison as text: first what the two reports are and in what they differ,
// then a table for each load that both have.
func (c *Comparison) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "A: %s\nB: %s\n", c.A.summary(), c.B.summary())
	for _, d := range c.Differ {
		fmt.Fprintf(&b, "differs: %s\n", d)
	}
	if len(c.Differ) > 0 {
		fmt.Fprintln(&b, "A ratio may come from any of these differences.")
	}
	writeTrouble(&b, "A", c.A)
	writeTrouble(&b, "B", c.B)
	for _, p := range c.Pairs {
		p.write(&b)
	}
	writeAlone(&b, "A", c.OnlyA)
	writeAlone(&b, "B", c.OnlyB)
	_, err := b.WriteTo(w)
	return err
}

func (r *Report) summary() string {
	return fmt.Sprintf("begun %s, %s", r.StartedAt.UTC().Format("2006-01-02 15:04:05 UTC"), named(r.Engine.Version, r.Engine.Commit))
}

// writeTrouble says what makes a report's figures doubtful.
func writeTrouble(w io.Writer, name string, r *Report) {
	if r.Interrupted {
		fmt.Fprintf(w, "%s was interrupted before its time.\n", name)
	}
	if v := r.Audit.verdict(); v.Class != "good" {
		fmt.Fprintf(w, "%s: %s\n", name, v.Headline)
	}
}

func writeAlone(w io.Writer, name string, loads []string) {
	for _, l := range loads {
		fmt.Fprintf(w, "\nonly in %s: %s", name, l)
	}
	if len(loads) > 0 {
		fmt.Fprintln(w)
	}
}

func (p Pair) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", p.Load)
	var rows [][]string
	for _, f := range p.Figures {
		rows = append(rows, []string{f.Name, f.shown(f.A), f.shown(f.B), showRatio(f.Ratio)})
	}
	fmt.Fprintln(w, renderTable([]string{"figure", "A", "B", "B : A"}, rows))
	writeErrors(w, "A", p.A)
	writeErrors(w, "B", p.B)
}

// shown shows a figure; all figures that are compared are above 0 where they are known.
func (r Ratio) shown(v float64) string {
	if v == 0 {
		return "–"
	}
	return r.Show(v)
}

// showRatio shows a ratio with at least three digits; a dash stands for one that is not known.
func showRatio(v float64) string {
	switch {
	case v == 0 || math.IsNaN(v):
		return "–"
	case v >= 1000:
		return "over 1000"
	case v < 0.001:
		return "under 0.001"
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

func writeErrors(w io.Writer, name string, r *Run) {
	if r.failed() == 0 {
		return
	}
	var kinds []string
	for _, e := range r.Errors {
		if len(kinds) == 10 {
			kinds = append(kinds, fmt.Sprintf("and %s", plural(len(r.Errors)-10, "other kind")))
			break
		}
		kinds = append(kinds, legible(e.Kind)+": "+showCount(e.Count))
	}
	fmt.Fprintf(w, "errors in %s: %s of %s (%s)\n", name, showErrors(r.failed(), 0), plural(r.Sent, "request"), strings.Join(kinds, ", "))
}
