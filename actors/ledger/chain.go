package ledger

import (
	"slices"
)

// Chain is the state of a payout's end-to-end id: of the id that the merchant named, or of
// the ids derived from the payout's fingerprint.
type Chain struct {
	EndToEnd string // the id to use; empty: make a new id from Suffix
	Suffix   string // suffix of the attempt's id
	Attempt  uint64
	Shared   *EndToEndRow // the row of EndToEnd, where this payout is a repeat under that id
	// In Shared: the transaction that moved money, else the first that may have moved it;
	// zero: none is known here.
	Holder  TxID
	Moved   *Moved // an older use of Suffix whose row is kept under its full id, so that the suffix is free
	Foreign bool   // another account has used EndToEnd

	UnderSuffix bool // the merchant named EndToEnd, and it was derived here before
}

// holder returns Holder; nil where no transaction is known here.
func (c *Chain) holder() *TxID {
	if c.Holder == (TxID{}) {
		return nil
	}
	return &c.Holder
}

// chain finds the state of the payout's end-to-end id: the id that the merchant named, or
// the newest one derived from account, amount and key.
func (g *gathering) chain(c *RequestPayout) (Chain, error) {
	if c.EndToEnd != "" {
		return g.ownChain(c.EndToEnd)
	}
	print := Fingerprint{Account: g.account.ID, Amount: c.Amount, KeyType: c.Key.Type, Key: c.Key.Value}
	secret := g.stamp.Terms.Secret
	attempt, row, err := g.newestAttempt(print)
	if err != nil || row == nil {
		return Chain{Suffix: print.Suffix(secret, attempt), Attempt: attempt}, err
	}
	use, err := g.use(row)
	if err != nil {
		return Chain{}, err
	}
	suffix := print.Suffix(secret, attempt)
	fresh := EndToEnd(g.stamp.Terms.OwnISPB, g.stamp.Clock, suffix)
	switch window := g.account.Settings.RepeatWindow; {
	case use.busy(window) || fresh == use.endToEnd && !use.noMoney:
		return Chain{EndToEnd: use.endToEnd, Attempt: attempt, Shared: use.row, Holder: use.holder}, g.full(&use)
	case use.noMoney:
		attempt++
		return Chain{Suffix: print.Suffix(secret, attempt), Attempt: attempt}, nil
	}
	// The earlier id may not be used any more: the new id has the same suffix and a new
	// minute.
	moved, err := g.moved(use.endToEnd, row)
	return Chain{Suffix: suffix, Attempt: attempt, Moved: moved}, err
}

// moved returns the older use of a suffix, whose row is to be kept under the full id; nil
// where another account's row is there already.
func (g *gathering) moved(endToEnd string, row *EndToEndRow) (*Moved, error) {
	there, ok, err := g.endToEnd(EndToEndKey(endToEnd))
	if err != nil || ok && there.Account != g.account.ID {
		return nil, err
	}
	return &Moved{EndToEnd: endToEnd, Row: *row}, nil
}

// maxRepeats is how many payouts may be under way under one end-to-end id, where Terms do
// not say: each hold writes the whole list. Above it the request gets ErrBusy.
const maxRepeats = 1000

// full returns ErrBusy where so many payouts are under way under the id that no other may
// be added.
func (g *gathering) full(u *use) error {
	most := g.stamp.Terms.MaxRepeats
	if most == 0 {
		most = maxRepeats
	}
	if u.matter >= most {
		return ErrBusy
	}
	return nil
}

// newestAttempt finds the newest attempt of a fingerprint. Attempts have no gaps, so it
// doubles the step and then bisects: ten thousand refused attempts cost about thirty reads.
// The row is nil where there was no attempt.
func (g *gathering) newestAttempt(print Fingerprint) (uint64, *EndToEndRow, error) {
	var newest *EndToEndRow
	exists := func(n uint64) (bool, error) {
		e, ok, err := g.endToEnd(SuffixKey(print.Suffix(g.stamp.Terms.Secret, n)))
		if ok {
			newest = &e
		}
		return ok, err
	}
	if ok, err := exists(0); err != nil || !ok {
		return 0, nil, err
	}
	low, high := uint64(0), uint64(1) // attempt low exists
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

// ownChain finds the state of an end-to-end id that the merchant names. The account may use
// such an id again and again. The id is refused only where another account has used it, or
// has derived an id with the same suffix.
func (g *gathering) ownChain(endToEnd string) (Chain, error) {
	c := Chain{EndToEnd: endToEnd}
	for i, key := range EndToEndKeys(endToEnd) {
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
		use, err := g.use(&row)
		if err != nil {
			return c, err
		}
		if slices.Contains(use.former, endToEnd) {
			c.EndToEnd = use.endToEnd // that payout's id was renewed: use its new id
		} else if use.endToEnd != endToEnd {
			continue // the row is of another id with the same suffix
		}
		if c.UnderSuffix = i == 0; c.UnderSuffix || use.sent || len(use.row.Members) > 0 {
			c.Shared, c.Holder = use.row, use.holder
		}
		return c, g.full(&use)
	}
	return c, nil
}
