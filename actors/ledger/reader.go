package ledger

import (
	"errors"
	"fmt"
)

// Reader is where Gather finds what a command names. It shows the account's own rows
// and records as they are after everything that was decided so far, durable or not,
// and other accounts' as they are on disk. Its errors end the command before anything
// was decided.
type Reader interface {
	// Row is the value of a key; false where there is none.
	Row(key []byte) (value []byte, ok bool, err error)
	// Scan calls fn for each key in [lo, hi), upwards, until fn says no more. It
	// shows what is on disk alone.
	Scan(lo, hi []byte, fn func(k, v []byte) (more bool, err error)) error
	// Record is a record of an account.
	Record(a AccountID, seq uint64) (*Record, error)
	// Claim is the value of an idempotency row whose claim was made from one instant
	// to another, both included.
	Claim(key []byte, from, to Millis) (value []byte, ok bool, err error)
	// Carried is one of the account's payouts as it stands, where a child carries it
	// now; nil where none does.
	Carried(id TxID) *Transaction
	// Recent is one of the account's payouts as it stands, where that need not be
	// read; nil where it must be.
	Recent(id TxID) *Transaction
}

// ErrUnknownPayout says that an outcome is of a payout that the account never held:
// it is not taken, so that nobody believes it was.
var ErrUnknownPayout = errors.New("payout is unknown")

// gathering is one call of Gather.
type gathering struct {
	Reader
	account *Account
	stamp   *Stamp
}

// transaction is the item that a record carries.
func (g *gathering) transaction(a AccountID, seq uint64) (*Transaction, error) {
	r, err := g.Record(a, seq)
	if err != nil {
		return nil, err
	}
	return r.Tx, nil
}

// at is the item whose record a row names; nil where there is no row.
func (g *gathering) at(key []byte) (*Transaction, error) {
	row, ok, err := g.Row(key)
	if err != nil || !ok {
		return nil, err
	}
	seq, err := DecodeSeqRow(row)
	if err != nil {
		return nil, err
	}
	return g.transaction(g.account.ID, seq)
}

// credit is what a reference booked, if anything.
func (g *gathering) credit(reference string) (*Transaction, error) {
	if reference == "" {
		return nil, nil
	}
	return g.at(ReferenceKey(g.account.ID, reference))
}

// received is the transaction that has an end-to-end id already.
func (g *gathering) received(endToEnd string) (*Transaction, error) {
	return g.at(ReceivedKey(endToEnd, g.account.ID))
}

// returned is what a return's id has credited here, and whether it has credited
// another account: it credits one payout, ever.
func (g *gathering) returned(id string) (here *Transaction, elsewhere bool, err error) {
	lo, hi := ReceivedRange(id)
	err = g.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		a, err := DecodeReceivedKey(k)
		elsewhere = elsewhere || err == nil && a != g.account.ID
		return !elsewhere, err
	})
	if err == nil {
		here, err = g.received(id)
	}
	return here, elsewhere, err
}

// endToEnd is the end-to-end row under a key.
func (g *gathering) endToEnd(key []byte) (EndToEndRow, bool, error) {
	row, ok, err := g.Row(key)
	if err != nil || !ok {
		return EndToEndRow{}, false, err
	}
	e, err := DecodeEndToEndRow(row)
	return e, err == nil, err
}

// rowOf is the end-to-end row that a payout's id lies under.
func (g *gathering) rowOf(t *Transaction) (*EndToEndRow, error) {
	row, ok, err := g.endToEnd(EndToEndKeyOf(t))
	if err != nil || !ok {
		return nil, err
	}
	return &row, nil
}

// charge is the charge of this account that a txid names, if one does.
func (g *gathering) charge(txid string) (*Transaction, error) {
	short, ok := ParsePublic(txid)
	if !ok {
		return nil, nil
	}
	t, err := g.shown(short)
	if err != nil || t == nil || t.Kind != TxCharge || t.Public() != txid {
		return nil, err
	}
	return t, nil
}

// shown is an item of this account by its short id, as it stands now; nil
// where there is none.
func (g *gathering) shown(short ShortID) (*Transaction, error) {
	row, ok, err := g.Row(IDKey(short))
	if err != nil || !ok {
		return nil, err
	}
	id, err := DecodeIDRow(row)
	if err != nil || id.Account != g.account.ID {
		return nil, err
	}
	row, ok, err = g.Row(ItemKey(id.Account, id.Ordinal))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("item %d of %v has no row", id.Ordinal, id.Account)
	}
	item, err := DecodeItemRow(row)
	if err != nil {
		return nil, err
	}
	return g.transaction(id.Account, item.Seq)
}

// payout is a payout as it stands: from memory, else from the rows of one in flight,
// of one that is shown, or of one that is only held; nil where there is none.
func (g *gathering) payout(id TxID, endToEnd string) (*Transaction, error) {
	if t := g.Carried(id); t != nil {
		return t, nil
	}
	if t := g.Recent(id); t != nil {
		return t, nil
	}
	if t, err := g.at(OpenKey(g.account.ID, id)); err != nil || t != nil {
		return t, err
	}
	if t, err := g.shown(id.Short()); err != nil || t != nil && t.ID == id {
		return t, err
	}
	for _, key := range EndToEndKeys(endToEnd) {
		row, ok, err := g.endToEnd(key)
		if err != nil {
			return nil, err
		}
		if !ok || row.Account != g.account.ID {
			continue
		}
		if seq, ok := row.Find(id); ok {
			return g.state(id, seq)
		}
	}
	return nil, nil
}

// state is the newest state of one of the account's payouts, of which seq is a record:
// as it is shown, or, of one that never was, as its hold or its refusal has it. An
// end-to-end row may be a copy that another payout made: whether a hold still stands,
// its own due row says.
func (g *gathering) state(id TxID, seq uint64) (*Transaction, error) {
	if t, err := g.shown(id.Short()); err != nil || t != nil && t.ID == id {
		return t, err
	}
	t, err := g.transaction(g.account.ID, seq)
	if err != nil {
		return nil, err
	}
	if t == nil || t.ID != id {
		return nil, fmt.Errorf("record %d of %v is not about %v", seq, g.account.ID, id)
	}
	if t.Status != StatusHeld {
		return t, nil
	}
	_, stands, err := g.Row(t.dueKey(g.account.ID))
	if err != nil || stands {
		return t, err
	}
	refused := *t
	refused.Status = StatusRefused
	return &refused, nil
}

// State is the newest state of one of an account's payouts, of which seq is a record.
func State(r Reader, a *Account, id TxID, seq uint64) (*Transaction, error) {
	g := gathering{Reader: r, account: a}
	return g.state(id, seq)
}
