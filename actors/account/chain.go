package account

import (
	"fmt"
	"slices"

	"pixd/actors/ledger"
)

// chain finds where the payout's end-to-end id stands: the merchant's own, or
// the one derived from amount and key, with its attempt and its holder.
func (m *Machine) chain(f facts, c *ledger.RequestPayout, now ledger.Reading) (ledger.Chain, error) {
	if c.EndToEnd != "" {
		return m.ownChain(f, c.EndToEnd, now)
	}
	print := ledger.Fingerprint{Account: f.account, Amount: c.Amount, KeyType: c.Key.Type, Key: c.Key.Value}
	attempt, row, err := m.newestAttempt(f, print)
	if err != nil || row == nil {
		return ledger.Chain{Suffix: print.Suffix(m.config.Secret, attempt), Attempt: attempt}, err
	}
	use, err := f.use(row, now)
	if err != nil {
		return ledger.Chain{}, err
	}
	suffix := print.Suffix(m.config.Secret, attempt)
	fresh := ledger.EndToEnd(m.config.Terms.OwnISPB, now.Clock, suffix)
	switch window := m.head.Settings.RepeatWindow; {
	case use.busy(window) || fresh == use.endToEnd && !use.noMoney:
		return ledger.Chain{EndToEnd: use.endToEnd, Attempt: attempt, Shared: use.row, Holder: use.holder}, m.full(&use)
	case use.noMoney:
		attempt++
		return ledger.Chain{Suffix: print.Suffix(m.config.Secret, attempt), Attempt: attempt}, nil
	}
	// Its id has had its time at the scheme: the same suffix under a new minute.
	moved, err := f.moved(use.endToEnd, row)
	return ledger.Chain{Suffix: suffix, Attempt: attempt, Moved: moved}, err
}

// moved is an older use of a suffix whose row makes room; nil where another account
// has the place that it would go to.
func (f facts) moved(endToEnd string, row *ledger.EndToEndRow) (*ledger.Moved, error) {
	there, ok, err := f.endToEnd(ledger.EndToEndKey(endToEnd))
	if err != nil || ok && there.Account != f.account {
		return nil, err
	}
	return &ledger.Moved{EndToEnd: endToEnd, Row: *row}, nil
}

// use is what has become of the transactions under one end-to-end id.
type use struct {
	row      *ledger.EndToEndRow // its members thinned to those that still matter
	endToEnd string
	holder   ledger.TxID   // the one that moved money, else the first that may; zero: none known here
	inFlight bool          // one is
	moved    bool          // one settled
	since    ledger.Millis // when the newest of those did
	voided   ledger.Millis // until when what was voided, or is unknown here, may settle yet; 0: nothing
	noMoney  bool          // every end proves that no money moved
	rank     int           // of the transaction that endToEnd is from
	named    ledger.Millis // when the scheme refuses it
	former   []string      // ids that were renewed
	now      ledger.Reading
	sent     bool // one of them may have left: not all were refused inside the call
	matter   int  // how many of the row's still do
}

func (f facts) use(row *ledger.EndToEndRow, now ledger.Reading) (use, error) {
	u := use{noMoney: true, now: now}
	first, err := f.state(row.ID, row.Seq)
	if err != nil {
		return u, err
	}
	if u.take(first) {
		u.matter = 1
	}
	thin := *row
	thin.Members = nil
	for _, member := range row.Members {
		t, err := f.state(member.ID, member.Seq)
		if err != nil {
			return u, err
		}
		if u.take(t) {
			thin.Members = append(thin.Members, member)
		}
	}
	u.row, u.matter = &thin, u.matter+len(thin.Members)
	return u, nil
}

// take counts one transaction in, and tells whether it still matters.
func (u *use) take(t *ledger.Transaction) bool {
	u.name(t)
	u.sent = u.sent || t.Status != ledger.StatusRefused
	switch {
	case t.Status.InFlight():
		u.inFlight = true
	case t.Status == ledger.StatusSettled:
		u.moved, u.holder = true, t.ID
		u.since = max(u.since, t.MovedAt(u.now))
	case t.Voided():
		u.voided = max(u.voided, ledger.ExpiryOf(t.EndToEnd))
	case t.DuplicateOfUnknown():
		u.voided = max(u.voided, ledger.ExpiryOf(t.EndToEnd))
		u.noMoney = false
		return true // and it holds nothing itself
	default:
		return false
	}
	if u.holder == (ledger.TxID{}) {
		u.holder = t.ID
	}
	u.noMoney = false
	return true
}

// name takes the id over of what is nearest to having moved money: approvals renew
// ids one by one.
func (u *use) name(t *ledger.Transaction) {
	rank := 1
	switch {
	case t.Status == ledger.StatusSettled || t.Voided() || t.DuplicateOfUnknown():
		rank = 4
	case t.Status == ledger.StatusPending:
		rank = 2
	case t.Status.InFlight():
		rank = 3
	}
	u.former = append(u.former, t.Former...)
	// Of several, the youngest id: what waits under an older one takes it over.
	if expiry := ledger.ExpiryOf(t.EndToEnd); rank > u.rank || rank == u.rank && expiry > u.named {
		u.rank, u.endToEnd, u.named = rank, t.EndToEnd, expiry
	}
}

