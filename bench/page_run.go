package bench

import (
	"fmt"
)

// runColumns are the columns of the table of all runs.
var runColumns = []string{
	"Requests/s", "Errors", "p50", "p90", "p99", "p99.9", "Slowest",
	"Engine CPU per request", "Engine memory", "Generator’s share of CPU", "Signed before", "p99 of syncs", "Stolen CPU",
}

// cells are a run's figures in the order of runColumns; a dash stands for what is not known.
func (r *Run) cells() []pageCell {
	values := []string{
		showDigits(r.PerSecond), showErrors(r.failed(), r.Sent),
		r.known(r.Latency.P50), r.known(r.Latency.P90), r.known(r.Latency.P99), r.known(r.Latency.P999), r.known(r.Latency.Max),
		"–", "–", "–", showShare(r.Prepared), r.syncP99(), r.stolen(),
	}
	if r.Engine.PerDone > 0 {
		values[7] = showMicros(r.Engine.PerDone)
	}
	if r.Engine.MaxMemory > 0 {
		values[8] = showSize(r.Engine.MaxMemory)
	}
	if all := r.Generator.CPU + r.Engine.CPU; r.Engine.CPU > 0 {
		values[9] = showShare(r.Generator.CPU / all)
	}
	cells := make([]pageCell, len(values))
	for i, v := range values {
		cells[i] = pageCell{Column: runColumns[i], Value: v}
	}
	cells[1].Bad = r.failed() > 0
	return cells
}

// known shows a latency, or a dash where no request was carried out.
func (r *Run) known(us int64) string {
	if r.Done == 0 {
		return "–"
	}
	return showMicros(float64(us))
}

// syncP99 shows how long the journal's syncs took, or a dash where there were none.
func (r *Run) syncP99() string {
	if r.Syncs.Max == 0 {
		return "–"
	}
	return showMicros(float64(r.Syncs.P99))
}

// stolen shows the share of processor time that other machines had, or a dash where it is not
// known.
func (r *Run) stolen() string {
	if r.Stolen == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100**r.Stolen)
}

// showErrors shows a number of errors and its share of all requests.
func showErrors(failed, sent int) string {
	if failed == 0 || sent == 0 {
		return showCount(failed)
	}
	return showCount(failed) + " (" + showShare(float64(failed)/float64(sent)) + ")"
}

// errorRows are the most frequent kinds of errors.
func (r *Run) errorRows() (all []pageError) {
	for _, e := range r.Errors[:min(len(r.Errors), mostKinds)] {
		all = append(all, pageError{
			Kind: legible(e.Kind), Count: showCount(e.Count), Share: showShare(float64(e.Count) / float64(max(r.Sent, 1))),
			Width: max(1, 100*e.Count/max(r.Errors[0].Count, e.Count, 1)),
		})
	}
	return all
}

// load says how requests were sent.
func (r *Run) load() string {
	if r.Rate > 0 {
		return showCount(r.Rate) + " requests/s due"
	}
	return "as fast as answered"
}

func (r *Run) sentences() []string {
	all := []string{
		fmt.Sprintf("%s of %s were carried out in %s, over %s from %s to %s.",
			showCount(r.Done), plural(r.Sent, "request"), showSeconds(r.Seconds),
			plural(r.Connections, "connection"), plural(r.Addresses, "address"), plural(r.Accounts, "account")),
	}
	if r.Rate > 0 {
		all = append(all, "A latency counts from the instant at which a request was due, also where it was sent later.")
	}
	if r.Refused.Max > 0 {
		all = append(all, fmt.Sprintf("Refusals took %s (p50), %s (p99) and %s (slowest) from when the requests were sent.",
			showMicros(float64(r.Refused.P50)), showMicros(float64(r.Refused.P99)), showMicros(float64(r.Refused.Max))))
	}
	if r.Syncs.Max > 0 {
		all = append(all, fmt.Sprintf("The journal’s syncs took up to %s (p50), %s (p99) and %s (slowest).",
			showMicros(float64(r.Syncs.P50)), showMicros(float64(r.Syncs.P99)), showMicros(float64(r.Syncs.Max))))
	}
	if r.Stolen != nil && *r.Stolen >= muchStolen {
		all = append(all, "The host let other machines run in "+r.stolen()+" of the processors’ time: with processors of its own the engine is faster.")
	}
	return all
}

// muchStolen is the share of stolen processor time from which a page says what it means.
const muchStolen = 0.01
