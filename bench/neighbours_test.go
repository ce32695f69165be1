package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// waysNamed returns some of the ways.
func waysNamed(t *testing.T, names ...string) (some []way) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(ways, func(w way) bool { return w.name == name })
		if i < 0 {
			t.Fatalf("no way %q", name)
		}
		some = append(some, ways[i])
	}
	return some
}

// TestNeighbours runs ways of being greedy against an engine of its own, and checks that each
// does what it says, that the modest account is served, and that the books agree at the end.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	o := small(t, neighbours)
	o.Connections, o.WarmUp = 0, 100*time.Millisecond
	o.ways = waysNamed(t, "balance polls", "lists", "receipts", "slow webhooks", "equal payouts", "refunds at a dead provider")
	if testing.Short() {
		o.ways = waysNamed(t, "receipts", "slow webhooks")
	}
	began := time.Now()
	r, err := Measure(t.Context(), t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Audit.OK() || r.Audit.Scheme != "compared" || r.Audit.Accounts != 1+len(o.ways) || len(r.Neighbours) != len(o.ways) || len(r.Runs) != 2*len(o.ways) {
		t.Fatalf("%d neighbours, %d runs, %+v", len(r.Neighbours), len(r.Runs), r.Audit)
	}
	for i := range r.Neighbours {
		n := &r.Neighbours[i]
		if n.LeftOut != "" || n.Greedy.Sent == 0 || n.Greedy.Done == 0 || n.Ratio == 0 || sum(n.Beside.Errors) > modestRate/4 || n.Beside.Untold > 0 || n.Alone.Untold > 0 { // on a busy machine a few are refused
			t.Errorf("%+v", n)
		}
		if dead := n.Way == "refunds at a dead provider"; dead != (n.Beside.Webhooks.Max == 0) || dead != (n.Told == 0) {
			t.Errorf("%s: webhooks %+v, alone %+v, ratio %v", n.Way, n.Beside.Webhooks, n.Alone.Webhooks, n.Told)
		}
		if !dead(n) && n.Beside.Webhooks.P50 < 200_000 {
			t.Errorf("%s: a webhook came %d µs after its payout's request, which the simulator settles after 200 ms", n.Way, n.Beside.Webhooks.P50)
		}
	}
	if took := time.Since(began); took > 3*time.Minute {
		t.Errorf("it took %v: a load that should end by itself has lasted", took)
	}
	for i := range r.Runs {
		if n := &r.Runs[i]; n.Sent < modestRate || n.Sent > modestRate+2 || n.Accounts != 1 || n.Rate != modestRate {
			t.Errorf("%+v", n)
		}
	}
	ended := map[string]int{}
	for _, e := range r.Audit.Statuses {
		ended[e.Request+" "+e.Status] = e.Count
	}
	if !testing.Short() && (ended["cash-in active"] != historyLength || ended["cash-out rejected"] < 20 || ended["refund settled"] < 20) {
		t.Errorf("ended %v", ended)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "receipts ") || !strings.Contains(text.String(), "audit: the books agree") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func dead(n *Neighbour) bool { return n.Way == "refunds at a dead provider" }

// TestNeighboursOfATarget checks that a way which an engine of somebody else's does not allow is
// left out with its reason, and that queued payouts keep the modest account's waiting no longer
// than their time.
func TestNeighboursOfATarget(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the audit waits for queued payouts")
	}
	other := newOther(t)
	o := other.options(t, neighbours)
	o.Connections, o.ways = 0, waysNamed(t, "slow webhooks", "refunds at a dead provider", "queued payouts")
	r, err := Measure(t.Context(), t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range r.Neighbours {
		got[n.Way] = n.LeftOut
	}
	if got["slow webhooks"] != "the engine calls no address of this machine" || got["refunds at a dead provider"] != "the scheme is not pixbench's own, which it could end" || got["queued payouts"] != "" {
		t.Errorf("%q", got)
	}
	n := r.Neighbours[2]
	if !r.Audit.OK() || n.Greedy.Done < 500 || sum(n.Beside.Errors) > modestRate/4 || n.Ratio == 0 || n.Told != 0 || r.Audit.InFlight < 500 {
		t.Errorf("%+v\n%+v", n, r.Audit)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "slow webhooks: 20 subscriptions to receivers that answer 200 after 0.9 or 10 s, and 100 payouts a second; left out: the engine calls no") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestHook checks how long a webhook took, that what did not come is counted, and that what was
// not accepted is not waited for.
func TestHook(t *testing.T) {
	t.Parallel()
	h, err := newHook()
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	h.begin()
	for _, name := range []string{"one", "two", "refused"} {
		h.asked(name)
	}
	h.forget("refused")
	time.Sleep(30 * time.Millisecond)
	for _, name := range []string{"one", "one", "unknown"} {
		body, _ := json.Marshal(map[string]any{"data": map[string]string{"external_id": name}})
		a, err := http.Post(h.url("/told"), "application/json", strings.NewReader(string(body)))
		if err != nil || a.StatusCode != http.StatusOK {
			t.Fatal(a, err)
		}
		_ = a.Body.Close()
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if took, missing := h.end(ctx); missing != 1 || took.P50 < 30_000 || took.Max > 5_000_000 || h.arrived.TotalCount() != 1 {
		t.Errorf("took %+v, %d missing", took, missing)
	}
	if h.begin(); len(h.waiting) != 0 || h.arrived.TotalCount() != 0 {
		t.Error("a measurement begins with what the one before has left")
	}
	began := time.Now()
	a, err := http.Get(h.url("/slow?after=50ms"))
	if err != nil || a.StatusCode != http.StatusOK || time.Since(began) < 50*time.Millisecond {
		t.Errorf("%v %v after %v", a, err, time.Since(began))
	}
}

// TestBeyond checks what counts as more than a greedy account may cost another.
func TestBeyond(t *testing.T) {
	t.Parallel()
	errors := []Count{{"503", 1}}
	for name, c := range map[string]struct {
		n    Neighbour
		want bool
	}{
		"twice":                   {Neighbour{Ratio: 2, Told: 2}, false},
		"nothing":                 {Neighbour{}, false},
		"answers beyond":          {Neighbour{Ratio: 2.01, Told: 1}, true},
		"webhooks beyond":         {Neighbour{Ratio: 1, Told: 2.01}, true},
		"an error":                {Neighbour{Ratio: 1, Beside: Modest{Errors: errors}}, true},
		"an error as alone":       {Neighbour{Ratio: 1, Beside: Modest{Errors: errors}, Alone: Modest{Errors: errors}}, false},
		"a webhook that is late":  {Neighbour{Ratio: 1, Beside: Modest{Untold: 1}}, true},
		"a webhook late as alone": {Neighbour{Ratio: 1, Beside: Modest{Untold: 1}, Alone: Modest{Untold: 1}}, false},
	} {
		if c.n.Beyond() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
		c.n.Way = "lists"
		r := sampleReport()
		r.Neighbours = []Neighbour{c.n}
		if last := r.neighbourLines()[1]; (last == "nothing was compared") != (name == "nothing") {
			t.Errorf("%s: %s", name, last)
		}
		if last := r.neighbourLines()[1]; strings.HasPrefix(last, "beyond 2 times what the modest account has alone, or with errors: lists") != c.want {
			t.Errorf("%s: %s", name, last)
		}
	}
	if ratio(Latency{P99: 100}, Latency{P99: 250}) != 2.5 || ratio(Latency{}, Latency{P99: 1}) != 0 || ratio(Latency{P99: 1}, Latency{}) != 0 {
		t.Error("ratio")
	}
}

// TestAddressesOfNeighbours checks that the greedy account has other source addresses than the
// modest one where there are several, and that there need not be any.
func TestAddressesOfNeighbours(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		all := make([]netip.Addr, n)
		for i := range all {
			all[i] = netip.AddrFrom4([4]byte{127, 0, 0, byte(i)})
		}
		s := &session{target: &target{from: all}}
		modest, greedy := s.from(0, 1), s.from(1, n)
		if n > 1 && (len(modest) != 1 || len(greedy) != n-1 || greedy[0] == modest[0]) || n < 2 && len(modest)+len(greedy) != 2*n {
			t.Errorf("of %d: %v and %v", n, modest, greedy)
		}
	}
}

// sampleNeighbours is a report of the scenario.
func sampleNeighbours() *Report {
	alone := Modest{Requests: Latency{P50: 900, P90: 1800, P99: 3100, P999: 5000, Max: 5200}, Webhooks: Latency{P50: 210_000, P90: 215_000, P99: 230_000, P999: 240_000, Max: 240_000}}
	beside := alone
	beside.Requests.P99, beside.Requests.P999, beside.Requests.Max, beside.Errors = 9300, 9900, 10_000, []Count{{"503", 2}}
	r := sampleReport(sampleRun("neighbours alone (lists)", 5, 20), sampleRun("neighbours beside lists", 5, 20))
	r.Neighbours = []Neighbour{
		{Way: "lists", Says: "200 filtered lists a second", Alone: alone, Beside: beside, Greedy: Greed{Sent: 1000, Done: 412, Errors: []Count{{"503", 588}}}, Ratio: 3, Told: 1},
		{Way: "refunds at a dead provider", Says: "the scheme is down", LeftOut: "the scheme is not pixbench's own"},
		{Way: "receipts", Says: "200 receipts a second", Alone: alone, Beside: alone, Greedy: Greed{Sent: 1000, Done: 1000}, Ratio: 1},
	}
	return r
}

// TestNeighboursShown checks the table of the scenario, on the page and as text, and that a report
// of it is read as it was written and refused with figures that no load has.
func TestNeighboursShown(t *testing.T) {
	t.Parallel()
	r := sampleNeighbours()
	_, all := page(t, r)
	var rows, cells, bad []string
	for _, e := range all {
		if !strings.Contains(e.path, "runsneighbours") {
			continue
		}
		switch {
		case e.name == "th" && strings.Contains(e.path, "tbody"):
			rows = append(rows, e.text)
		case e.name == "td" && e.attrs["class"] == "bad":
			bad = append(bad, e.text)
			fallthrough
		case e.name == "td":
			cells = append(cells, e.attrs["data-column"]+" "+e.text)
		}
	}
	if !slices.Equal(rows, []string{"lists", "receipts"}) || !slices.Equal(bad, []string{"3.00"}) || len(cells) != 2*(len(neighbourColumns)-1) || !slices.Contains(cells, "p99 9.30 ms") || !slices.Contains(cells, "webhook ratio –") {
		t.Errorf("rows %q, bad %q, cells %q", rows, bad, cells)
	}
	var text, file strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3.10 ms", "9.30 ms", "3.00", "left out: the scheme is not", "the greedy account met 588 × 503", "the modest one met 2 × 503", "or with errors: lists\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if err := r.WriteJSON(&file); err != nil {
		t.Fatal(err)
	}
	read, err := parseReport([]byte(file.String()))
	if err != nil || len(read.Neighbours) != 3 || read.Neighbours[0].Beside.Requests != r.Neighbours[0].Beside.Requests {
		t.Errorf("%+v, %v", read, err)
	}
	for name, damage := range map[string]func(n *Neighbour){
		"of the greedy account": func(n *Neighbour) { n.Greedy.Sent = -1 },
		"carried out":           func(n *Neighbour) { n.Greedy.Done = n.Greedy.Sent + 1 },
		"the ratio of requests": func(n *Neighbour) { n.Ratio = -1 },
		"the ratio of webhooks": func(n *Neighbour) { n.Told = -1 },
		"did not arrive":        func(n *Neighbour) { n.Beside.Untold = -1 },
		"the p50":               func(n *Neighbour) { n.Alone.Webhooks.P50 = -1 },
		"number of errors":      func(n *Neighbour) { n.Greedy.Errors = []Count{{"503", -1}} },
	} {
		r := sampleNeighbours()
		damage(&r.Neighbours[0])
		if err := r.check(); err == nil || !strings.HasPrefix(err.Error(), "neighbour 1 (lists): ") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestModestPayoutsThatWait checks that beside queued payouts every fourth payout of the modest
// account waits for the directory once, and elsewhere none.
func TestModestPayoutsThatWait(t *testing.T) {
	t.Parallel()
	for _, w := range []*way{nil, {}, {queued: true}} {
		m := modest{tag: "m", way: w}
		waits, want := 0, 0
		for i := 0; i < 80; i += 2 { // the others are lookups
			if strings.Contains(m.payoutOf(i).body, "bucket-exhausted-1+") {
				waits++
			}
		}
		if w != nil && w.queued {
			want = 10
		}
		if waits != want {
			t.Errorf("%+v: %d of 40 payouts wait", w, waits)
		}
	}
}

// TestSlowReceiversAreRemoved checks that each subscription to a slow receiver is removed after the
// load, also where only some could be made.
func TestSlowReceiversAreRemoved(t *testing.T) {
	t.Parallel()
	hook, err := newHook()
	if err != nil {
		t.Fatal(err)
	}
	defer hook.close()
	for _, most := range []int{20, 7} {
		var mu sync.Mutex
		live, slow := map[string]bool{}, 0
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodDelete {
				delete(live, strings.TrimPrefix(r.URL.Path, "/api/external/webhooks/"))
				return
			}
			if len(live) == most {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "/slow?after=10000ms") {
				slow++
			}
			id := fmt.Sprintf("wh_%d", len(live))
			live[id] = true
			_, _ = fmt.Fprintf(w, `{"id":"%s"}`, id)
		}))
		s := &session{target: &target{Target: Target{URL: engine.URL}}, reader: engine.Client(), merchants: []merchant{{}, {secret: "s"}}}
		remove, err := subscribeSlow(t.Context(), &greedy{session: s, account: 1, hook: hook})
		if all := err == nil; all != (most == 20) || all && (len(live) != 20 || slow != 5) {
			t.Fatalf("of %d: %d are made, %d of them slow (%v)", most, len(live), slow, err)
		}
		if err == nil {
			err = remove(t.Context())
		}
		if len(live) != 0 || err != nil && most == 20 {
			t.Errorf("of %d %d are left (%v)", most, len(live), err)
		}
		engine.Close()
	}
}
