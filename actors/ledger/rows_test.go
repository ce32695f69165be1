package ledger

import (
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// TestRowsOfNoForm checks that decoding returns an error for bytes that no version of the
// engine wrote.
func TestRowsOfNoForm(t *testing.T) {
	for name, decode := range map[string]func(b []byte) error{
		"id":          func(b []byte) error { _, err := layout.DecodeIDRow(b); return err },
		"item":        func(b []byte) error { _, err := layout.DecodeItemRow(b); return err },
		"idempotency": func(b []byte) error { _, err := layout.DecodeIdempotencyRow(b); return err },
		"day":         func(b []byte) error { _, err := layout.DecodeIdempotencyDay(b); return err },
		"sequence":    func(b []byte) error { _, err := layout.DecodeSeqRow(b); return err },
		"end-to-end":  func(b []byte) error { _, err := layout.DecodeEndToEndRow(b); return err },
		"received":    func(b []byte) error { _, err := layout.DecodeReceivedKey(b); return err },
		"payment":     func(b []byte) error { _, err := layout.DecodeReceivedRow(storyID("x"), b); return err },
		"due":         func(b []byte) error { _, err := layout.DecodeDue(b, layout.SeqRow(1)); return err },
		"queue":       func(b []byte) error { _, err := layout.DecodeQueued(b, layout.QueueRow(1)); return err },
		"open":        func(b []byte) error { _, _, err := layout.DecodeOpenKey(b); return err },
		"head":        func(b []byte) error { return (&Account{}).DecodeHead(b) },
	} {
		for _, b := range [][]byte{nil, {1, 2, 3}} {
			if decode(b) == nil {
				t.Errorf("%s: %x is taken", name, b)
			}
		}
	}
	holdBelowZero := Account{Totals: Totals{Held: -1}}
	if (&Account{}).DecodeHead(holdBelowZero.EncodeHead()) == nil {
		t.Error("a head with a hold below zero is taken")
	}
}

// TestSettingsEqual checks that a change of any setting makes settings unequal.
func TestSettingsEqual(t *testing.T) {
	threshold, other, same := pix.Amount(1), pix.Amount(2), pix.Amount(1)
	base := func() Settings {
		s := DefaultSettings()
		s.ApprovalThreshold = &threshold
		return s
	}
	for name, change := range map[string]func(*Settings){
		"name": func(s *Settings) { s.Name = "x" }, "document": func(s *Settings) { s.Document = "x" }, "city": func(s *Settings) { s.City = "x" },
		"in": func(s *Settings) { s.CashInFee.Fixed = 1 }, "out": func(s *Settings) { s.CashOutFee.BPS = 1 }, "ceiling": func(s *Settings) { s.CashOutCeiling = 1 },
		"threshold": func(s *Settings) { s.ApprovalThreshold = &other }, "no threshold": func(s *Settings) { s.ApprovalThreshold = nil },
		"control": func(s *Settings) { s.BlockCNPJOut = true }, "list": func(s *Settings) { s.AuthorizedCNPJs = []string{"x"} }, "window": func(s *Settings) { s.RepeatWindow++ },
	} {
		a, b := base(), base()
		if change(&b); a.Equal(&b) || b.Equal(&a) {
			t.Errorf("%s does not count", name)
		}
	}
	a, b := base(), base()
	if b.ApprovalThreshold = &same; !a.Equal(&b) {
		t.Error("the same threshold is another")
	}
}

// TestEndedLeavesNoRows checks that nothing lists a payout as open, due or queued once it has ended, however it ended.
func TestEndedLeavesNoRows(t *testing.T) {
	resolve := func(h *harness, p *Transaction, r TransferResult, reason string) {
		h.step(ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: r, Reason: reason})
	}
	queue := func(h *harness, p *Transaction) {
		h.step(ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: TransferIsLimited, Refusal: RefuseRateLimited})
	}
	for name, end := range map[string]func(h *harness, p *Transaction){
		"settled":  func(h *harness, p *Transaction) { resolve(h, p, TransferIsSettled, "") },
		"rejected": func(h *harness, p *Transaction) { resolve(h, p, TransferIsRejected, "AC03") },
		"settled later": func(h *harness, p *Transaction) {
			resolve(h, p, TransferIsAccepted, "")
			resolve(h, p, TransferIsSettled, "")
		},
		"queued, settled":  func(h *harness, p *Transaction) { queue(h, p); resolve(h, p, TransferIsSettled, "") },
		"queued, rejected": func(h *harness, p *Transaction) { queue(h, p); resolve(h, p, TransferIsRejected, "AC03") },
		"queued too long": func(h *harness, p *Transaction) {
			queue(h, p)
			clear(h.carried)
			h.now += h.terms.QueueTTL
			h.step(Attend{Kind: layout.DueTransfer, ID: layout.EntityID(p.ID)})
		},
	} {
		h := newHarness(t)
		h.open(DefaultSettings(), 1_000_000)
		before := len(h.listed())
		p := h.step(RequestPayout{Amount: 100, Key: pix.Key{Type: pix.KeyEmail, Value: "ana@example.com"}}).Launch[0].Tx
		if len(h.listed()) == before {
			t.Fatal("a payout on its way is nowhere listed")
		}
		end(h, p)
		if now := h.transactionOf(p.ID); !now.Ended() || len(h.listed()) != before {
			t.Errorf("%s: %v, still listed: %q", name, now.Status, h.listed())
		}
	}
}

// listed returns the keys of the rows that list transfers as open, due or queued.
func (h *harness) listed() (all []string) {
	open, openEnd := layout.OpenRange()
	due, dueEnd := layout.AllDue()
	for _, r := range append(layout.QueueRanges(), [2][]byte{open, openEnd}, [2][]byte{due, dueEnd}) {
		for k := range h.rows {
			if k >= string(r[0]) && k < string(r[1]) {
				all = append(all, k)
			}
		}
	}
	return all
}
