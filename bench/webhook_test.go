package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/sim"
	"pixd/cmd/engine"
)

// The bounds on webhooks.
const (
	leastWithWebhooks = 0.85    // rate of received payments whose events are delivered, by the rate of others
	leastDeliveries   = 5000    // a second, while nothing else is done
	mostBesideHanging = 1.2     // p99 from an event to its receiver beside receivers that hang, by the p99 without them
	pendingBytes      = 200e6   // memory of a million deliveries that wait
	manyPending       = 1000000 // deliveries that wait
)

// seen is what a receiver has seen.
type seen struct {
	Count    int
	P50, P99 time.Duration // from the event's created_at until it arrived
}

// playReceiver runs a receiver of webhooks. It answers 200 or, where the argument is "hang",
// never.
func playReceiver() {
	var mu sync.Mutex
	var ages []time.Duration
	http.HandleFunc("/seen", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(ages)
		s := seen{Count: len(ages)}
		if len(ages) > 0 {
			s.P50, s.P99 = ages[len(ages)/2], ages[len(ages)*99/100]
		}
		if r.FormValue("reset") != "" {
			ages = nil
		}
		_ = json.NewEncoder(w).Encode(s)
	})
	mine, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(mine.Addr(), control.Addr())
	go untilOrphaned()
	go func() { panic(http.Serve(control, nil)) }()
	hang := os.Args[1] == "hang"
	panic(fasthttp.Serve(mine, func(ctx *fasthttp.RequestCtx) {
		if hang {
			time.Sleep(time.Hour)
		}
		name := []byte(`"created_at":"`)
		at := bytes.Index(ctx.PostBody(), name) + len(name)
		created, err := time.Parse(time.RFC3339, string(ctx.PostBody()[at:at+24]))
		if err != nil {
			ctx.SetStatusCode(http.StatusBadRequest)
			return
		}
		mu.Lock()
		ages = append(ages, time.Since(created))
		mu.Unlock()
	}))
}

// subscribe subscribes a URL, for each of the engine's accounts from the number from to the number
// until, to received payments.
func subscribe(s *engine.Served, from, until int, url string) {
	accounts, _ := s.Registry.Accounts(0, 1<<20)
	c := ledger.Subscribe{URL: url, Events: pix.EventMask(0).With(pix.EventReceived), Secret: make([]byte, 32)}
	for _, a := range accounts[from:until] {
		if got, err := s.Accounts.Do(a, c); err != nil || got.Refusal != nil {
			panic(fmt.Sprint(got.Refusal, err))
		}
	}
}

// payMany has customers pay n times, in turn to the accounts from the number from to the number
// until, and returns how long it took; perSecond: at that rate, 0: as fast as it goes.
func payMany(s *engine.Served, from, until, n, perSecond, round int) time.Duration {
	all, _ := s.Registry.Accounts(0, 1<<20)
	accounts := all[from:until]
	keys := make([]string, len(accounts))
	for i, id := range accounts {
		a, _ := s.Registry.Account(id)
		keys[i] = a.PixKeys[0]
		if err := s.Sim.RegisterKey(context.Background(), pix.Key{Type: pix.KeyEVP, Value: keys[i]}, id); err != nil {
			panic(err)
		}
	}
	now := pix.Millis(time.Now().UnixMilli())
	begun := time.Now()
	inParallel(n, func(i int) {
		if perSecond > 0 {
			time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		}
		p := sim.Payment{Key: keys[i%len(keys)], Amount: 10_000, EndToEnd: pix.EndToEnd("99999003", now, fmt.Sprintf("%02d%09d", round, i))}
		if _, _, err := s.Sim.Pay(context.Background(), p); err != nil {
			panic(err)
		}
	})
	return time.Since(begun)
}

// webhookHandlers are the parts of the engine's second listener that are about webhooks.
func webhookHandlers(s *engine.Served) {
	number := func(r *http.Request, name string) int { n, _ := strconv.Atoi(r.FormValue(name)); return n }
	http.HandleFunc("/subscribe", func(w http.ResponseWriter, r *http.Request) {
		subscribe(s, number(r, "from"), number(r, "until"), r.FormValue("url"))
		_ = json.NewEncoder(w).Encode(true)
	})
	http.HandleFunc("/pay", func(w http.ResponseWriter, r *http.Request) {
		took := payMany(s, number(r, "from"), number(r, "until"), number(r, "n"), number(r, "rate"), number(r, "round"))
		_ = json.NewEncoder(w).Encode(took)
	})
}

func (s *server) pay(b *testing.B, from, until, n, rate, round int) (took time.Duration) {
	s.ask(b, fmt.Sprintf("/pay?from=%d&until=%d&n=%d&rate=%d&round=%d", from, until, n, rate, round), &took)
	return took
}

