package engine

import (
	"time"

	"github.com/fasthttp/router"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"pixd/cmd/machine"
	"pixd/cmd/metrics"
	"pixd/httpapi/console"
	"pixd/httpapi/control"
)

// figuresEvery is the time between two readings of the console's figures while a browser shows them.
const figuresEvery = 2 * time.Second

// console adds the operators' console to the operator API.
func (s *Served) console(r *router.Router, tokens control.Tokens, api fasthttp.RequestHandler) {
	live := console.NewLive(s.watched.Done())
	s.work.Go(func() { s.measure(live) })
	var merchant fasthttp.RequestHandler
	if s.Sim != nil || s.Config.simElsewhere() {
		merchant = s.asMerchant
	}
	console.Routes(r, console.Options{
		Merchant: merchant, API: api, Tokens: tokens, NewSecret: machine.Secret, Listener: s.AdminAddr, Secure: s.certs[1] != nil, MEDWaits: s.Config.MEDSilence == silenceWaits, Live: live, Log: s.Config.Log,
	})
}

// measure reads the console's figures until the engine ends.
func (s *Served) measure(live *console.Live) {
	of := []prometheus.Collector{s.meters.requests, s.meters.alerts, metrics.Transactions{Of: s.Accounts.Moves()}, metrics.Webhooks{Of: s.webhooks}, s.snapshots}
	if s.Config.Shared != nil {
		of = append(of, s.Config.Shared.Collectors...)
	} else {
		of = append(of, s.writes)
	}
	figures := metrics.NewFigures([]prometheus.Collector{s.state()}, of...)
	var shows, keeps metrics.Since
	look := func() error {
		now := s.Clock.Now()
		shown, kept := live.Wanted(now)
		for _, use := range []struct {
			wanted bool
			reader *metrics.Since
			take   func(console.Figures)
		}{{kept, &keeps, live.Keep}, {shown, &shows, live.Publish}} {
			if !use.wanted {
				continue
			}
			f, err := figures.Read(now, use.reader)
			if err != nil {
				return err
			}
			use.take(s.withOwn(f))
		}
		if !shown {
			shows = keeps // whoever looks next sees figures of at most the last 10 s
		}
		return nil
	}
	const what = "console: figures"
	s.logError(what, look())
	s.repeat(figuresEvery, what, look)
}

// withOwn adds the figures that are no metrics.
func (s *Served) withOwn(f console.Figures) console.Figures {
	c := s.Clock.State()
	f.InHand, f.ClockDoubted, f.ClockWall = float64(s.meters.merchant.InHand.Load()), c.Doubted, float64(c.Wall)
	return f
}
