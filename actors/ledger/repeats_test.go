package ledger

import (
	"errors"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

func open(t *testing.T, balance pix.Amount) *harness {
	h := newHarness(t)
	s := DefaultSettings()
	s.Name, s.Document = "Loja", "12345678901"
	h.open(s, balance)
	return h
}

func emailKey(t *testing.T, raw string) pix.Key {
	t.Helper()
	k, ok := pix.ParseKey(pix.KeyEmail, raw)
	if !ok {
		t.Fatal(raw)
	}
	return k
}

// TestRepeatsAtOnce checks the limit on payouts under way under one end-to-end id (1,000;
// in this test 20), for an id that the engine computed and for one that the merchant chose.
// The next request above the limit gets ErrBusy before anything is held, and is accepted
// once one of the payouts has ended.
func TestRepeatsAtOnce(t *testing.T) {
	if maxRepeats != 1_000 {
		t.Errorf("the bound is %d", maxRepeats)
	}
	for name, own := range map[string]string{"derived": "", "own": "E9999900420260301120000000000000"} {
		t.Run(name, func(t *testing.T) {
			h := open(t, 1_000_000)
			h.terms.MaxRepeats = 20
			ask := RequestPayout{Amount: 1, Key: emailKey(t, "a@example.com"), EndToEnd: own}
			var held []*Transaction
			for range h.terms.MaxRepeats {
				held = append(held, h.step(ask).Launch[0].Tx)
			}
			seq := h.account.Seq
			if _, err := h.try(ask, false); !errors.Is(err, ErrBusy) || h.account.Seq != seq {
				t.Fatalf("one more is answered %v, after record %d", err, h.account.Seq)
			}
			h.step(ResolveTransfer{ID: held[5].ID, EndToEnd: held[5].EndToEnd, Result: TransferIsRefused, Refusal: RefuseKeyNotFound})
			if d := h.step(ask); len(d.Launch) != 1 || d.Launch[0].Tx.EndToEnd != held[0].EndToEnd {
				t.Fatalf("there is room again, and it comes to %+v", d)
			}
		})
	}
}

// TestDuplicateOf checks which transaction is named by a payout that the scheme rejected as
// a duplicate: the transaction that settled, else the one that was sent first, and never
// one that was held first but may never be sent.
func TestDuplicateOf(t *testing.T) {
	h := open(t, 1_000)
	var held []*Transaction
	for range 5 {
		held = append(held, h.step(RequestPayout{Amount: 1, Key: emailKey(t, "a@example.com")}).Launch[0].Tx)
		h.now++
	}
	reported := func(i int, r TransferResult, reason string) *Transaction {
		return h.step(ResolveTransfer{ID: held[i].ID, EndToEnd: held[i].EndToEnd, Result: r, Reason: reason}).Tx
	}
	names := func(i, want int) {
		t.Helper()
		if of := reported(i, TransferIsRejected, ReasonDuplicate).Payout.DuplicateOf; of == nil || *of != held[want].ID {
			t.Errorf("payout %d is a duplicate of %v, and the scheme has %v", i, of, held[want].ID)
		}
	}
	reported(2, TransferIsAccepted, "")
	names(0, 2)
	h.now++
	reported(1, TransferIsAccepted, "")
	names(3, 2)
	reported(1, TransferIsSettled, "")
	names(4, 1)
}

// TestExpiresInTime checks that a payout pending approval fails at its time limit, and not
// before the limit even if the command Attend comes earlier.
func TestExpiresInTime(t *testing.T) {
	threshold := pix.Amount(1)
	s := DefaultSettings()
	s.Name, s.Document, s.ApprovalThreshold = "Loja", "12345678901", &threshold
	h := newHarness(t)
	h.open(s, 1_000_000)
	id := h.step(RequestPayout{Amount: 100, Key: emailKey(t, "a@example.com")}).Tx.ID
	h.now += h.terms.ApprovalTTL - 1
	if d := h.step(Attend{ID: layout.EntityID(id)}); len(d.Records) != 0 || d.Attended.Again != h.now+1 {
		t.Errorf("a millisecond too early: %+v", d)
	}
	h.now++
	if d := h.step(Attend{ID: layout.EntityID(id)}); len(d.Records) != 1 {
		t.Error("never")
	}
}

// TestAttended checks the result of the command Attend for a payout: while a child actor
// carries the payout, nothing happens but a later task; after a restart, a new child actor
// is started; after the payout has ended, nothing happens.
func TestAttended(t *testing.T) {
	h := open(t, 1_000)
	id := h.step(RequestPayout{Amount: 1, Key: emailKey(t, "a@example.com")}).Launch[0].Tx.ID
	seq := h.account.Seq
	if d := h.step(Attend{ID: layout.EntityID(id), Seq: seq}); len(d.Launch) != 0 || d.Attended.Again != h.now+carriedAgain || !d.Attended.Skipped {
		t.Errorf("a child carries it: %+v", d)
	}
	h.restart()
	if d := h.step(Attend{ID: layout.EntityID(id), Seq: seq}); len(d.Launch) != 1 || d.Launch[0].Goal != GoalResume {
		t.Errorf("its child is lost: %+v", d)
	}
	h.step(ResolveTransfer{ID: id, EndToEnd: h.records[seq-1].Tx.EndToEnd, Result: TransferIsSettled})
	if d := h.step(Attend{ID: layout.EntityID(id)}); len(d.Launch)+len(d.Records) != 0 || *d.Attended != (Attended{Skipped: true}) {
		t.Errorf("it has ended: %+v", d)
	}
	if d := h.step(Attend{ID: layout.EntityID(id), Retry: true}); !d.Attended.Skipped {
		t.Errorf("it is in no queue: %+v", d)
	}
	for _, c := range []Command{Attend{ID: layout.EntityID{9}}, ResolveTransfer{ID: pix.TxID{9}}, ReceiveReturn{ID: pix.TxID{9}}} {
		if _, err := h.try(c, false); !errors.Is(err, ErrUnknownTransfer) {
			t.Errorf("%T of a payout that is none: %v", c, err)
		}
	}
	if _, err := h.try(Attend{ID: layout.EntityID{9}, Seq: 1}, false); err == nil {
		t.Error("a record that is about no payout")
	}
}

// TestOldIDStaysFound checks that the id under which a payout waits is still found when an equal payout
// gets another because the first one's is too old.
func TestOldIDStaysFound(t *testing.T) {
	h := newHarness(t)
	s := DefaultSettings()
	threshold := pix.Amount(500)
	s.ApprovalThreshold = &threshold
	h.open(s, 50_000)
	request := RequestPayout{Amount: 500, Key: pix.Key{Type: pix.KeyEmail, Value: "a@pix.test"}}
	waits := h.step(request).Tx
	h.now += 13 * hour
	other := h.step(request).Tx
	if other.EndToEnd == waits.EndToEnd {
		t.Fatalf("both have %s", waits.EndToEnd)
	}
	b, there := h.rows[string(layout.EndToEndKey(waits.EndToEnd))]
	if !there {
		t.Fatalf("%s is not found", waits.EndToEnd)
	}
	if row, err := layout.DecodeEndToEndRow(b); err != nil || row.Account != testAccount || row.ID != waits.ID {
		t.Errorf("%+v %v", row, err)
	}
}

// TestMostLikelyID checks which of several ids of equal payouts is taken for the one that moved money: that of a
// payout that has settled or may still settle although it has failed; else of one that is held, queued or on its way;
// else of one that waits for an approval; else of one that has failed or was refused. Among those alike the newest id counts, whichever is
// read first.
func TestMostLikelyID(t *testing.T) {
	older, newer := endToEnd(""), pix.EndToEnd("99999004", pix.Millis(2e12), "00000000000")
	under := func(tx Transaction, endToEnd string) *Transaction {
		tx.Kind, tx.EndToEnd = pix.TxPayout, endToEnd
		return &tx
	}
	ranks := [][]Transaction{
		{{Status: pix.StatusFailed}, {Status: pix.StatusRefused}, {Status: pix.StatusRejected}, {Status: pix.StatusRejected, ReasonCode: ReasonDuplicate, Payout: PayoutPart{DuplicateOf: new(pix.TxID)}}},
		{{Status: pix.StatusPending}},
		{{Status: pix.StatusQueued}, {Status: pix.StatusHeld}, {Status: pix.StatusSending}, {Status: pix.StatusAccepted}},
		{{Status: pix.StatusSettled}, {Status: pix.StatusFailed, ReasonCode: ReasonVoided}, {Status: pix.StatusRejected, ReasonCode: ReasonDuplicate}},
	}
	check := func(want string, all ...*Transaction) {
		t.Helper()
		for range 2 {
			var u use
			for _, tx := range all {
				u.name(tx)
			}
			if u.endToEnd != want {
				t.Errorf("%s of %v %s (%s) and %v %s (%s)", u.endToEnd, all[0].Status, all[0].ReasonCode, all[0].EndToEnd, all[1].Status, all[1].ReasonCode, all[1].EndToEnd)
			}
			slices.Reverse(all)
		}
	}
	for i, alike := range ranks {
		for _, one := range alike {
			for _, other := range alike {
				check(newer, under(one, older), under(other, newer))
			}
			for _, rank := range ranks[:i] {
				for _, less := range rank {
					check(older, under(one, older), under(less, newer))
				}
			}
		}
	}
	if c := (&Chain{EndToEnd: older}); c.holder() != nil {
		t.Error("an id without a known holder has one")
	}
	if c := (&Chain{EndToEnd: older, Holder: pix.TxID{7}}); c.holder() == nil || *c.holder() != (pix.TxID{7}) {
		t.Errorf("the holder is %v", c.holder())
	}
}

// TestCloser checks which of two equal payouts the scheme is more likely to have.
func TestCloser(t *testing.T) {
	payout := func(s pix.TxStatus, sent, requested pix.Millis) *Transaction {
		tx := &Transaction{ID: pix.NewTxID(requested, [10]byte{}), Kind: pix.TxPayout, Status: s}
		tx.Transfer.AcceptedAt = sent
		return tx
	}
	for name, c := range map[string]struct {
		first, second *Transaction
	}{
		"settled before accepted":               {payout(pix.StatusSettled, 9, 9), payout(pix.StatusAccepted, 1, 1)},
		"accepted before on its way":            {payout(pix.StatusAccepted, 9, 9), payout(pix.StatusSending, 1, 1)},
		"sent first":                            {payout(pix.StatusAccepted, 5, 9), payout(pix.StatusAccepted, 6, 1)},
		"requested first of those sent at once": {payout(pix.StatusAccepted, 5, 5), payout(pix.StatusAccepted, 5, 6)},
	} {
		if !closer(c.first, c.second) || closer(c.second, c.first) {
			t.Errorf("%s: it is not", name)
		}
	}
	if one := payout(pix.StatusAccepted, 5, 5); closer(one, one) {
		t.Error("a payout is closer than itself")
	}
}
