package ledger

import (
	"errors"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Chain is the state of the end-to-end id that a requested payout is to use: either an id
// that the merchant chose, or an id that the engine computes from account, amount and key.
// The engine's ids for one fingerprint (account, amount, key) are numbered: attempt 0, 1,
// and so on. Attempt n+1 is used once it is proven that no money moved under attempt n.
type Chain struct {
	EndToEnd string // the existing id that the payout is to use; empty: the payout gets a new id that ends in Suffix
	Suffix   string // the last 11 characters of the attempt's id
	Attempt  uint64
	Shared   *layout.EndToEndRow // the row that the payout is added to: other transactions have EndToEnd or, where that is empty, will take the new id over; nil: there is none
	// Holder is the transaction in Shared that moved money or, if none has, the first that
	// may have moved money; zero: no such transaction is known here.
	Holder  pix.TxID
	Moved   *Moved // the row of an older id with the same Suffix, which is written under its full id so that the new id's row can take the key by Suffix
	Foreign bool   // another account has used EndToEnd, or an id that the engine computed with the same last 11 characters

	Spent bool // the id that a payout would take now was rejected within this minute: the scheme would take no other payment under it

	UnderSuffix bool // the merchant chose EndToEnd, but the engine had computed the same id before, so its row is under the suffix
}

// holder returns a pointer to Holder; nil where Holder is zero.
func (c *Chain) holder() *pix.TxID {
	if c.Holder == (pix.TxID{}) {
		return nil
	}
	return &c.Holder
}

// chain finds the state of the end-to-end id that the requested payout is to use: the id
// that the merchant chose, or else the newest id that the engine has computed from account,
// amount and key.
func (g *gathering) chain(c *RequestPayout) (Chain, error) {
	if c.EndToEnd != "" {
		return g.ownChain(c.EndToEnd)
	}
	print := pix.Fingerprint{Account: g.account.ID, Amount: c.Amount, KeyType: c.Key.Type, Key: c.Key.Value}
	secret := g.stamp.Terms.Secret
	attempt, row, err := g.newestAttempt(print)
	suffix := print.Suffix(secret, attempt)
	if err != nil || row == nil {
		return Chain{Suffix: suffix, Attempt: attempt}, err
	}
	key := layout.SuffixKey(suffix)
	if g.Crowded(key, g.stamp.Clock) {
		return Chain{}, ErrBusy
	}
	use, err := g.use(row)
	if err != nil {
		return Chain{}, err
	}
	fresh := pix.EndToEnd(g.stamp.Terms.OwnISPB, g.stamp.Clock, suffix)
	others, stale := use.sendable()
	switch window := g.account.Settings.RepeatWindow; {
	case others.busy(window) || fresh == others.endToEnd && !others.noMoney:
		return Chain{EndToEnd: others.endToEnd, Attempt: attempt, Shared: use.row, Holder: others.holder}, g.full(&use, key)
	case stale != "" && fresh == others.endToEnd:
		return Chain{}, ErrBusy // see Spent
	case stale != "":
		// The payout that waits takes the new id over when it is sent, so both stay in one row.
		moved, err := g.moved(stale, row)
		return Chain{Suffix: suffix, Attempt: attempt, Shared: use.row, Moved: moved}, errors.Join(err, g.full(&use, key))
	case use.noMoney:
		attempt++
		return Chain{Suffix: print.Suffix(secret, attempt), Attempt: attempt}, nil
	}
	// The earlier id may not be used any more. The new id has the same suffix, but the
	// present minute.
	moved, err := g.moved(use.endToEnd, row)
	return Chain{Suffix: suffix, Attempt: attempt, Moved: moved}, err
}

// moved returns the row of an older id, to be written under that full id; nil where another
// account has a row under the full id already.
func (g *gathering) moved(endToEnd string, row *layout.EndToEndRow) (*Moved, error) {
	there, ok, err := g.endToEnd(layout.EndToEndKey(endToEnd))
	if err != nil || ok && there.Account != g.account.ID {
		return nil, err
	}
	return &Moved{EndToEnd: endToEnd, Row: *row}, nil
}

// maxRepeats is how many payouts that still matter (see use.addTransaction) may have the same
// end-to-end id, where Terms.MaxRepeats is 0. The limit exists because each hold writes the
// list of all of them. Above the limit a request gets ErrBusy.
const maxRepeats = 1000

// crowdedFor is how long, in ms, a request is refused without a count after one was refused, while
// none of the payouts ends.
const crowdedFor = 1000

// full returns ErrBusy where the end-to-end id, whose row has this key, has so many payouts that
// no other may be added.
func (g *gathering) full(u *use, key []byte) error {
	most := g.stamp.Terms.MaxRepeats
	if most == 0 {
		most = maxRepeats
	}
	if u.matter >= most {
		g.Crowd(key, g.stamp.Clock+crowdedFor)
		return ErrBusy
	}
	return nil
}

// newestAttempt finds the newest attempt of a fingerprint: attempts are numbered without
// gaps, and each has its own suffix. The search doubles the number until an attempt does
// not exist and then bisects: after ten thousand attempts it takes about thirty reads. The
// row is nil where there was no attempt.
func (g *gathering) newestAttempt(print pix.Fingerprint) (uint64, *layout.EndToEndRow, error) {
	var newest *layout.EndToEndRow
	exists := func(n uint64) (bool, error) {
		e, ok, err := g.endToEnd(layout.SuffixKey(print.Suffix(g.stamp.Terms.Secret, n)))
		if ok {
			newest = &e
		}
		return ok, err
	}
	if ok, err := exists(0); err != nil || !ok {
		return 0, nil, err
	}
	low, high := uint64(0), uint64(1) // invariant: attempt low exists
	for {
		ok, err := exists(high)
		if err != nil {
			return 0, nil, err
		}
		if !ok {
			break
		}
		low, high = high, high*2
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		ok, err := exists(mid)
		if err != nil {
			return 0, nil, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	return low, newest, nil
}

// ownChain finds the state of an end-to-end id that the merchant chose. The account may use
// such an id again and again. The id is refused only where another account has used it, or
// where the engine has computed an id with the same suffix for another account. Where the id of
// an earlier payout was renewed since, that payout's new id is used, and its row.
func (g *gathering) ownChain(endToEnd string) (Chain, error) {
	c, err := g.ownRow(endToEnd)
	if err != nil || c.Foreign || c.EndToEnd == endToEnd {
		return c, err
	}
	if renewed, err := g.ownRow(c.EndToEnd); err != nil || renewed.Shared != nil {
		return renewed, err
	}
	return c, nil
}

// ownRow finds the row of an end-to-end id that the merchant chose, or of an earlier payout whose
// former id that is.
func (g *gathering) ownRow(endToEnd string) (Chain, error) {
	c := Chain{EndToEnd: endToEnd}
	for i, key := range layout.EndToEndKeys(endToEnd) {
		row, ok, err := g.endToEnd(key)
		if err != nil {
			return c, err
		}
		if !ok {
			continue
		}
		if row.Account != g.account.ID {
			return Chain{EndToEnd: endToEnd, Foreign: true}, nil
		}
		if g.Crowded(key, g.stamp.Clock) {
			return c, ErrBusy
		}
		use, err := g.use(&row)
		if err != nil {
			return c, err
		}
		if slices.Contains(use.former, endToEnd) {
			c.EndToEnd = use.endToEnd
		} else if use.endToEnd != endToEnd {
			continue // the row belongs to a different id with the same suffix
		}
		if c.UnderSuffix = i == 0; c.UnderSuffix || use.sent || len(use.row.Members) > 0 {
			c.Shared, c.Holder = use.row, use.holder
		}
		return c, g.full(&use, key)
	}
	return c, nil
}

// EndToEndKeyOf is the key of a payout's end-to-end row: by suffix where the engine computed
// the id, even if the merchant chose the same id later; else by the full id.
func EndToEndKeyOf(t *Transaction) []byte {
	if t.Payout.OwnEndToEnd && !t.Payout.UnderSuffix {
		return layout.EndToEndKey(t.EndToEnd)
	}
	return layout.SuffixKey(t.EndToEnd[len(t.EndToEnd)-pix.SuffixChars:])
}
