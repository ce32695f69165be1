package ledger

import "fmt"

// Gather reads the facts that a command needs beside the account's head: the first of the
// four steps in the package's comment. It changes nothing except that it stamps the
// command's idempotency claim with the time. Errors: a row or record could not be read;
// ErrUnknownTransfer; ErrBusy where one end-to-end id has too many payouts.
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
	case ResolveTransfer:
		err = g.outcome(&f, &c)
	case Attend:
		if c.Kind == DueCase {
			err = g.dueCase(&f, CaseID(c.ID))
			break
		}
		err = g.attended(&f, &c)
	case DecideApproval:
		if f.Tx, err = g.transfer(c.ID, ""); err == nil && f.Tx != nil {
			f.Chain, err = g.approval(f.Tx, c.Word)
		}
	case ReceiveReturn:
		if f.Tx, err = g.known(c.ID, c.EndToEnd); err == nil && f.Tx.Kind != TxPayout {
			err = ErrUnknownTransfer
		}
		if err == nil {
			f.Return, f.Credited, err = g.returned(c.ReturnID)
		}
	case RequestRefund:
		err = g.original(&f, c.Original)
	case OpenCase:
		err = g.reported(&f, &c)
	case CancelCase:
		err = g.withdrawn(&f, c.Infraction)
	case DefendCase:
		err = g.caseByID(&f, c.ID)
	case CloseCase:
		err = g.caseByID(&f, c.ID)
	case RetryCase:
		err = g.caseByID(&f, c.ID)
	case ResumeCase:
		err = g.resumed(&f, &c)
	case EndSubscription:
		f.Subscription, err = g.subscription(c.ID)
	}
	if err == nil && frees(c) {
		err = g.lacking(&f)
	}
	if err == nil {
		err = g.owing(&f, c)
	}
	return f, err
}

// known finds a payout or refund as the method transfer does, but returns ErrUnknownTransfer where there
// is no such transfer.
func (g *gathering) known(id TxID, endToEnd string) (*Transaction, error) {
	t, err := g.transfer(id, endToEnd)
	if err == nil && t == nil {
		err = ErrUnknownTransfer
	}
	return t, err
}

// outcome reads the facts that are needed to apply the result of a payout or a refund.
func (g *gathering) outcome(f *Facts, c *ResolveTransfer) (err error) {
	if f.Tx, err = g.known(c.ID, c.EndToEnd); err != nil {
		return err
	}
	if f.Tx.Kind == TxRefund && c.Result == TransferIsVoided {
		if f.MayBeBack, err = g.mayBeBack(f.Tx); err != nil {
			return err
		}
	}
	switch {
	case f.Tx.Kind == TxRefund && (c.Result.ends() || c.Refusal != RefuseNothing):
		err = g.refund(f, c.Result)
	case c.Result == TransferIsRefused && f.Tx.Status == StatusHeld:
		f.Row, err = g.rowOf(f.Tx)
	case c.Result == TransferIsRejected && c.Reason == ReasonDuplicate && f.Tx.Status.InFlight():
		f.Holder, err = g.holder(f.Tx)
	case c.Result == TransferIsSending:
		f.Chain, err = g.renewal(f.Tx)
	}
	return err
}

// attended reads the payout to look after: first among the payouts in flight or visible to
// the merchant, else from the record that the due row names.
func (g *gathering) attended(f *Facts, c *Attend) (err error) {
	id := TxID(c.ID)
	f.Carried = g.Carried(id) != nil
	if f.Tx, err = g.transfer(id, ""); err == nil && f.Tx == nil {
		if c.Seq == 0 {
			return ErrUnknownTransfer
		}
		f.Tx, err = g.state(id, c.Seq)
	}
	if err == nil && f.Tx.Kind == TxRefund && f.Tx.Status.InFlight() {
		f.MayBeBack, err = g.mayBeBack(f.Tx)
	}
	return err
}
