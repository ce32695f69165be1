package account

import (
	"fmt"

	"pixd/actors/ledger"
)

// chain finds where the payout's end-to-end id stands: the merchant's own, or
// the one derived from amount and key, with its attempt and its holder.
func (m *Machine) chain(f facts, c *ledger.RequestPayout, now ledger.Millis) (ledger.Chain, error) {
	if c.EndToEnd != "" {
		return f.ownChain(c.EndToEnd)
	}
	print := ledger.Fingerprint{Account: f.account, Amount: c.Amount, KeyType: c.Key.Type, Key: c.Key.Value}
	attempt, row, err := m.newestAttempt(f, print)
	if err != nil || row == nil {
		return ledger.Chain{Suffix: print.Suffix(m.config.Secret, attempt), Attempt: attempt}, err
	}
	held, err := f.transactionOf(row)
	if err != nil {
		return ledger.Chain{}, err
	}
	if noMoneyMoved(held) {
		attempt++
		return ledger.Chain{Suffix: print.Suffix(m.config.Secret, attempt), Attempt: attempt}, nil
	}
	if held.Status.InFlight() || now-row.ID.Time() < m.head.Settings.RepeatWindow {
		return ledger.Chain{EndToEnd: held.EndToEnd, Attempt: attempt, Holder: &row.ID}, nil
	}
	// Its id has had its time at the scheme: the same suffix under a new minute.
	return ledger.Chain{
		Suffix: print.Suffix(m.config.Secret, attempt), Attempt: attempt,
		Moved: &ledger.Moved{EndToEnd: held.EndToEnd, Row: row.Encode()},
	}, nil
}

// noMoneyMoved tells an end that proves it. A DUPL says nothing of the money
// that moved under the same id, and a voided payout may still settle.
func noMoneyMoved(t *ledger.Transaction) bool {
	switch t.Status {
	case ledger.StatusRefused:
		return true
	case ledger.StatusRejected:
		return t.ReasonCode != "DUPL"
	case ledger.StatusFailed:
		return t.ReasonCode != "orphan_force_voided"
	}
	return false
}

// newestAttempt gallops along a fingerprint's attempts, which have no gaps, so
// that a payment refused ten thousand times costs fourteen reads and not as
// many. The row is nil where there was no attempt at all.
func (m *Machine) newestAttempt(f facts, print ledger.Fingerprint) (uint64, *ledger.EndToEndRow, error) {
	var newest *ledger.EndToEndRow
	exists := func(n uint64) (bool, error) {
		e, ok, err := f.endToEnd(ledger.SuffixKey(print.Suffix(m.config.Secret, n)))
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
// out as it is, again and again; only another account's is refused.
func (f facts) ownChain(endToEnd string) (ledger.Chain, error) {
	c := ledger.Chain{EndToEnd: endToEnd}
	for _, key := range ledger.EndToEndKeys(endToEnd) {
		row, ok, err := f.endToEnd(key)
		if err != nil {
			return c, err
		}
		if !ok {
			continue
		}
		held, err := f.transactionOf(&row)
		if err != nil {
			return c, err
		}
		if held.EndToEnd != endToEnd {
			continue // only the suffix is the same
		}
		c.Foreign = row.Account != f.account
		if held.Status != ledger.StatusRefused {
			c.Holder = &row.ID
		}
		return c, nil
	}
	return c, nil
}

// transactionOf is the newest state of an end-to-end row's transaction.
func (f facts) transactionOf(row *ledger.EndToEndRow) (*ledger.Transaction, error) {
	if row.Account == f.account && row.Status != ledger.StatusRefused {
		if t, err := f.shown(row.ID.Short()); err != nil || t != nil {
			return t, err
		}
	}
	t, err := f.transaction(row.Account, row.Seq)
	if err == nil && t == nil {
		err = fmt.Errorf("end-to-end row of %v names a record without a transaction", row.ID)
	}
	return t, err
}
