package engine

import (
	"github.com/prometheus/client_golang/prometheus"

	"pixd/actors/account"
	"pixd/actors/due"
	"pixd/actors/fair"
	"pixd/actors/pix"
	"pixd/cmd/metrics"
)

// pools returns the figures of the bounds that every engine has.
func (s *Served) pools(receipts *fair.Pool[pix.AccountID]) metrics.Pools {
	return metrics.Pools{
		"lists": s.History.Counts, "receipts": receipts.Counts,
		"connections": s.connections.Counts, "lingering": s.connections.Lingering, "bodies": s.connections.Bodies,
		"requests": func() fair.Counts {
			return fair.Counts{InUse: int(s.meters.merchant.InHand.Load()), Refused: s.admission.Refused.Load()}
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