// await waits until a receiver has seen n events since its last reset, and returns how long
// that took.
func (s *server) await(b *testing.B, n int) time.Duration {
	begun := time.Now()
	for {
		var got seen
		if s.ask(b, "/seen", &got); got.Count >= n {
			return time.Since(begun)
		}
		if time.Since(begun) > 5*time.Minute {
			b.Fatalf("%d of %d events arrived", got.Count, n)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// BenchmarkWebhooks measures received payments with and without webhooks, in turn on one
// engine, and how fast events are delivered when nothing else is done.
func BenchmarkWebhooks(b *testing.B) {
	const accounts, part, parts = 1000, 20_000, 6
	for b.Loop() {
		s, r := start(b, roleMeasured, b.TempDir()), start(b, roleReceiver, "ok")
		s.ask(b, fmt.Sprintf("/accounts?n=%d&forget=1", 2*accounts), new([]Credentials))
		s.ask(b, fmt.Sprintf("/subscribe?from=0&until=%d&url=http://%s/hook", accounts, r.Addr), new(bool))
		var with, without, drained time.Duration
		alone := 0
		for i := range parts {
			without += s.pay(b, accounts, 2*accounts, part, 0, 2*i)
			with += s.pay(b, 0, accounts, part, 0, 2*i+1)
			var got seen
			r.ask(b, "/seen", &got)
			drained += r.await(b, part)
			alone += part - got.Count
			r.ask(b, "/seen?reset=1", &got)
		}
		s.end()
		r.end()
		ratio, rate := without.Seconds()/with.Seconds(), float64(alone)/drained.Seconds()
		fmt.Printf("Webhooks               received payments: %.0f/s with a webhook, %.0f/s without, ratio %.2f (at least %.2f)\n",
			part*parts/with.Seconds(), part*parts/without.Seconds(), ratio, leastWithWebhooks)
		fmt.Printf("Webhooks               delivered alone: %.0f/s (at least %d), %d of %d\n", rate, leastDeliveries, alone, part*parts)
		if ratio < leastWithWebhooks || rate < leastDeliveries {
			b.Error("below the bound")
		}
		b.ReportMetric(ratio, "ratio")
		b.ReportMetric(rate, "deliveries/s")
	}
}

// BenchmarkHangingReceiver measures how long events take to their receiver, with and without
// other receivers that never answer, in turn on one engine.
func BenchmarkHangingReceiver(b *testing.B) {
	const accounts, n, rate, rounds = 100, 5_000, 1000, 7
	for b.Loop() {
		s, ok, hang := start(b, roleMeasured, b.TempDir()), start(b, roleReceiver, "ok"), start(b, roleReceiver, "hang")
		s.ask(b, fmt.Sprintf("/accounts?n=%d&forget=1", 3*accounts), new([]Credentials))
		s.ask(b, fmt.Sprintf("/subscribe?from=0&until=%d&url=http://%s/hook", accounts, ok.Addr), new(bool))
		s.ask(b, fmt.Sprintf("/subscribe?from=%d&until=%d&url=http://%s/hook", 2*accounts, 3*accounts, hang.Addr), new(bool))
		round := 0
		measured := func(other int) (got seen) {
			// Every second payment goes to an account without a webhook, or with one that hangs.
			round += 2
			done := make(chan bool)
			go func() { s.pay(b, other*accounts, (other+1)*accounts, n, rate, round); close(done) }()
			s.pay(b, 0, accounts, n, rate, round+1)
			<-done
			ok.await(b, n)
			ok.ask(b, "/seen?reset=1", &got)
			return got
		}
		measured(1) // warms up
		var without, with []time.Duration
		for range rounds {
			without, with = append(without, measured(1).P99), append(with, measured(2).P99)
		}
		s.end()
		ok.end()
		hang.end()
		slices.Sort(without)
		slices.Sort(with)
		ratio := with[rounds/2].Seconds() / without[rounds/2].Seconds()
		fmt.Printf("HangingReceiver        p99 beside %d receivers that hang %v, without %v; ratio of the medians %.2f (at most %.1f)\n",
			accounts, with, without, ratio, mostBesideHanging)
		if ratio > mostBesideHanging {
			b.Error("above the bound")
		}
		b.ReportMetric(ratio, "p99-ratio")
	}
}

// BenchmarkPending measures the memory of a million deliveries that wait for a receiver that is
// down.
func BenchmarkPending(b *testing.B) {
	const accounts, payments, each = 1000, 100_000, manyPending / 100_000
	for b.Loop() {
		resident := func(subscriptions int) float64 {
			s := start(b, roleMeasured, b.TempDir())
			s.ask(b, fmt.Sprintf("/accounts?n=%d&forget=1", accounts), new([]Credentials))
			for range subscriptions {
				s.ask(b, fmt.Sprintf("/subscribe?from=0&until=%d&url=http://127.0.0.1:9/", accounts), new(bool))
			}
			s.pay(b, 0, accounts, payments, 0, 0)
			time.Sleep(2 * time.Second)
			memory := float64(s.counters(b).Resident)
			s.end()
			return memory
		}
		above := resident(each) - resident(0)
		fmt.Printf("Pending                %d deliveries that wait: %.0f MB above the same engine without them (at most %.0f)\n", manyPending, above/1e6, pendingBytes/1e6)
		if above > pendingBytes {
			b.Error("above the bound")
		}
		b.ReportMetric(above/1e6, "MB")
	}
}
