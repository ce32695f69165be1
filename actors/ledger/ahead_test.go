package ledger

import (
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// attended looks after a payout or refund whose due row is of an accepted one.
func (h *harness) attended(t *Transaction) Decision {
	h.t.Helper()
	return h.step(Attend{ID: layout.EntityID(t.ID)})
}

// startBehind starts a process whose clock is behind that of the one before: stamps go on from the
// newest record's.
func (h *harness) startBehind(by pix.Millis) {
	h.now, h.ahead = h.now-by, h.ahead+by
	h.restart()
}

// waitsUntil checks that nothing starts for a payout or refund before an instant, and returns what
// starts at it.
func (h *harness) waitsUntil(t *Transaction, at pix.Millis) Goal {
	h.t.Helper()
	for _, now := range []pix.Millis{h.now, at - 1} {
		h.now = now
		if d := h.attended(t); len(d.Launch) > 0 || d.Attended == nil || d.Attended.Again != at {
			h.t.Errorf("%v before %v: %+v %+v", t.Kind, at, d.Launch, d.Attended)
		}
	}
	h.now = at
	d := h.attended(t)
	if len(d.Launch) != 1 {
		h.t.Fatalf("%v at %v: %+v", t.Kind, at, d.Attended)
	}
	return d.Launch[0].Goal
}

// TestStampedAhead checks that a payout and a refund that a clock four hours ahead has stamped wait
// from the next start, under the right clock, for as long as any other.
func TestStampedAhead(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 50_000)
	paid := h.paid("a", 10_000)
	h.now += 4 * hour
	p := h.step(RequestPayout{Amount: 500, Key: pix.Key{Type: pix.KeyEmail, Value: "a@pix.test"}}).Launch[0].Tx
	r := h.step(RequestRefund{Original: paid.ID.String(), Amount: 1000, Reason: "MD06"}).Launch[0].Tx
	for _, sent := range []*Transaction{p, r} {
		h.step(ResolveTransfer{ID: sent.ID, EndToEnd: sent.EndToEnd, Result: TransferIsAccepted})
	}
	h.startBehind(4 * hour)
	start := h.start
	if goal := h.waitsUntil(p, start+h.terms.OrphanAfter); goal != GoalVoid {
		t.Errorf("the payout: %v", goal)
	}
	if d := h.step(ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: TransferIsVoided}); d.Tx.Status != pix.StatusFailed {
		t.Errorf("the payout is %v", d.Tx.Status)
	}
	h.now, h.ahead = start, h.ahead+h.terms.OrphanAfter
	if goal := h.waitsUntil(r, start+h.terms.OrphanAfter); goal != GoalClear {
		t.Errorf("the refund: %v", goal)
	}
	open := ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsOpen}
	if d := h.step(open); len(d.Alerts) != 1 || d.Tx.Transfer.DueAt != h.now+h.terms.OrphanAfter {
		t.Errorf("the refund: %+v", d)
	}
}

// TestAskedAhead is TestStampedAhead for a refund that the scheme was asked about already.
func TestAskedAhead(t *testing.T) {
	h := newHarness(t)
	h.open(DefaultSettings(), 0)
	paid := h.paid("a", 10_000)
	r := h.step(RequestRefund{Original: paid.ID.String(), Amount: 1000, Reason: "MD06"}).Launch[0].Tx
	h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsAccepted})
	open := ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsOpen}
	h.now += 4 * hour
	if d := h.step(open); !d.Tx.Transfer.Overdue {
		t.Fatalf("%+v", d)
	}
	h.startBehind(3 * hour)
	at := h.start + h.terms.OrphanAfter
	h.waitsUntil(r, at)
	if d := h.step(open); len(d.Records) != 1 || d.Tx.Transfer.DueAt != at+h.terms.OrphanAfter {
		t.Errorf("%+v", d)
	}
}

// TestIDFromAClockAhead checks that a queued payout whose id a clock hours ahead has made goes out under a new one, where the
// scheme would refuse the id as too far in the future.
func TestIDFromAClockAhead(t *testing.T) {
	for ahead, renewed := range map[pix.Millis]bool{renewAfter: false, renewAfter + 60_000: true} {
		h := newHarness(t)
		h.open(DefaultSettings(), 1_000)
		p := h.step(RequestPayout{Amount: 100, Key: emailKey(t, "a@example.com")}).Launch[0].Tx
		h.step(ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: TransferIsLimited, Refusal: RefuseRateLimited})
		h.startBehind(ahead)
		want := p.EndToEnd
		if renewed {
			want = pix.EndToEnd(h.terms.OwnISPB, h.now, p.EndToEnd[21:])
		}
		if sent := h.results(p, TransferIsSending, "").Launch[0].Tx; sent.EndToEnd != want {
			t.Errorf("%d ms ahead: it goes out under %s, want %s", ahead, sent.EndToEnd, want)
		}
	}
}

// TestRefusedAhead checks that a refund which an earlier process has submitted, with a clock that was ahead, may settle
// although every answer in the journal is a refusal: that process may have submitted it once more. Of a refund that this
// process accepted, no submit is unknown.
func TestRefusedAhead(t *testing.T) {
	for _, restarted := range []bool{true, false} {
		h := newHarness(t)
		h.open(DefaultSettings(), 0)
		h.paid("a", 10_000)
		r := h.agreed(h.reported("a", 10_000))
		h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRefused, Refusal: RefuseRateLimited})
		if restarted {
			h.startBehind(4 * hour)
		}
		h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Result: TransferIsRefused, Refusal: RefuseProvider})
		h.step(ResolveTransfer{ID: r.ID, EndToEnd: r.EndToEnd, Notice: true, Result: TransferIsSettled})
		if debited := h.account.Totals.Balance == 0; debited != restarted {
			t.Errorf("restarted %v: %+v", restarted, h.account.Totals)
		}
	}
}
