package metrics

import (
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// State collects how much an engine has in memory, in work and on disk.
type State struct {
	Rows     layout.Rows
	Now      func() pix.Millis
	Accounts func() int             // accounts in memory
	Waiting  func() uint64          // entries that wait until they are durable
	Free     func() (uint64, error) // free bytes of the disk on which the journal lies

	mu      sync.Mutex
	counted time.Time // when the counts below were made
	waiting map[layout.DueKind]int
	orphans int
	from    map[layout.DueKind]pix.Millis // where each kind's rows begin
	whole   time.Time                     // when all rows were read
	wide    time.Time                     // when those of transfers that are late were looked for
}

// mostCounted is up to where transfers that wait are counted, and countEvery the shortest time
// between two counts: they are counted anew for whoever asks.
const (
	mostCounted = 100_000
	countEvery  = time.Second
)

// Behind the first row lie the traces of all that have ended, until the store has tidied them up: 1,500 payouts a second
// leave so many in a minute that passing over them takes 70 ms. A count therefore begins at the row that was the first,
// or late before it for rows that are written late, and at the beginning of time once in wholeEvery. The time
// of a transfer that is sent or accepted is at the same distance from its decision for all, and decisions reach the
// journal in their order: lateSent is for those of several accounts at the same instant. One that leaves doubt has the
// time of its acceptance, before it was in doubt: such are found once in lateEvery.
const (
	late       = pix.Millis(time.Hour / time.Millisecond)
	lateSent   = pix.Millis(time.Second / time.Millisecond)
	lateEvery  = time.Minute
	wholeEvery = 10 * time.Minute
)

// begin is where the next count of a kind begins: no row is written before it until then, or few are. first is the time
// of the kind's first row, or now where there is none.
func begin(kind layout.DueKind, first, now pix.Millis) pix.Millis {
	if kind == layout.DueTransfer || kind == layout.DueSending {
		return max(0, first-lateSent)
	}
	return max(0, min(first, now)-late)
}

var (
	accountsInMemory = prometheus.NewDesc("pixd_accounts_in_memory",
		"Accounts whose actor is in memory; one without work leaves it after a minute.", nil, nil)
	entriesWaiting = prometheus.NewDesc("pixd_journal_entries_waiting",
		"Entries of the journal that wait until they are durable.", nil, nil)
	diskFree = prometheus.NewDesc("pixd_disk_free_bytes",
		"Free space of the disk on which the journal lies.", nil, nil)
	transfersWaiting = prometheus.NewDesc("pixd_transfers_waiting",
		"Payouts and refunds without an outcome, by what they wait for: sending and settlement of the scheme, doubt of what became of a call to it, capacity of the directory, approval of an operator. At most 100000 are counted.",
		[]string{"for"}, nil)
	transfersOrphaned = prometheus.NewDesc("pixd_transfers_orphaned",
		"Accepted payouts that the scheme has not answered for the time of --orphan-after. At most 100000 are counted.", nil, nil)
	casesWaiting = prometheus.NewDesc("pixd_med_cases_waiting",
		"Special-return cases whose next deadline has not been dealt with. At most 100000 are counted.", nil, nil)
)

// waitFor names what transfers of each kind of due row wait for.
var waitFor = map[layout.DueKind]string{
	layout.DueSending: "sending", layout.DueTransfer: "settlement", layout.DueDoubt: "doubt",
	layout.DueQueued: "capacity", layout.DueApproval: "approval",
}

// Describe implements prometheus.Collector.
func (s *State) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{accountsInMemory, entriesWaiting, diskFree, transfersWaiting, transfersOrphaned, casesWaiting} {
		out <- d
	}
}

// Collect implements prometheus.Collector. What cannot be read is left out.
func (s *State) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	gauge(accountsInMemory, float64(s.Accounts()))
	gauge(entriesWaiting, float64(s.Waiting()))
	CollectFree(out, s.Free)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count() != nil {
		return
	}
	for kind, what := range waitFor {
		gauge(transfersWaiting, float64(s.waiting[kind]), what)
	}
	gauge(transfersOrphaned, float64(s.orphans))
	gauge(casesWaiting, float64(s.waiting[layout.DueCase]))
}

// CollectFree collects the free space of a disk, unless it cannot be told.
func CollectFree(out chan<- prometheus.Metric, free func() (uint64, error)) {
	if n, err := free(); err == nil {
		out <- prometheus.MustNewConstMetric(diskFree, prometheus.GaugeValue, float64(n))
	}
}

// count counts the due rows, unless it has just done so.
func (s *State) count() (err error) {
	if time.Since(s.counted) < countEvery {
		return nil
	}
	if time.Since(s.whole) >= wholeEvery {
		s.from, s.whole = map[layout.DueKind]pix.Millis{}, time.Now()
	}
	if time.Since(s.wide) >= lateEvery {
		for _, kind := range []layout.DueKind{layout.DueTransfer, layout.DueSending} {
			s.from[kind] = max(0, s.from[kind]-late)
		}
		s.wide = time.Now()
	}
	waiting := map[layout.DueKind]int{}
	orphans, err := s.rows(layout.DueTransfer, s.Now()+1)
	if err != nil {
		return err
	}
	for _, kind := range layout.DueKinds() {
		if waiting[kind], err = s.rows(kind, math.MaxInt64); err != nil {
			return err
		}
	}
	s.waiting, s.orphans, s.counted = waiting, orphans, time.Now()
	return nil
}

// rows counts a kind's due rows whose time is before until.
func (s *State) rows(kind layout.DueKind, until pix.Millis) (n int, err error) {
	first := s.Now() // of a row; none is due before now where there is none
	if s.from[kind] >= until {
		return 0, nil
	}
	lo, hi := layout.DueRange(kind, s.from[kind], until)
	err = s.Rows.Scan(lo, hi, func(k, v []byte) (bool, error) {
		if n++; n == 1 {
			d, err := layout.DecodeDue(k, v)
			if err != nil {
				return false, err
			}
			first = d.At
		}
		return n < mostCounted, nil
	})
	if err == nil && until == math.MaxInt64 {
		s.from[kind] = begin(kind, first, s.Now())
	}
	return n, err
}