// holder is the transaction that the scheme has under a payout's end-to-end id where
// it says that this one is a duplicate: the one that settled, else the first that it has
// taken or may have; nil where none of the others went out, so that the scheme has
// something that is unknown here.
func (f facts) holder(t *ledger.Transaction) (*ledger.TxID, error) {
	row, err := f.rowOf(t)
	if err != nil || row == nil {
		return nil, err
	}
	var best *ledger.Transaction
	for _, m := range append([]ledger.Member{{ID: row.ID, Seq: row.Seq}}, row.Members...) {
		if m.ID == t.ID {
			continue
		}
		other, err := f.state(m.ID, m.Seq)
		if err != nil {
			return nil, err
		}
		if other.EndToEnd == t.EndToEnd && (best == nil || closer(other, best)) && sent(other) {
			best = other
		}
	}
	if best == nil {
		return nil, nil
	}
	return &best.ID, nil
}

// sent tells a payout that the scheme may have under its end-to-end id.
func sent(t *ledger.Transaction) bool {
	switch t.Status {
	case ledger.StatusSettled, ledger.StatusAccepted, ledger.StatusSending, ledger.StatusHeld:
		return true
	case ledger.StatusRejected:
		return t.ReasonCode != ledger.ReasonDuplicate
	}
	return t.Voided() || t.RejectedAfterVoid
}

// closer tells which of two the scheme has sooner: what settled, then what it has taken,
// then what may only be on its way there; of equals, what was sent first.
func closer(a, b *ledger.Transaction) bool {
	if x, y := nearness(a), nearness(b); x != y {
		return x > y
	}
	return a.SentAt() < b.SentAt() || a.SentAt() == b.SentAt() && a.ID.Time() < b.ID.Time()
}

func nearness(t *ledger.Transaction) int {
	switch t.Status {
	case ledger.StatusSettled:
		return 2
	case ledger.StatusHeld, ledger.StatusSending:
		return 0 // its child has not been heard of
	}
	return 1
}

// maxRepeats bounds how many payouts may be under way under one id (503 before the hold
// beyond it), where Config does not: each hold writes the list.
const maxRepeats = 1000

// full refuses one more under the id where there are too many.
func (m *Machine) full(u *use) error {
	most := m.config.MaxRepeats
	if most == 0 {
		most = maxRepeats
	}
	if u.matter >= most {
		return ledger.ErrBusy
	}
	return nil
}

// busy tells that the id may not make room for another: a repeat is sent under
// it, and the scheme rejects it. No window ends while the clock is doubted.
func (u *use) busy(window ledger.Millis) bool {
	return u.inFlight ||
		u.moved && (u.now.Doubted || u.now.Clock-u.since < window) ||
		u.voided != 0 && (u.now.Doubted || u.now.Clock < u.voided)
}

// renewal is the id under which a payout that has waited, for its approval or for
// directory capacity, goes out now, where that is not its own: that of an equal one which
// went out under another meanwhile, or, where its own has aged, the same suffix under a
// new minute.
func (m *Machine) renewal(f facts, t *ledger.Transaction, now ledger.Reading) (ledger.Chain, error) {
	if !waits(t) || t.OwnEndToEnd {
		return ledger.Chain{}, nil
	}
	key := ledger.EndToEndKeyOf(t)
	row, ok, err := f.endToEnd(key)
	if err == nil && !ok {
		err = fmt.Errorf("%v has no end-to-end row", t.ID)
	}
	if err != nil {
		return ledger.Chain{}, err
	}
	others := use{now: now}
	for _, member := range append([]ledger.Member{{ID: row.ID, Seq: row.Seq}}, row.Members...) {
		other, err := f.state(member.ID, member.Seq)
		if err != nil {
			return ledger.Chain{}, err
		}
		if member.ID == t.ID || waits(other) && (other.EndToEnd == t.EndToEnd || ledger.NeedsRenewal(other, now)) {
			continue // what waits like this one has not gone out, and will be renewed as it is
		}
		others.take(other)
	}
	c := ledger.Chain{Suffix: string(key[1:])}
	if c.Moved, err = f.moved(t.EndToEnd, &row); err != nil {
		return ledger.Chain{}, err
	}
	if others.busy(m.head.Settings.RepeatWindow) && (others.endToEnd != t.EndToEnd || ledger.NeedsRenewal(t, now)) {
		c.EndToEnd, c.Holder = others.endToEnd, others.holder
	}
	return c, nil
}

// waits tells a payout that has not gone out and waits to.
func waits(t *ledger.Transaction) bool {
	return t.Status == ledger.StatusPending || t.Status == ledger.StatusQueued
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
// out as it is, again and again; only one that another account has used, or whose
// last characters it has derived, is refused.
func (m *Machine) ownChain(f facts, endToEnd string, now ledger.Reading) (ledger.Chain, error) {
	c := ledger.Chain{EndToEnd: endToEnd}
	for i, key := range ledger.EndToEndKeys(endToEnd) {
		row, ok, err := f.endToEnd(key)
		if err != nil {
			return c, err
		}
		if !ok {
			continue
		}
		if row.Account != f.account {
			return ledger.Chain{EndToEnd: endToEnd, Foreign: true}, nil
		}
		use, err := f.use(&row, now)
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
		return c, m.full(&use)
	}
	return c, nil
}
