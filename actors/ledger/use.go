package ledger

import "fmt"

// use is what has become of the transactions under one end-to-end id.
type use struct {
	row      *EndToEndRow // its members thinned to those that still matter
	endToEnd string
	holder   TxID     // the one that moved money, else the first that may; zero: none known here
	inFlight bool     // one is
	moved    bool     // one settled
	since    Millis   // when the newest of those did
	voided   Millis   // until when what was voided, or is unknown here, may settle yet; 0: nothing
	noMoney  bool     // every end proves that no money moved
	rank     int      // of the transaction that endToEnd is from
	named    Millis   // when the scheme refuses it
	former   []string // ids that were renewed
	now      Reading
	sent     bool // one of them may have left: not all were refused inside the call
	matter   int  // how many of the row's still do
}

func (g *gathering) use(row *EndToEndRow) (use, error) {
	u := use{noMoney: true, now: g.stamp.Reading}
	first, err := g.state(row.ID, row.Seq)
	if err != nil {
		return u, err
	}
	if u.take(first) {
		u.matter = 1
	}
	thin := *row
	thin.Members = nil
	for _, member := range row.Members {
		t, err := g.state(member.ID, member.Seq)
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
func (u *use) take(t *Transaction) bool {
	u.name(t)
	u.sent = u.sent || t.Status != StatusRefused
	switch {
	case t.Status.InFlight():
		u.inFlight = true
	case t.Status == StatusSettled:
		u.moved, u.holder = true, t.ID
		u.since = max(u.since, t.MovedAt(u.now))
	case t.Voided():
		u.voided = max(u.voided, ExpiryOf(t.EndToEnd))
	case t.DuplicateOfUnknown():
		u.voided = max(u.voided, ExpiryOf(t.EndToEnd))
		u.noMoney = false
		return true // and it holds nothing itself
	default:
		return false
	}
	if u.holder == (TxID{}) {
		u.holder = t.ID
	}
	u.noMoney = false
	return true
}

// name takes the id over of what is nearest to having moved money: approvals renew
// ids one by one.
func (u *use) name(t *Transaction) {
	rank := 1
	switch {
	case t.Status == StatusSettled || t.Voided() || t.DuplicateOfUnknown():
		rank = 4
	case t.Status == StatusPending:
		rank = 2
	case t.Status.InFlight():
		rank = 3
	}
	u.former = append(u.former, t.Payout.Former...)
	// Of several, the youngest id: what waits under an older one takes it over.
	if expiry := ExpiryOf(t.EndToEnd); rank > u.rank || rank == u.rank && expiry > u.named {
		u.rank, u.endToEnd, u.named = rank, t.EndToEnd, expiry
	}
}

// busy tells that the id may not make room for another: a repeat is sent under
// it, and the scheme rejects it. No window ends while the clock is doubted.
func (u *use) busy(window Millis) bool {
	return u.inFlight ||
		u.moved && (u.now.Doubted || u.now.Clock-u.since < window) ||
		u.voided != 0 && (u.now.Doubted || u.now.Clock < u.voided)
}

// renewal is the id under which a payout that has waited, for its approval or for
// directory capacity, goes out now, where that is not its own: that of an equal one which
// went out under another meanwhile, or, where its own has aged, the same suffix under a
// new minute.
func (g *gathering) renewal(t *Transaction) (Chain, error) {
	now := g.stamp.Reading
	if !t.waits() || t.Payout.OwnEndToEnd {
		return Chain{}, nil
	}
	key := EndToEndKeyOf(t)
	row, ok, err := g.endToEnd(key)
	if err == nil && !ok {
		err = fmt.Errorf("%v has no end-to-end row", t.ID)
	}
	if err != nil {
		return Chain{}, err
	}
	others := use{now: now}
	for _, member := range row.all() {
		other, err := g.state(member.ID, member.Seq)
		if err != nil {
			return Chain{}, err
		}
		if member.ID == t.ID || other.waits() && (other.EndToEnd == t.EndToEnd || NeedsRenewal(other, now)) {
			continue // what waits like this one has not gone out, and will be renewed as it is
		}
		others.take(other)
	}
	c := Chain{Suffix: string(key[1:])}
	if c.Moved, err = g.moved(t.EndToEnd, &row); err != nil {
		return Chain{}, err
	}
	if others.busy(g.account.Settings.RepeatWindow) && (others.endToEnd != t.EndToEnd || NeedsRenewal(t, now)) {
		c.EndToEnd, c.Holder = others.endToEnd, others.holder
	}
	return c, nil
}

// waits tells a payout that has not gone out and waits to.
func (t *Transaction) waits() bool { return t.Status == StatusPending || t.Status == StatusQueued }

// holder is the transaction that the scheme has under a payout's end-to-end id where
// it says that this one is a duplicate: the one that settled, else the first that it has
// taken or may have; nil where none of the others went out, so that the scheme has
// something that is unknown here.
func (g *gathering) holder(t *Transaction) (*TxID, error) {
	row, err := g.rowOf(t)
	if err != nil || row == nil {
		return nil, err
	}
	var best *Transaction
	for _, m := range row.all() {
		if m.ID == t.ID {
			continue
		}
		other, err := g.state(m.ID, m.Seq)
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
func sent(t *Transaction) bool {
	switch t.Status {
	case StatusSettled, StatusAccepted, StatusSending, StatusHeld:
		return true
	case StatusRejected:
		return t.ReasonCode != ReasonDuplicate
	}
	return t.Voided() || t.Payout.RejectedAfterVoid
}

// closer tells which of two the scheme has sooner: what settled, then what it has taken,
// then what may only be on its way there; of equals, what was sent first.
func closer(a, b *Transaction) bool {
	if x, y := nearness(a), nearness(b); x != y {
		return x > y
	}
	return a.SentAt() < b.SentAt() || a.SentAt() == b.SentAt() && a.ID.Time() < b.ID.Time()
}

func nearness(t *Transaction) int {
	switch t.Status {
	case StatusSettled:
		return 2
	case StatusHeld, StatusSending:
		return 0 // its child has not been heard of
	}
	return 1
}
