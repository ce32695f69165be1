package ledger

import (
	"errors"
	"fmt"

	"pixd/actors/layout"
	"pixd/actors/pix"
)

// Reader reads the rows and records that Gather needs. The account's own rows and records
// appear as they are after all its decisions so far, durable or not; other accounts' rows
// appear as they are on disk. An error ends the command before anything is decided.
type Reader interface {
	layout.Rows // Scan finds only rows that are on disk
	// Own is Scan for a key range that only this account writes to. It also finds rows that are
	// not durable yet.
	Own(lo, hi []byte, visit layout.Visit) error
	// Record reads a record of an account.
	Record(a pix.AccountID, seq uint64) (*Record, error)
	// Claim returns the value of an idempotency row, if its claim was made between from and
	// to, both included.
	Claim(key []byte, from, to pix.Millis) (value []byte, ok bool, err error)
	// KeyIsOurs tells whether a PIX key is registered here: its owner's account is at this institution.
	KeyIsOurs(key string) bool
	// Carried returns the newest state of one of the account's payouts or refunds that a
	// child actor carries now; nil where no child actor carries it.
	Carried(id pix.TxID) *Transaction
	// EachCarried calls fn with the newest state of each of the account's payouts and refunds that
	// Carried returns, in no certain order, until fn returns false.
	EachCarried(fn func(*Transaction) (more bool))
	// Recent returns the newest state of one of the account's payouts or refunds where that
	// state is in memory; nil where it must be read from rows.
	Recent(id pix.TxID) *Transaction
	// RecentSums returns the newest refund sums of a payment that the account received, where
	// they are in memory; nil where they must be read from their row.
	RecentSums(original pix.TxID) *layout.RefundSums
	// Equal returns the newest state of one of the account's payouts that shares its
	// end-to-end id with many. read reads it; it need not be called where the state is in memory.
	Equal(id pix.TxID, read func() (*Transaction, error)) (*Transaction, error)
	// Crowded tells whether the payouts in the end-to-end row with this key were found to be so
	// many that no other may be added, and none of them has ended since.
	Crowded(key []byte, now pix.Millis) bool
	// OwedBehind returns the newest amount of NoteOwed, if no case has changed since; else 0.
	OwedBehind() pix.Amount
	// NoteOwed notes how much the cases hold at least that are older than the oldest case that is
	// owed money.
	NoteOwed(behind pix.Amount)
	// Crowd notes that they are so many. At the instant until they must be counted again.
	Crowd(key []byte, until pix.Millis)
}

// ErrUnknownTransfer says that a result was reported for a payout or refund that the account
// never held, or a report about a payment that it has not received. The command fails, so
// that the sender does not believe that it was applied.
var ErrUnknownTransfer = errors.New("transaction is unknown")

// gathering is the state of one call of Gather.
type gathering struct {
	Reader
	account *Account
	stamp   *Stamp
	cases   caseFacts
	stakes  stakes
}

// transaction reads the transaction in a record.
func (g *gathering) transaction(a pix.AccountID, seq uint64) (*Transaction, error) {
	r, err := g.Record(a, seq)
	if err != nil {
		return nil, err
	}
	return r.Tx, nil
}

// transactionAt reads the transaction in the record that the row under key leads to; nil where the row
// does not exist.
func (g *gathering) transactionAt(key []byte) (*Transaction, error) {
	seq, ok, err := layout.Find(g, key, layout.DecodeSeqRow)
	if err != nil || !ok {
		return nil, err
	}
	return g.transaction(g.account.ID, seq)
}

// received reads the transaction that was received under an end-to-end id; nil where no
// payment came under that id.
func (g *gathering) received(endToEnd string) (*Transaction, error) {
	row, ok, err := g.receivedRow(endToEnd)
	if err != nil || !ok {
		return nil, err
	}
	return g.transaction(g.account.ID, row.Seq)
}

