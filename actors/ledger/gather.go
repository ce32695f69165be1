package ledger

import "fmt"

// Gather reads the facts that a command names and the account's head does not hold:
// the second of the four steps in the package's comment. It changes nothing but the
// command's claim, which it dates. An error means that something could not be read, or
// ErrUnknownPayout, or ErrBusy where too many payouts are under way under one
// end-to-end id.
func Gather(r Reader, a *Account, c Command, s Stamp) (Facts, error) {
	g := &gathering{Reader: r, account: a, stamp: &s}
	f, err := g.facts(c)
	if err != nil {
		return f, fmt.Errorf("account %v: facts of %T: %w", a.ID, c, err)
	}
	return f, nil
}

func (g *gathering) facts(c Command) (f Facts, err error) {
	if claim := claimOf(c); claim != nil {
		claim.date(g.stamp.Reading)
		if f.Earlier, err = g.earlier(claim); err != nil || f.Earlier != nil {
			return f, err
		}
	}
	switch c := c.(type) {
	case Credit:
		f.Tx, err = g.credit(c.Reference)
	case ReceivePayment:
		if f.Tx, err = g.received(c.EndToEnd); err == nil && f.Tx == nil {
			f.Open, err = g.charge(c.TxID)
		}
	case RequestPayout:
		f.Chain, err = g.chain(&c)
	case ResolvePayout:
		err = g.outcome(&f, &c)
	case Attend:
		err = g.attended(&f, &c)
	case DecideApproval:
		if f.Tx, err = g.payout(c.ID, ""); err == nil && f.Tx != nil {
			f.Chain, err = g.renewal(f.Tx)
		}
	case ReceiveReturn:
		if f.Tx, err = g.known(c.ID, c.EndToEnd); err == nil {
			f.Return, f.Credited, err = g.returned(c.ReturnID)
		}
	}
	return f, err
}

// known is payout, and ErrUnknownPayout where there is none.
func (g *gathering) known(id TxID, endToEnd string) (*Transaction, error) {
	t, err := g.payout(id, endToEnd)
	if err == nil && t == nil {
		err = ErrUnknownPayout
	}
	return t, err
}

// outcome gathers what an outcome needs beside its payout.
func (g *gathering) outcome(f *Facts, c *ResolvePayout) (err error) {
	if f.Tx, err = g.known(c.ID, c.EndToEnd); err != nil {
		return err
	}
	switch {
	case c.Result == PayoutIsRefused && f.Tx.Status == StatusHeld:
		f.Row, err = g.rowOf(f.Tx)
	case c.Result == PayoutIsRejected && c.Reason == ReasonDuplicate && f.Tx.Status.InFlight():
		f.Holder, err = g.holder(f.Tx)
	case c.Result == PayoutIsSending:
		f.Chain, err = g.renewal(f.Tx)
	}
	return err
}

// attended is the payout as it stands: from what is in flight, else from the record
// that the due row names.
func (g *gathering) attended(f *Facts, c *Attend) (err error) {
	id := TxID(c.ID)
	f.Carried = g.Carried(id) != nil
	if f.Tx, err = g.payout(id, ""); err != nil || f.Tx != nil {
		return err
	}
	if c.Seq == 0 {
		return ErrUnknownPayout
	}
	f.Tx, err = g.state(id, c.Seq)
	return err
}
