package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The loads of BenchmarkBig, and what a store of many payouts may cost compared with an empty one.
const (
	bigAccounts   = 10_000
	bigRounds     = 3
	bigLoad       = 20 * time.Second
	bigRate       = 1500 // payouts per second of the load whose latency counts
	bigReads      = 5 * time.Second
	bigIDs        = 20_000 // transactions that are looked up
	pageRows      = 10     // rows of a page of the statement: no more than the empty store has of each account once the payouts are made
	leastCashOuts = 0.85   // of the empty store's rate
	mostLatency   = 1.5    // of the empty store's p99
	mostCompacts  = 0.15   // of the processor time that the engine takes, in both stores
	mostRead      = 1.2    // of the time of a read of the empty store
)

// BenchmarkBig fills a store with as many payouts of 10,000 accounts as PIXD_BENCH_BIG says, and
// then measures the same loads on it and on an empty store, in turn. If PIXD_BENCH_BIG_DIR names a
// folder, the store is made there and left; if it is there already, it is used, whatever number it was
// made for. Each payout is another: an equal one would reuse an end-to-end id.
func BenchmarkBig(b *testing.B) {
	number := os.Getenv("PIXD_BENCH_BIG")
	if number == "" {
		b.Skip("it takes an hour: make bench-big")
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < bigAccounts {
		b.Fatalf("%q is no number of payouts from %d on", number, bigAccounts)
	}
	dir := os.Getenv("PIXD_BENCH_BIG_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	for b.Loop() {
		keys := fillBig(b, dir, n)
		store := &bigStore{name: "big", server: startTimed(b, dir, "clean stop"), keys: keys, made: n + unused(), pages: max(1, n/bigAccounts/pageRows)}
		var big, empty bigFigures
		for range bigRounds {
			store.measure(b, &big)
			fresh := &bigStore{name: "empty", server: start(b, roleMeasured, b.TempDir()), pages: 1}
			fresh.ask(b, fmt.Sprintf("/accounts?n=%d", bigAccounts), &fresh.keys)
			fresh.measure(b, &empty)
			fresh.end()
		}
		store.Kill()
		startTimed(b, dir, "kill").end()
		compareBig(b, &big, &empty)
	}
}

// fillBig makes the big store, unless it is there already, and returns the API keys of its accounts.
func fillBig(b *testing.B, dir string, n int) (keys []Credentials) {
	file := filepath.Join(dir, "keys.json")
	if raw, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(raw, &keys); err != nil {
			b.Fatal(err)
		}
		return keys
	}
	s := start(b, roleMeasured, dir)
	defer s.end()
	s.ask(b, fmt.Sprintf("/accounts?n=%d", bigAccounts), &keys)
	began := time.Now()
	var before, after storeBytes
	s.ask(b, "/tables", &before)
	for made := 0; made < n; {
		load := &payouts{keys: keys, first: made, most: min(n-made, 1_000_000)}
		r := Load{Addr: s.Addr, Connections: postConnections, Duration: time.Hour, Source: load}.Run(b.Context())
		if len(r.Errors) > 0 {
			b.Fatalf("of %d payouts were not carried out: %v", r.Sent, r.Errors)
		}
		made += r.Done
		fmt.Printf("%-22s %d payouts, the last %d at %.0f a second\n", "Big", made, r.Done, r.PerSecond())
	}
	s.ask(b, "/tables", &after)
	fmt.Printf("%-22s filled in %v: %.0f bytes of a payout on disk, %.0f in the log; write amplification %.1f\n", "Big", time.Since(began).Round(time.Second),
		float64(after.Disk-before.Disk)/float64(n), float64(after.Log-before.Log)/float64(n), 1+float64(after.Tables-before.Tables)/float64(after.Log-before.Log))
	raw, err := json.Marshal(keys)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	return keys
}

// unused returns a number after which no earlier run on a store that was left has numbered payouts.
func unused() int { return int(time.Now().Unix()) * 1000 }

// storeBytes says how many bytes a store's files have, and how many were written to its log and,
// by flushes and compactions, to tables.
type storeBytes struct{ Disk, Log, Tables uint64 }

// payouts is a Source of payouts, which are signed when they are sent.
type payouts struct {
	keys        []Credentials
	first, most int
}

// Request implements Source.
func (p *payouts) Request(b []byte, i int) []byte {
	if i >= p.most {
		return b
	}
	return append(b, payOut(p.keys[(p.first+i)%len(p.keys)], p.first+i)...)
}

// Answer implements Source.
func (p *payouts) Answer(int, int, []byte) {}

// reads is a Source of reads, each made by the function.
type reads func() []byte

// Request implements Source.
func (r reads) Request(b []byte, _ int) []byte { return append(b, r()...) }

// Answer implements Source.
func (r reads) Answer(int, int, []byte) {}

// bigStore is one of the two stores under the same loads.
type bigStore struct {
	*server
	name  string
	keys  []Credentials
	made  int // number of the next payout
	pages int // of each account's statement
}

// bigFigures are a store's figures, one of each round. Reads are in the order of readNames.
type bigFigures struct {
	rates, latencies, compacts []float64
	reads                      [3][]float64 // per second
}

var readNames = [3]string{"balance", "lookup", "page"}

