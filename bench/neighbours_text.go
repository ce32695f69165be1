package bench

import (
	"fmt"
	"strings"
)

// neighbourColumns are the columns of the table of the scenario neighbours.
var neighbourColumns = []string{
	"beside", "p50 alone", "p50", "p99 alone", "p99", "ratio", "errors",
	"webhook p99 alone", "webhook p99", "webhook ratio", "missing", "greedy: done", "greedy: refused",
}

// cells are a comparison's figures in the order of neighbourColumns; a dash stands for what is
// not known.
func (n *Neighbour) cells() []string {
	a, b := n.Alone, n.Beside
	latency := func(us int64) string {
		if us == 0 {
			return "–"
		}
		return showMicros(float64(us))
	}
	factor := func(f float64) string {
		if f == 0 {
			return "–"
		}
		return fmt.Sprintf("%.2f", f)
	}
	return []string{
		legible(n.Way), latency(a.Requests.P50), latency(b.Requests.P50), latency(a.Requests.P99), latency(b.Requests.P99), factor(n.Ratio),
		showCount(sum(b.Errors)), latency(a.Webhooks.P99), latency(b.Webhooks.P99), factor(n.Told), showCount(b.Untold),
		showCount(n.Greedy.Done), showCount(n.Greedy.Sent - n.Greedy.Done),
	}
}

func sum(all []Count) (n int) {
	for _, c := range all {
		n += c.Count
	}
	return n
}

// writeNeighbours writes the table, and what of it is beyond the bound.
func (r *Report) writeNeighbours(b *strings.Builder) {
	var rows [][]string
	for i := range r.Neighbours {
		if n := &r.Neighbours[i]; n.LeftOut == "" {
			rows = append(rows, n.cells())
		}
	}
	b.WriteString(renderTable(neighbourColumns, rows) + "\n")
	for _, line := range r.neighbourLines() {
		b.WriteString(line + "\n")
	}
}

// besideCells are the cells of the page's table behind the way's name.
func (n *Neighbour) besideCells() (all []pageCell) {
	for i, value := range n.cells()[1:] {
		column := neighbourColumns[i+1]
		bad := column == "ratio" && n.Ratio > mostBeside || column == "webhook ratio" && n.Told > mostBeside
		all = append(all, pageCell{Column: column, Value: value, Bad: bad})
	}
	return all
}

// neighbourLines says of each way what it is or why it was left out, and which were beyond the
// bound.
func (r *Report) neighbourLines() (all []string) {
	var beyond []string
	compared := 0
	for i := range r.Neighbours {
		n := &r.Neighbours[i]
		line := legible(n.Way) + ": " + legible(n.Says)
		if n.LeftOut != "" {
			line += "; left out: " + legible(n.LeftOut)
		}
		if len(n.Greedy.Errors) > 0 {
			line += "; the greedy account met " + showKinds(n.Greedy.Errors)
		}
		if len(n.Beside.Errors) > 0 {
			line += "; the modest one met " + showKinds(n.Beside.Errors)
		}
		all = append(all, line)
		if n.LeftOut == "" && n.Ratio > 0 {
			compared++
		}
		if n.Beyond() {
			beyond = append(beyond, legible(n.Way))
		}
	}
	switch {
	case compared == 0:
		return append(all, "nothing was compared")
	case len(beyond) > 0:
		return append(all, fmt.Sprintf("beyond %.0f times what the modest account has alone, or with errors: %s", mostBeside, strings.Join(beyond, ", ")))
	}
	return append(all, fmt.Sprintf("of %s, each leaves the modest account’s p99 within %.0f times what it has alone", plural(compared, "way"), mostBeside))
}

// Beyond reports whether the greedy account cost the modest one more than it may: a p99 over
// mostBeside times as long as alone, or more errors, or more webhooks that did not arrive, than
// alone.
func (n *Neighbour) Beyond() bool {
	return n.Ratio > mostBeside || n.Told > mostBeside || sum(n.Beside.Errors) > sum(n.Alone.Errors) || n.Beside.Untold > n.Alone.Untold
}
