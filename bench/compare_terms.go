package bench

import "math"

// stolenApart is how far two shares of stolen processor time are apart where they make ratios
// mean less.
const stolenApart = 0.02

// differences lists the conditions that were not the same in both reports, a line each.
func differences(c *Comparison) (all []string) {
	add := func(name, a, b string) {
		if a != b {
			all = append(all, name+": "+a+" in A, "+b+" in B")
		}
	}
	a, b := c.A, c.B
	add("processor", legible(a.Machine.CPU), legible(b.Machine.CPU))
	add("processors", showCount(a.Machine.Cores), showCount(b.Machine.Cores))
	add("memory of the machine", showSize(a.Machine.Memory), showSize(b.Machine.Memory))
	add("system", legible(a.Machine.System), legible(b.Machine.System))
	add("Go", legible(a.Machine.Go), legible(b.Machine.Go))
	add("engine", named(a.Engine.Version, a.Engine.Commit), named(b.Engine.Version, b.Engine.Commit))
	add("engine's place", a.Engine.place(), b.Engine.place())
	add("added to each sync", legible(a.Engine.Sync), legible(b.Engine.Sync))
	add("pixbench", legible(a.Program), legible(b.Program))
	for _, p := range c.Pairs {
		add(p.Load+": rate", showCount(p.A.Rate)+" requests/s", showCount(p.B.Rate)+" requests/s")
		add(p.Load+": accounts", showCount(p.A.Accounts), showCount(p.B.Accounts))
		add(p.Load+": connections", showCount(p.A.Connections), showCount(p.B.Connections))
		if a, b := p.A.Stolen, p.B.Stolen; a != nil && b != nil && math.Abs(*a-*b) >= stolenApart {
			add(p.Load+": processor time stolen by other machines", p.A.stolen(), p.B.stolen())
		}
		if a, b := p.A.Syncs.P50, p.B.Syncs.P50; a > 0 && b > 0 && max(a, b) >= 2*min(a, b) {
			add(p.Load+": p50 of the journal's syncs", showMicros(float64(a)), showMicros(float64(b)))
		}
		add(p.Load+": source addresses", showCount(p.A.Addresses), showCount(p.B.Addresses))
	}
	return all
}

// place says where an engine was: its address is not the same each time where it was started
// for the load.
func (t Target) place() string {
	if t.Own {
		return "started for the load"
	}
	return legible(t.URL)
}