// receivedRow reads the account's received row of an end-to-end id.
func (g *gathering) receivedRow(endToEnd string) (layout.ReceivedRow, bool, error) {
	return layout.Find(g, layout.ReceivedKey(endToEnd, g.account.ID), func(b []byte) (layout.ReceivedRow, error) {
		return layout.DecodeReceivedRow(endToEnd, b)
	})
}

// endToEnd reads the end-to-end row under a key.
func (g *gathering) endToEnd(key []byte) (layout.EndToEndRow, bool, error) {
	return layout.Find(g, key, layout.DecodeEndToEndRow)
}

// rowOf reads the end-to-end row of a payout; nil where the row does not exist.
func (g *gathering) rowOf(t *Transaction) (*layout.EndToEndRow, error) {
	row, ok, err := g.endToEnd(EndToEndKeyOf(t))
	if err != nil || !ok {
		return nil, err
	}
	return &row, nil
}

// shownByID reads the newest state of a transaction of this account by its short id; nil where
// the merchant has never seen such a transaction.
func (g *gathering) shownByID(short pix.ShortID) (*Transaction, error) {
	row, ok, err := layout.Find(g, layout.IDKey(short), layout.DecodeIDRow)
	if err != nil || !ok || row.Account != g.account.ID {
		return nil, err
	}
	return g.item(row.Ordinal)
}

// item reads the newest state of the account's transaction with that ordinal, which must exist.
func (g *gathering) item(ordinal uint64) (*Transaction, error) {
	row, ok, err := layout.Find(g, layout.ItemKey(g.account.ID, ordinal), layout.DecodeItemRow)
	if err == nil && !ok {
		err = fmt.Errorf("item %d of %v has no row", ordinal, g.account.ID)
	}
	if err != nil {
		return nil, err
	}
	return g.transaction(g.account.ID, row.Seq)
}

// transfer finds the newest state of a payout or refund: in memory, by its open row, among the
// transactions that the merchant can see or, where it is only held, by its end-to-end row.
// Nil where there is no such transfer.
func (g *gathering) transfer(id pix.TxID, endToEnd string) (*Transaction, error) {
	if t := g.Carried(id); t != nil {
		return t, nil
	}
	if t := g.Recent(id); t != nil {
		return t, nil
	}
	if t, err := g.transactionAt(layout.OpenKey(g.account.ID, id)); err != nil || t != nil {
		return t, err
	}
	at, ok, err := layout.FindTransfer(g, id, endToEnd)
	switch {
	case err != nil || !ok || at.Account != g.account.ID:
		return nil, err
	case at.Ordinal != 0:
		return g.item(at.Ordinal)
	}
	return g.unseen(id, at.Seq)
}

// state reads the newest state of one of the account's payouts; seq is the sequence of any
// record about the payout.
func (g *gathering) state(id pix.TxID, seq uint64) (*Transaction, error) {
	if t, err := g.shownByID(id.Short()); err != nil || t != nil && t.ID == id {
		return t, err
	}
	return g.unseen(id, seq)
}

// unseen is state for a payout that the merchant has never seen, which is either still held
// or was refused. The record at seq does not tell which, because an end-to-end row may lead
// to the older record; but only a hold that still exists has a due row.
func (g *gathering) unseen(id pix.TxID, seq uint64) (*Transaction, error) {
	t, err := g.transaction(g.account.ID, seq)
	if err != nil {
		return nil, err
	}
	if t == nil || t.ID != id {
		return nil, fmt.Errorf("record %d of %v is not about %v", seq, g.account.ID, id)
	}
	if t.Status != pix.StatusHeld {
		return t, nil
	}
	_, stands, err := g.Get(t.dueKey(g.account.ID))
	if err != nil || stands {
		return t, err
	}
	refused := *t
	refused.Status = pix.StatusRefused
	return &refused, nil
}

// State reads the newest state of one of an account's payouts; seq is the sequence of any
// record about the payout.
func State(r Reader, a *Account, id pix.TxID, seq uint64) (*Transaction, error) {
	g := gathering{Reader: r, account: a}
	return g.state(id, seq)
}
