package account

import (
	"errors"
	"fmt"

	"pixd/actors/ledger"
)

// gather reads the facts that a command names.
func (m *Machine) gather(f facts, c ledger.Command, now ledger.Reading) (ledger.Facts, error) {
	var out ledger.Facts
	var err error
	switch c := c.(type) {
	case ledger.Credit:
		out.Tx, err = f.credit(c.Reference)
	case ledger.ReceivePayment:
		if out.Tx, err = f.received(c.EndToEnd); err == nil && out.Tx == nil {
			out.Open, err = f.charge(c.TxID)
		}
	case ledger.RequestPayout:
		out.Chain, err = m.chain(f, &c, now)
	case ledger.ResolvePayout:
		out.Tx, err = m.payout(f, c.ID, c.EndToEnd)
		switch {
		case err == nil && out.Tx == nil:
			err = errUnknownPayout
		case err == nil && c.Result == ledger.PayoutIsRefused && out.Tx.Status == ledger.StatusHeld:
			out.Row, err = f.rowOf(out.Tx)
		case err == nil && c.Result == ledger.PayoutIsRejected && c.Reason == ledger.ReasonDuplicate && out.Tx.Status.InFlight():
			out.Holder, err = f.holder(out.Tx)
		case err == nil && c.Result == ledger.PayoutIsSending:
			out.Chain, err = m.renewal(f, out.Tx, now)
		}
	case ledger.ExpirePayout:
		out.Tx, err = m.payout(f, c.ID, "")
	case ledger.DecideApproval:
		if out.Tx, err = m.payout(f, c.ID, ""); err == nil && out.Tx != nil {
			out.Chain, err = m.renewal(f, out.Tx, now)
		}
	case ledger.ReceiveReturn:
		if out.Tx, err = m.payout(f, c.ID, c.EndToEnd); err == nil && out.Tx == nil {
			err = errUnknownPayout
		}
		if err == nil {
			out.Return, out.Credited, err = f.returned(c.ReturnID)
		}
	}
	if err != nil {
		return out, fmt.Errorf("account %v: facts of %T: %w", f.account, c, err)
	}
	return out, nil
}

// errUnknownPayout: an outcome of what this account never held is not taken, so
// that nobody believes it was.
var errUnknownPayout = errors.New("payout is unknown")

// credit is what a reference booked, if anything.
func (f facts) credit(reference string) (*ledger.Transaction, error) {
	if reference == "" {
		return nil, nil
	}
	row, ok, err := f.get(ledger.ReferenceKey(f.account, reference))
	if err != nil || !ok {
		return nil, err
	}
	seq, err := ledger.DecodeSeqRow(row)
	if err != nil {
		return nil, err
	}
	return f.transaction(f.account, seq)
}

// received is the transaction that has an end-to-end id already.
func (f facts) received(endToEnd string) (*ledger.Transaction, error) {
	row, ok, err := f.get(ledger.ReceivedKey(endToEnd, f.account))
	if err != nil || !ok {
		return nil, err
	}
	seq, err := ledger.DecodeSeqRow(row)
	if err != nil {
		return nil, err
	}
	return f.transaction(f.account, seq)
}

// returned is what a return's id has credited here, and whether it has credited
// another account: it credits one payout, ever.
func (f facts) returned(id string) (here *ledger.Transaction, elsewhere bool, err error) {
	lo, hi := ledger.ReceivedRange(id)
	err = f.store.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		a, err := ledger.DecodeReceivedKey(k)
		elsewhere = elsewhere || err == nil && a != f.account
		return !elsewhere, err
	})
	if err == nil {
		here, err = f.received(id)
	}
	return here, elsewhere, err
}

func (f facts) endToEnd(key []byte) (ledger.EndToEndRow, bool, error) {
	if !f.known.MayHave(key) {
		return ledger.EndToEndRow{}, false, nil
	}
	row, ok, err := f.get(key)
	if err != nil || !ok {
		return ledger.EndToEndRow{}, false, err
	}
	e, err := ledger.DecodeEndToEndRow(row)
	return e, err == nil, err
}

// charge is the charge of this account that a txid names, if one does.
func (f facts) charge(txid string) (*ledger.Transaction, error) {
	short, ok := ledger.ParsePublic(txid)
	if !ok {
		return nil, nil
	}
	t, err := f.shown(short)
	if err != nil || t == nil || t.Kind != ledger.TxCharge || t.Public() != txid {
		return nil, err
	}
	return t, nil
}

// shown is an item of this account by its short id, as it stands now; nil
// where there is none.
func (f facts) shown(short ledger.ShortID) (*ledger.Transaction, error) {
	row, ok, err := f.get(ledger.IDKey(short))
	if err != nil || !ok {
		return nil, err
	}
	id, err := ledger.DecodeIDRow(row)
	if err != nil || id.Account != f.account {
		return nil, err
	}
	row, ok, err = f.get(ledger.ItemKey(id.Account, id.Ordinal))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("item %d of %v has no row", id.Ordinal, id.Account)
	}
	item, err := ledger.DecodeItemRow(row)
	if err != nil {
		return nil, err
	}
	return f.transaction(id.Account, item.Seq)
}

// payout is a payout's state: from memory while its child runs, else from the
// rows of one in flight, of one shown, or of one only held.
func (m *Machine) payout(f facts, id ledger.TxID, endToEnd string) (*ledger.Transaction, error) {
	if t := m.work[id]; t != nil {
		return t, nil
	}
	if p := m.config.Recent.get(id); p != nil && p.account == f.account {
		return p.tx, nil
	}
	row, ok, err := f.get(ledger.OpenKey(f.account, id))
	if err != nil {
		return nil, err
	}
	if ok {
		seq, err := ledger.DecodeSeqRow(row)
		if err != nil {
			return nil, err
		}
		return f.transaction(f.account, seq)
	}
	if t, err := f.shown(id.Short()); err != nil || t != nil && t.ID == id {
		return t, err
	}
	for _, key := range ledger.EndToEndKeys(endToEnd) {
		row, ok, err := f.endToEnd(key)
		if err != nil {
			return nil, err
		}
		if !ok || row.Account != f.account {
			continue
		}
		if seq, ok := row.Find(id); ok {
			return f.state(id, seq)
		}
	}
	return nil, nil
}

// state is the newest state of one of the account's payouts, of which seq is a record:
// as it is shown, or, of one that never was, as its hold or its refusal has it. An
// end-to-end row may be a copy that another payout made: whether a hold still stands,
// its own due row says.
func (f facts) state(id ledger.TxID, seq uint64) (*ledger.Transaction, error) {
	if t, err := f.shown(id.Short()); err != nil || t != nil && t.ID == id {
		return t, err
	}
	t, err := f.transaction(f.account, seq)
	if err != nil {
		return nil, err
	}
	if t == nil || t.ID != id {
		return nil, fmt.Errorf("record %d of %v is not about %v", seq, f.account, id)
	}
	if t.Status != ledger.StatusHeld {
		return t, nil
	}
	_, stands, err := f.get(ledger.DueKey(t.DueKind, t.DueAt, f.account, id))
	if err != nil || stands {
		return t, err
	}
	refused := *t
	refused.Status = ledger.StatusRefused
	return &refused, nil
}

// rowOf is the end-to-end row that a payout's id lies under.
func (f facts) rowOf(t *ledger.Transaction) (*ledger.EndToEndRow, error) {
	row, ok, err := f.endToEnd(ledger.EndToEndKeyOf(t))
	if err != nil || !ok {
		return nil, err
	}
	return &row, nil
}
