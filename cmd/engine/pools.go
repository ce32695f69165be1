package engine

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/fair"
	"pixd/actors/pix"
)

// pools collects the figures of bounds that accounts share, by the bound's name: docs/bounds.md
// says what is counted for each.
type pools map[string]func() fair.Counts

var (
	poolInUse = prometheus.NewDesc("pixd_pool_in_use",
		"What is in use of a bound that all accounts share.", []string{"pool"}, nil)
	poolWaiting = prometheus.NewDesc("pixd_pool_waiting",
		"What waits for a place of a pool.", []string{"pool"}, nil)
	poolRefused = prometheus.NewDesc("pixd_pool_refused_total",
		"What was refused because a bound was reached, or because a wait for a place took too long.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (p pools) Describe(out chan<- *prometheus.Desc) {
	out <- poolInUse
	out <- poolWaiting
	out <- poolRefused
}

// Collect implements prometheus.Collector.
func (p pools) Collect(out chan<- prometheus.Metric) {
	for name, counts := range p {
		c := counts()
		out <- prometheus.MustNewConstMetric(poolInUse, prometheus.GaugeValue, float64(c.InUse), name)
		out <- prometheus.MustNewConstMetric(poolWaiting, prometheus.GaugeValue, float64(c.Waiting), name)
		out <- prometheus.MustNewConstMetric(poolRefused, prometheus.CounterValue, float64(c.Refused), name)
	}
}

// pools returns the figures of the bounds that every engine has.
func (s *Served) pools(receipts *fair.Pool[pix.AccountID]) pools {
	return pools{
		"lists": s.History.Counts, "receipts": receipts.Counts,
		"connections": s.connections.Counts, "lingering": s.connections.Lingering, "bodies": s.connections.Bodies,
		"requests": func() fair.Counts {
			return fair.Counts{InUse: int(s.meters.merchant.inHand.Load()), Refused: s.admission.Refused.Load()}
		},
		"account": func() fair.Counts {
			return fair.Counts{InUse: s.Accounts.MostInWork(), Refused: s.Accounts.Figures().RefusedRequests}
		},
		"transfers": func() fair.Counts {
			f := s.Accounts.Figures()
			return fair.Counts{InUse: f.Transfers, Refused: f.RefusedTransfers}
		},
		"lookups":      s.targets.Lookups,
		"scheme_tasks": func() fair.Counts { return inLane(s.scanner.Figures().Scheme) },
		"clock_tasks":  func() fair.Counts { return inLane(s.scanner.Figures().Clock) },
		"queue_tries":  func() fair.Counts { return fair.Counts{InUse: s.scanner.Figures().Tries} },
	}
}

func inLane(l due.InLane) fair.Counts { return fair.Counts{InUse: l.Running, Waiting: l.Waiting} }

// equalsRefused counts the payouts that are refused because of others under their end-to-end id.
func equalsRefused(accounts *account.Host) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "pixd_equal_payouts_refused_total",
		Help: "Payouts refused because too many are under way under their end-to-end id.",
	}, func() float64 { return float64(accounts.Figures().RefusedEquals) })
}
