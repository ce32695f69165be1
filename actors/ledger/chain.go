package ledger

import (
	"slices"
)

// Chain is where a fingerprint's (or an own end-to-end id's) history stands.
type Chain struct {
	EndToEnd string // the id to use; empty: derive a fresh one from Suffix
	Suffix   string // of the attempt
	Attempt  uint64
	Shared   *EndToEndRow // the row of EndToEnd, which this payout repeats
	Holder   TxID         // of Shared: the transaction that moved money, else the first that may; zero: none known here
	Moved    *Moved       // the older use of Suffix whose row makes room
	Foreign  bool         // another account used EndToEnd

	UnderSuffix bool // EndToEnd is the merchant's own, and was derived here before
}

// holder is the transaction that EndToEnd belongs to; nil where none is known here.
func (c *Chain) holder() *TxID {
	if c.Holder == (TxID{}) {
		return nil
	}
	return &c.Holder
}

// chain finds where the payout's end-to-end id stands: the merchant's own, or
// the one derived from amount and key, with its attempt and its holder.
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
	// Its id has had its time at the scheme: the same suffix under a new minute.
	moved, err := g.moved(use.endToEnd, row)
	return Chain{Suffix: suffix, Attempt: attempt, Moved: moved}, err
}

// moved is an older use of a suffix whose row makes room; nil where another account
// has the place that it would go to.
func (g *gathering) moved(endToEnd string, row *EndToEndRow) (*Moved, error) {
	there, ok, err := g.endToEnd(EndToEndKey(endToEnd))
	if err != nil || ok && there.Account != g.account.ID {
		return nil, err
	}
	return &Moved{EndToEnd: endToEnd, Row: *row}, nil
}

// maxRepeats bounds how many payouts may be under way under one id (ErrBusy beyond it),
// where Terms do not: each hold writes the list.
const maxRepeats = 1000

// full is ErrBusy where too many payouts are under way under the id for one more.
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

// newestAttempt gallops along a fingerprint's attempts, which have no gaps, so
// that a payment refused ten thousand times costs fourteen reads and not as
// many. The row is nil where there was no attempt at all.
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
	low, high := uint64(0), uint64(1) // low exists
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

// ownChain is where an end-to-end id that the merchant names stands. It goes
// out as it is, again and again; only one that another account has used, or whose
// last characters it has derived, is refused.
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
			c.EndToEnd = use.endToEnd // it was renewed: what goes out now repeats what went out then
		} else if use.endToEnd != endToEnd {
			continue // only the suffix is the same
		}
		if c.UnderSuffix = i == 0; c.UnderSuffix || use.sent || len(use.row.Members) > 0 {
			c.Shared, c.Holder = use.row, use.holder
		}
		return c, g.full(&use)
	}
	return c, nil
}
