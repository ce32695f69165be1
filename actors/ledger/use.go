package ledger

import (
	"pixd/actors/layout"
	"pixd/actors/pix"
)

// use is the state of one end-to-end id, computed from all transactions that have the id.
type use struct {
	row      *layout.EndToEndRow // the end-to-end row, with only those members that still matter (see addTransaction)
	endToEnd string
	holder   pix.TxID   // the transaction that moved money, else the first that may have moved money; zero: none is known
	inFlight bool       // at least one of the transactions is in flight
	moved    bool       // at least one of the transactions has settled
	since    pix.Millis // when the newest of the settled transactions moved its money
	voided   pix.Millis // until when a voided transaction, or one unknown to the engine, may still settle; 0: there is none
	noMoney  bool       // it is proven that none of the transactions moved money
	rank     int        // rank of the transaction whose id endToEnd is; see the method name
	named    pix.Millis // engine time from which the scheme refuses endToEnd
	former   []string   // ids that the transactions had before a renewal
	now      pix.Reading
	sent     bool // at least one of the transactions may have been sent: not all of them were refused while held
	matter   int  // number of the transactions that still matter (see addTransaction)
	all      []*Transaction
}

func (g *gathering) use(row *layout.EndToEndRow) (use, error) {
	u := use{noMoney: true, now: g.stamp.Reading}
	first, err := g.member(row, layout.Member{ID: row.ID, Seq: row.Seq})
	if err != nil {
		return u, err
	}
	u.all = append(u.all, first)
	if u.addTransaction(first) {
		u.matter = 1
	}
	thin := *row
	thin.Members = nil
	for _, member := range row.Members {
		t, err := g.member(row, member)
		if err != nil {
			return u, err
		}
		u.all = append(u.all, t)
		if u.addTransaction(t) {
			thin.Members = append(thin.Members, member)
		}
	}
	u.row, u.matter = &thin, u.matter+len(thin.Members)
	return u, nil
}

// fewMembers is how many payouts of one end-to-end id are read anew with each command. Of more,
// the states are kept in memory: each further one, and each outcome, reads them all.
const fewMembers = 8

// member reads the newest state of one payout of a row.
func (g *gathering) member(row *layout.EndToEndRow, m layout.Member) (*Transaction, error) {
	if len(row.Members) <= fewMembers {
		return g.state(m.ID, m.Seq)
	}
	return g.Equal(m.ID, func() (*Transaction, error) { return g.state(m.ID, m.Seq) })
}

// addTransaction adds one transaction. It returns whether the transaction still matters: it is in
// flight, has moved money, may still settle, or was rejected as a duplicate of an unknown
// transaction, which may still settle under the same id.
func (u *use) addTransaction(t *Transaction) bool {
	u.name(t)
	u.sent = u.sent || t.Status != pix.StatusRefused
	switch {
	case t.Status.InFlight():
		u.inFlight = true
	case t.Status == pix.StatusSettled:
		u.moved, u.holder = true, t.ID
		u.since = max(u.since, t.MovedAt(u.now))
	case t.Voided():
		u.voided = max(u.voided, ExpiryOf(t.EndToEnd))
	case t.DuplicateOfUnknown():
		u.voided = max(u.voided, ExpiryOf(t.EndToEnd))
		u.noMoney = false
		return true // the rejected transaction itself cannot be the holder: it moved no money
	default:
		return false
	}
	if u.holder == (pix.TxID{}) {
		u.holder = t.ID
	}
	u.noMoney = false
	return true
}

// name sets endToEnd to the id of the transaction that most likely moved money.
// Transactions of one row may have different ids, because each id is renewed on its own
// when its payout leaves a queue or is approved.
func (u *use) name(t *Transaction) {
	rank := 1
	switch {
	case t.Status == pix.StatusSettled || t.Voided() || t.DuplicateOfUnknown():
		rank = 4
	case t.Status == pix.StatusPending:
		rank = 2
	case t.Status.InFlight():
		rank = 3
	}
	u.former = append(u.former, t.Payout.Former...)
	// Among transactions of the same rank the newest id counts: a payout that still waits
	// under an older id takes the newer one.
	if expiry := ExpiryOf(t.EndToEnd); rank > u.rank || rank == u.rank && expiry > u.named {
		u.rank, u.endToEnd, u.named = rank, t.EndToEnd, expiry
	}
}

// sendable is the state of the id without the payouts that wait and whose id has become too
// old to be sent: when they are sent, they get another. stale is the id of such a payout; empty:
// there is none. A payout that waits under an id that its merchant chose keeps that id, and so
// counts.
func (u *use) sendable() (others use, stale string) {
	others = use{noMoney: true, now: u.now}
	for _, t := range u.all {
		if t.waits() && !t.Payout.OwnEndToEnd && NeedsRenewal(t, u.now) {
			stale = t.EndToEnd
			continue
		}
		others.addTransaction(t)
	}
	return others, stale
}

// busy tells whether the next equal payout must get the same id again, so that the scheme
// rejects it as a duplicate. While engine time is doubted, the repeat window does not end.
func (u *use) busy(window pix.Millis) bool {
	return u.inFlight ||
		u.moved && (u.now.Doubted || u.now.Clock-u.since < window) ||
		u.voided != 0 && (u.now.Doubted || u.now.Clock < u.voided)
}
