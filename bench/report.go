package bench

import (
	"time"
)

// Report is what `pixbench run` has measured, as --json writes it: one Run for each scenario. Its
// durations are seconds or, for latencies, microseconds; sizes are bytes.
type Report struct {
	Program   string    `json:"program"` // version of pixbench
	StartedAt time.Time `json:"started_at"`
	Machine   Machine   `json:"machine"`
	Engine    Target    `json:"engine"`
	Runs      []Run     `json:"runs"`
	Audit     Audit     `json:"audit"`
	// Neighbours compares, for that scenario, a modest account's latencies alone with those beside a
	// greedy one; empty: it was not run.
	Neighbours []Neighbour `json:"neighbours,omitempty"`
	// Interrupted says that the load was ended before its time: Runs has what was measured.
	Interrupted bool `json:"interrupted"`
}

// Machine is the computer on which the generator ran.
type Machine struct {
	CPU    string `json:"cpu"`   // model name; "unknown" where the system does not say
	Cores  int    `json:"cores"` // processors that the generator may use
	Memory uint64 `json:"memory"`
	System string `json:"system"` // such as linux/amd64
	Go     string `json:"go"`
}

// Target is the engine that was loaded.
type Target struct {
	URL     string `json:"url"` // of its merchant API
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Own     bool   `json:"own"`        // it was started for the load, on a temporary folder and on the generator's own machine
	Sync    string `json:"sync_delay"` // what was added to each sync of its files, such as 1ms; empty: nothing
}

// Run is one scenario's load.
type Run struct {
	Scenario    string  `json:"scenario"`
	Rate        int     `json:"rate"`        // requests per second that were due (open loop); 0: as fast as they were answered (closed loop)
	Connections int     `json:"connections"` // most that were open at once
	Accounts    int     `json:"accounts"`
	Addresses   int     `json:"addresses"` // source addresses
	Seconds     float64 `json:"seconds"`   // from the first request to the last answer

	Sent      int     `json:"sent"`       // requests; at a Rate with those that were due and could not be sent
	Done      int     `json:"done"`       // requests that were carried out (2xx)
	PerSecond float64 `json:"per_second"` // Done for each of Seconds
	Errors    []Count `json:"errors"`     // requests that were not, by kind, most frequent first

	// Latency is of the requests that were carried out. At a Rate it counts from the instant at
	// which the request was due.
	Latency Latency `json:"latency"`
	// Refused is of the requests that were answered with another status. It counts from when they
	// were sent: where a load is refused, requests are due while every connection waits, and that
	// wait says nothing of how soon the engine refuses.
	Refused Latency `json:"refused"`
	// Distribution has the latency of Done at rising quantiles.
	Distribution []Quantile `json:"distribution"`

	Engine    Usage   `json:"engine"`
	Generator Usage   `json:"generator"` // of the process that made the load
	Prepared  float64 `json:"prepared"`  // share (0 to 1) of the requests that were signed before the load began

	// Syncs is how long the syncs of the engine's journal took, to the next bound above in the
	// engine's metric.
	Syncs Latency `json:"syncs"`
	// Stolen is the share (0 to 1) of the time of the generator's processors in which the host
	// let other machines run on them; nil where the system does not say.
	Stolen *float64 `json:"stolen"`

	Series []Second `json:"series"`
}

// Count is how many requests failed in one way, such as "429" or "connection reset".
type Count struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Latency has quantiles of latencies, in microseconds; all 0: there were none.
type Latency struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p99.9"`
	Max  int64 `json:"max"`
}

// Quantile is the latency in microseconds that a share Q of the requests did not exceed.
type Quantile struct {
	Q       float64 `json:"q"`
	Latency int64   `json:"latency"`
}

// Usage is what a process used during a run.
type Usage struct {
	CPU       float64 `json:"cpu"`         // seconds of processor time
	Cores     float64 `json:"cores"`       // CPU for each second of the run
	PerDone   float64 `json:"per_request"` // microseconds of processor time for each request that was carried out
	MaxMemory uint64  `json:"max_memory"`  // largest resident size that was seen
}

// Second is one second of a run, or what was left of it at its end. A request belongs to the
// second in which it was answered.
type Second struct {
	At        float64 `json:"at"`      // its end, in seconds since the run's beginning
	Seconds   float64 `json:"seconds"` // its length
	Done      int     `json:"done"`
	Errors    int     `json:"errors"`
	P50       int64   `json:"p50"` // of Done, in microseconds
	P99       int64   `json:"p99"`
	Max       int64   `json:"max"`
	Engine    float64 `json:"engine_cores"` // processors that the engine used
	Memory    uint64  `json:"engine_memory"`
	Generator float64 `json:"generator_cores"`
}

// Audit is the comparison of what clients were answered with the engine's book, and of that with
// the scheme's.
type Audit struct {
	Answers     int      `json:"answers"`   // answers that say something was done to money or to a charge
	Accounts    int      `json:"accounts"`  // accounts that were read
	Unknown     int      `json:"unknown"`   // requests whose outcome the client does not know: no answer came, or one in 5xx that is not 503
	InFlight    int      `json:"in_flight"` // transactions that were not settled yet when the audit ended
	Statuses    []Ended  `json:"statuses"`  // of what requests have made, by kind of request and status
	Scheme      string   `json:"scheme"`    // "compared", or why the scheme's book was not
	Seconds     float64  `json:"seconds"`
	Differences []string `json:"differences"` // the first ones; empty: the books agree
	Found       int      `json:"found"`       // number of all differences
}

// OK reports whether everything agreed.
func (a *Audit) OK() bool { return a.Found == 0 }
