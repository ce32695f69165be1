package ledger

import (
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// underDoubt makes an account with a payment of 10,000, and a case about it that was opened
// under a doubted clock.
func underDoubt(t *testing.T) (*harness, *Case) {
	t.Helper()
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	h.doubted = true
	k := h.reported("a", 10_000)
	h.doubted = false
	return h, k
}

// TestCaseUnderDoubt checks that the deadlines of a case that was opened under a doubted clock
// count from the next start at the earliest, because the clock may have been wrong by days.
func TestCaseUnderDoubt(t *testing.T) {
	h, k := underDoubt(t)
	h.now += 10 * day // the clock had been ten days slow
	h.restart()
	counted := h.start
	if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); len(d.Launch) > 0 || d.Case.Status != pix.CaseOpen || d.Case.DueAt != h.start+h.terms.MEDDeadline {
		t.Errorf("looked after at the start: %+v", d.Case)
	}
	h.now += h.terms.MEDDeadline / 2
	h.restart() // which does not move the deadline again
	if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); len(d.Records) > 0 || d.Attended.Again != counted+h.terms.MEDDeadline {
		t.Errorf("looked after at the next start: %+v", d.Attended)
	}
	h.now = counted + h.terms.MEDDeadline - 1
	if d := h.step(DefendCase{ID: k.ID, Justification: "delivered", Result: pix.Disagreed}); d.Refusal != nil {
		t.Errorf("the last moment for a defence: %v", d.Refusal)
	}
	h.now += h.terms.MEDAnalysis - h.terms.MEDDeadline
	if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); len(d.Records) > 0 {
		t.Errorf("%d alerts before the time for the analysis is over", len(d.Alerts))
	}
	h.now++
	if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); len(d.Alerts) != 1 {
		t.Errorf("%d alerts at the end of the time for the analysis", len(d.Alerts))
	}
}

// TestDefenceAfterDoubt checks that a case that was opened under doubt has an end too.
func TestDefenceAfterDoubt(t *testing.T) {
	h, k := underDoubt(t)
	h.now += h.terms.MEDDeadline + h.ahead
	if d := h.step(DefendCase{ID: k.ID, Justification: "delivered", Result: pix.Disagreed}); d.Refusal == nil || d.Refusal.Code != RefuseCaseOver {
		t.Errorf("%+v", d)
	}
	if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); len(d.Launch) != 1 {
		t.Errorf("not closed at its deadline: %+v", d)
	}
}

// TestReturnsUnderDoubt checks that the 90 days for the return of a payment that was booked
// under a doubted clock count from the start of the process at the earliest.
func TestReturnsUnderDoubt(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.doubted = true
	h.paid("a", 10_000)
	h.spend(9_000)
	h.doubted = false
	h.now += 100 * day // the clock had been 100 days slow
	h.restart()
	k := h.reported("a", 10_000)
	if k.ReleaseAt != h.start+90*day {
		t.Errorf("released at %v", k.ReleaseAt)
	}
	if c := h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Case; c.Held != 9_000 {
		t.Errorf("%+v", c)
	}
	if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); len(d.Records) > 0 {
		t.Errorf("released at once: %+v", d.Case)
	}
}

// TestDoubtedCaseEnds checks that a case that was opened under doubt ends although the engine
// is started again more often than the case's deadline is long.
func TestDoubtedCaseEnds(t *testing.T) {
	h, k := underDoubt(t)
	for range 4 {
		h.now += h.terms.MEDDeadline * 2 / 3
		h.restart()
		if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); len(d.Launch) > 0 {
			return
		}
	}
	t.Errorf("%+v after four restarts", h.records[len(h.records)-1].Case)
}

// TestReleasedUnderDoubt checks that a case that was opened under doubt, and closed as agreed,
// waits for its money until 90 days after the next start.
func TestReleasedUnderDoubt(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	h.spend(9_000)
	h.doubted = true
	k := h.reported("a", 10_000)
	h.doubted = false
	h.now += 100 * day
	h.restart()
	if c := h.step(CloseCase{ID: k.ID, Result: pix.Agreed}).Case; c.Held != 9_000 {
		t.Errorf("%+v", c)
	}
	h.now += 90*day - 1
	if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); d.Case.Held != 9_000 || d.Case.DueAt != h.now+1 {
		t.Errorf("released early: %+v", d.Case)
	}
	h.now++
	if d := h.step(Attend{Kind: layout.DueCase, ID: layout.EntityID(k.ID)}); len(d.Records) != 1 || d.Case.Held != 0 {
		t.Errorf("not released: %+v", d)
	}
}

// TestReleaseCountsFromPayment checks that the 90 days of a case count from the payment and
// not from the case's opening.
func TestReleaseCountsFromPayment(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	h.now += 30 * day
	if k := h.reported("a", 10_000); k.ReleaseAt != paid.BookedAt+90*day {
		t.Errorf("released at %v, paid at %v", k.ReleaseAt, paid.BookedAt)
	}
}

// TestCancelledCaseHasItsTime checks that a withdrawn case says when it ended.
func TestCancelledCaseHasItsTime(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	h.paid("a", 10_000)
	k := h.reported("a", 10_000)
	h.now += 5000
	if c := h.step(CancelCase{Infraction: k.Infraction, EndToEnd: k.EndToEnd}).Case; c.ClosedAt != h.now+h.ahead || c.Status != pix.CaseCancelled || c.Held != 0 {
		t.Errorf("%+v", c)
	}
}

// TestDoubtedDeadline checks that a deadline under doubt counts from the later of the two times
// that may be right: that of the newest record, and the clock's.
func TestDoubtedDeadline(t *testing.T) {
	for _, doubted := range []bool{true, false} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		h.paid("a", 10_000)
		h.behind, h.doubted = 5*day, doubted
		want := h.now - h.behind + h.terms.MEDDeadline
		if doubted {
			want = h.now + h.ahead + h.terms.MEDDeadline
		}
		if k := h.reported("a", 10_000); k.DeadlineAt != want || k.Doubted != doubted {
			t.Errorf("doubted %v: %v, want %v", doubted, k.DeadlineAt, want)
		}
	}
}