// measure makes the loads once.
func (s *bigStore) measure(b *testing.B, f *bigFigures) {
	profiled := make(chan float64, 1)
	go func() { profiled <- s.compacting(b) }()
	most := s.payOut(b, 0)
	f.rates = append(f.rates, most.PerSecond())
	f.compacts = append(f.compacts, <-profiled)
	f.latencies = append(f.latencies, s.payOut(b, bigRate).Quantile(.99).Seconds())
	ids := s.ids(b)
	account := func() Credentials { return s.keys[rand.IntN(len(s.keys))] }
	for i, read := range [3]reads{
		func() []byte { return account().Get("/balance") },
		func() []byte { of := ids[rand.IntN(len(ids))]; return of.owner.Get("/transactions/" + of.id) },
		func() []byte {
			return account().Get(fmt.Sprintf("/statement?per_page=%d&page=%d", pageRows, 1+rand.IntN(s.pages)))
		},
	} {
		r := Load{Addr: s.Addr, Connections: echoConnections, Duration: bigReads, Source: read}.Run(b.Context())
		if len(r.Errors) > 0 {
			b.Fatalf("%s: %v", readNames[i], r.Errors)
		}
		f.reads[i] = append(f.reads[i], r.PerSecond())
	}
	last := func(of []float64) float64 { return of[len(of)-1] }
	fmt.Printf("%-22s %-5s %.0f payouts a second, compactions %.1f %%, p99 at %d a second %.1f ms, a second %.0f balances, %.0f lookups, %.0f pages\n", "Big", s.name,
		last(f.rates), 100*last(f.compacts), bigRate, 1e3*last(f.latencies), last(f.reads[0]), last(f.reads[1]), last(f.reads[2]))
}

// payOut makes payouts at a rate; 0: as fast as they are answered.
func (s *bigStore) payOut(b *testing.B, rate int) *Result {
	load := &payouts{keys: s.keys, first: s.made, most: 1 << 40}
	r := Load{Addr: s.Addr, Connections: postConnections, Duration: bigLoad, Rate: rate, Source: load}.Run(b.Context())
	if len(r.Errors) > 0 {
		b.Fatalf("of %d payouts were not carried out: %v", r.Sent, r.Errors)
	}
	s.made += r.Sent
	return r
}

// showing is what pprof says about the samples that it was asked for.
var showing = regexp.MustCompile(`(?m)^Showing nodes accounting for [^,]*, ([0-9.]+)% of `)

// compacting returns the share of the engine's processor time that Pebble's flushes and compactions
// take in the second half of a load.
func (s *bigStore) compacting(b *testing.B) float64 {
	time.Sleep(bigLoad / 2)
	r, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", s.Control, (bigLoad/2 - time.Second).Seconds()))
	if err != nil {
		b.Error(err)
		return 0
	}
	defer func() { _ = r.Body.Close() }()
	file := filepath.Join(b.TempDir(), "profile")
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		b.Error(err)
		return 0
	}
	out, err := exec.CommandContext(b.Context(), "go", "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0", `-focus=pebble.*\.\(\*DB\)\.(flush|compact|runCompaction)`, file).Output()
	found := showing.FindSubmatch(out)
	if err != nil || found == nil {
		b.Errorf("pprof: %v: %s", err, out)
		return 0
	}
	share, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		b.Error(err)
	}
	return share / 100
}

// owned is a transaction and the API key of its account.
type owned struct {
	owner Credentials
	id    string
}

// ids returns transactions of all accounts, from all pages of their statements.
func (s *bigStore) ids(b *testing.B) (ids []owned) {
	for asked := 0; len(ids) < bigIDs && asked < bigIDs; asked++ {
		of := s.keys[rand.IntN(len(s.keys))]
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, fmt.Sprintf("http://%s/api/external/statement?per_page=%d&page=%d", s.Addr, pageRows, 1+rand.IntN(s.pages)), nil)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "ApiKey "+of.ClientID+":"+of.Secret)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		var page struct {
			Data []struct {
				ID string `json:"transaction_id"`
			}
		}
		if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
			b.Fatal(err)
		}
		_ = answer.Body.Close()
		if len(page.Data) < pageRows {
			b.Fatalf("%s: a page has %d rows of %d: what pages take could not be compared", s.name, len(page.Data), pageRows)
		}
		for _, t := range page.Data {
			if t.ID != "" {
				ids = append(ids, owned{of, t.ID})
			}
		}
	}
	if len(ids) == 0 {
		b.Fatal("no transaction is listed")
	}
	return ids
}

// compareBig checks the medians of both stores.
func compareBig(b *testing.B, big, empty *bigFigures) {
	check := func(what string, got, bound float64, least bool) {
		fmt.Printf("%-22s %-32s %.2f, bound %.2f\n", "Big", what, got, bound)
		b.ReportMetric(got, strings.ReplaceAll(what, " ", "-"))
		if least && got < bound || !least && got > bound {
			b.Errorf("%s: %.2f, bound %.2f", what, got, bound)
		}
	}
	check("cash-outs to empty", median(big.rates)/median(empty.rates), leastCashOuts, true)
	check("p99 to empty", median(big.latencies)/median(empty.latencies), mostLatency, false)
	check("compactions, big", median(big.compacts), mostCompacts, false)
	check("compactions, empty", median(empty.compacts), mostCompacts, false)
	for i, name := range readNames {
		check(name+" to empty", median(empty.reads[i])/median(big.reads[i]), mostRead, false)
	}
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
