package ledger

import (
	"errors"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// FindPayout is a payout as the scheme has it, told to an engine whose journal was restored: the
// journal may lack every trace of it, or have it in an earlier state. No rule about payouts refuses it,
// because the scheme has it: the money moves, or has moved. It fails where its ids are those of
// something else here.
type FindPayout struct {
	ID            pix.TxID
	EndToEnd      string // in the scheme's form
	Amount        pix.Amount
	Key           pix.Key
	Owner         pix.Party // owner of the key; the zero value: the scheme does not say
	RecipientISPB string
	Description   string
	Purpose       string
	Result        TransferResult // TransferIsAccepted, TransferIsSettled or TransferIsRejected
	Reason        string         // the scheme's reason code, with TransferIsRejected
}

func (FindPayout) traits() Traits { return Traits{IsNotice: true} }

// foundPayout is a payout that the journal lacks, with what the decision needs beside it.
type foundPayout struct {
	FindPayout
	chain    Chain
	own      bool           // the engine did not compute the id
	repeats  bool           // a payout here has the id
	later    bool           // the id is of a later attempt than those in the journal
	suffixes []string       // of the attempts before it that the journal lacks, too
	over     []*Transaction // payouts of an earlier attempt that wait here: it was requested instead of them
}

func (c FindPayout) gather(g *gathering) (decider, error) {
	t, err := g.transfer(c.ID, c.EndToEnd)
	if err != nil {
		return nil, err
	}
	if t != nil && (t.Kind != pix.TxPayout || t.Amount != c.Amount) {
		return nil, errAnother
	}
	if t != nil {
		return ResolveTransfer{
			ID: c.ID, EndToEnd: c.EndToEnd, Notice: true, Restored: true, Result: c.Result, Owner: c.Owner, Reason: c.Reason,
		}.gather(g)
	}
	f := &foundPayout{FindPayout: c}
	g.stakes.released = c.Amount
	if err := g.foundChain(f); err != nil || !f.chain.Foreign {
		return f, err
	}
	return nil, errForeign
}

// The errors of what the scheme tells of a payout or refund that cannot be the one that is known here.
var (
	errAnother = errors.New("another payout or refund has its transaction id here")
	errForeign = errors.New("another account has its end-to-end id here")
)

// attemptsSought is how many attempts beyond the newest in the journal, and before it, are looked at to
// see whether the engine computed an id, each a microsecond. Each refusal of a request takes one. Where an equal payout
// waits, it is not paid beside the one that was requested instead, however often that was tried: mostSought.
const (
	attemptsSought = 512
	mostSought     = 16_384
)

// foundChain finds out whether the engine computed the end-to-end id of a payout that the journal
// lacks, which other payouts have the id, and which it was requested instead of.
func (g *gathering) foundChain(f *foundPayout) error {
	print := pix.Fingerprint{Account: g.account.ID, Amount: f.Amount, KeyType: f.Key.Type, Key: f.Key.Value}
	newest, row, err := g.newestAttempt(print)
	if err != nil {
		return err
	}
	var wait []*Transaction
	if row != nil && row.Account == g.account.ID {
		if wait, err = g.waitUnder(row); err != nil {
			return err
		}
	}
	f.own = !g.computed(f, print, newest, row != nil, len(wait) > 0)
	if f.later {
		f.over = wait
	}
	for _, t := range f.over {
		g.stakes.released += t.Gross()
	}
	if !f.own {
		return g.computedChain(f)
	}
	f.chain, err = g.ownRow(f.EndToEnd)
	f.repeats = f.chain.Shared != nil
	return err
}

// computed reports whether the engine computed the id of a payout that the journal lacks, and finds its attempt. newest is the
// newest attempt in the journal, where there is one; waits: a payout waits under it.
func (g *gathering) computed(f *foundPayout, print pix.Fingerprint, newest uint64, there, waits bool) bool {
	secret, suffix := g.stamp.Terms.Secret, f.EndToEnd[len(f.EndToEnd)-pix.SuffixChars:]
	next := newest // the first attempt that the journal lacks
	if there {
		next++
	}
	last := next + attemptsSought
	if waits {
		last = next + mostSought
	}
	for attempt := max(newest, attemptsSought) - attemptsSought; attempt < last; attempt++ {
		if print.Suffix(secret, attempt) != suffix {
			continue
		}
		for lacks := next; lacks < attempt; lacks++ {
			f.suffixes = append(f.suffixes, print.Suffix(secret, lacks))
		}
		f.chain, f.later = Chain{Suffix: suffix, Attempt: attempt}, there && attempt >= next
		return true
	}
	return false
}

// waitUnder finds the payouts that wait under an attempt, whose row is given. Where the scheme has a later one, they have failed in
// the gap: a later attempt is made only once all payouts of the earlier ones have ended without moving money. One that was
// requested since a gap was accepted has not, and ends all the same: an equal one that is requested next gets another id.
func (g *gathering) waitUnder(row *layout.EndToEndRow) (all []*Transaction, err error) {
	for _, member := range row.All() {
		t, err := g.member(row, member)
		if err != nil {
			return nil, err
		}
		if t.waits() && g.Carried(t.ID) == nil {
			all = append(all, t)
		}
	}
	return all, nil
}

// computedChain finds the payouts that have an id which the engine computed. An older id with the
// same suffix makes room for the new one, and what waits under the older one stays in the row, because it takes the
// new id when it is sent; beside a newer one the payout's row lies under its full id.
func (g *gathering) computedChain(f *foundPayout) error {
	row, ok, err := g.endToEnd(layout.SuffixKey(f.chain.Suffix))
	if err != nil || !ok {
		return err
	}
	if row.Account != g.account.ID {
		f.chain.Foreign = true
		return nil
	}
	use, err := g.use(&row)
	switch {
	case err != nil:
		return err
	case use.endToEnd == f.EndToEnd:
		f.chain.Shared, f.repeats = use.row, true
	case use.named < ExpiryOf(f.EndToEnd):
		if slices.ContainsFunc(use.all, func(t *Transaction) bool { return t.waits() && !t.Payout.OwnEndToEnd }) {
			f.chain.Shared = use.row
		}
		f.chain.Moved, err = g.moved(use.endToEnd, &row)
	default:
		f.own = true
		f.chain, err = g.ownRow(f.EndToEnd)
		f.repeats = f.chain.Shared != nil
	}
	return err
}

// decide takes a payout up that the journal lacks: accepted, with its amount and fee held even where
// the balance is lower, and then in the state that the scheme has it in. Payouts that it was requested instead of fail.
func (c *foundPayout) decide(d *draft) Decision {
	t := Transaction{
		ID: c.ID, Kind: pix.TxPayout, Status: pix.StatusAccepted, Amount: c.Amount, Fee: d.account.Settings.CashOutFee.Of(c.Amount),
		EndToEnd: c.EndToEnd, Description: c.Description, Counterparty: c.Owner,
		Payout: PayoutPart{
			Key: c.Key, RecipientISPB: c.RecipientISPB, Purpose: c.Purpose, OwnEndToEnd: c.own, UnderSuffix: c.own && c.chain.UnderSuffix, Attempt: c.chain.Attempt,
		},
		Transfer: TransferPart{DueAt: d.stamp.Clock + d.stamp.Terms.OrphanAfter, DueKind: layout.DueTransfer},
	}
	b := Body{Tx: &t, Moved: c.chain.Moved, Suffixes: c.suffixes}
	if shared := c.chain.Shared; shared != nil {
		row := *shared
		row.Members = append(slices.Clone(row.Members), layout.Member{ID: t.ID, Seq: d.account.Seq + 1})
		b.Row = &row
	}
	if c.repeats {
		t.Payout.Repeat, t.Payout.DuplicateOf = true, c.chain.holder()
	}
	d.show(&t)
	if r := d.add(PayoutFound, b); r != nil {
		return refuseWith(r)
	}
	for _, waiting := range c.over {
		d.fail(*waiting, ReasonVoided)
	}
	switch c.Result {
	case TransferIsSettled:
		return d.done(d.settle(t))
	case TransferIsRejected:
		return d.done(d.finish(t, PayoutRejected, pix.StatusRejected, c.Reason, pix.EventPayoutRejected))
	}
	return d.done(&t)
}

// restoredPayout decides about a payout that the restored journal has in a state before the scheme's: it was
// sent since, perhaps under another id, or it failed here and has settled all the same. False: it is
// decided like any notice.
func (c *outcome) restoredPayout(d *draft) (Decision, bool) {
	t := *c.tx
	renewed := t.EndToEnd != c.EndToEnd
	late := t.Status == pix.StatusFailed && c.Result == TransferIsSettled
	switch {
	case late && renewed:
		c.takeID(&t)
		fallthrough
	case late:
		settled, r := d.settleLate(t)
		if r != nil {
			return refuseWith(r), true
		}
		return d.done(&settled), true
	case !t.Status.InFlight() || !renewed && !(t.waits() && c.Result == TransferIsAccepted):
		return Decision{}, false
	}
	t = c.wasSent(d, t)
	if c.Result == TransferIsAccepted {
		return d.done(&t), true
	}
	next := *c
	next.tx, next.Restored = &t, false
	return next.ofPayout(d), true
}

// wasSent adds the records that make a payout in flight accepted, under the id that the scheme has.
func (c *outcome) wasSent(d *draft, t Transaction) Transaction {
	kind := PayoutSending
	switch t.Status {
	case pix.StatusHeld:
		t = d.acceptHeld(t)
	case pix.StatusPending:
		kind, t.Payout.Decision = PayoutApproved, Approved
	}
	moved := c.takeID(&t)
	if t.waits() {
		leaves := t
		leaves.Status, leaves.ReasonCode = pix.StatusSending, ""
		d.addWaiting(kind, &leaves, d.stamp.Terms.OrphanAfter, Body{Moved: moved})
		t, moved = leaves, nil
	}
	sent := t
	if sent.Status == pix.StatusSending {
		sent.Transfer.AcceptedAt = d.stamp.Clock
	}
	sent.Status, sent.Transfer.Doubt, sent.ReasonCode = pix.StatusAccepted, false, ""
	d.addWaiting(PayoutSent, &sent, d.untilDue(&sent), Body{Moved: moved})
	return sent
}

// takeID gives a payout the id under which the scheme has it, and returns the row of its former one.
func (c *outcome) takeID(t *Transaction) *Moved {
	if t.EndToEnd == c.EndToEnd {
		return nil
	}
	t.Payout.Former = append(slices.Clone(t.Payout.Former), t.EndToEnd)
	t.EndToEnd = c.EndToEnd
	return c.chain.Moved
}
