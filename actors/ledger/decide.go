package ledger

import "fmt"

// Decide answers a command with records, or with the first refusal that applies. It changes
// nothing: Apply does. A command of an unknown type is a bug and panics.
func (a *Account) Decide(c Command, f Facts, s Stamp) Decision {
	if s.Time < a.Time {
		panic(fmt.Sprintf("ledger: %v: command stamped %v, before %v", a.ID, s.Time, a.Time))
	}
	if _, opening := c.(OpenAccount); !opening && a.Seq == 0 {
		return Decision{Refusal: refuse(RefuseNotOpened, "account is not opened")}
	}
	if e := f.Earlier; e != nil {
		return e.decision()
	}
	d := draft{account: a, stamp: s, totals: a.Totals, facts: f}
	return d.afterCases(d.decide(c, f))
}

// decide makes the decision of one command, without the refunds that special-return cases
// owe.
func (d *draft) decide(c Command, f Facts) Decision {
	switch c := c.(type) {
	case ReadAccount, Recall:
		return Decision{}
	case KeepAnswer:
		d.moveless(AnswerKept, Body{Claim: c.Claim, Stored: &c.Stored})
		return d.done(nil)
	case OpenAccount:
		return d.open(c)
	case ChangeSettings:
		d.moveless(SettingsChanged, Body{Settings: &c.Settings})
		return d.done(nil)
	case Credit:
		return d.credit(c, f)
	case CreateCharge:
		return d.charge(c)
	case ReceivePayment:
		return d.receive(c, f)
	case RequestPayout:
		return d.requestPayout(c, f)
	case ResolveTransfer:
		return d.resolveTransfer(c, f)
	case DecideApproval:
		return d.decideApproval(c, f)
	case Attend:
		return d.attend(c, f)
	case ReceiveReturn:
		return d.receiveReturn(c, f)
	case RequestRefund:
		return d.requestRefund(c, f)
	case OpenCase:
		return d.openCase(c, f)
	case CancelCase:
		return d.cancelCase(c, f)
	case DefendCase:
		return d.defendCase(c, f)
	case CloseCase:
		return d.closeCase(c, f)
	case RetryCase:
		return d.retryCase(c, f)
	case ResumeCase:
		return d.resumeCase(c, f)
	case Subscribe:
		return d.subscribe(c)
	case EndSubscription:
		return d.endSubscription(c, f)
	}
	panic(fmt.Sprintf("ledger: no decision for %T", c))
}

// draft collects the records of one decision. Each record has the totals that the account
// has after it.
type draft struct {
	account *Account
	stamp   Stamp
	totals  Totals
	records []Record
	alerts  []Alert
	launch  []Launch

	facts Facts
	drawn byte // number of ids that the method draw has made
	made  int  // number of refunds for cases that the decision has made
	// The states of refund sums and cases after the decision's records so far, where they
	// differ from the facts.
	sums  map[TxID]RefundSums
	cases map[uint64]*Case // by ordinal
}

// add appends a record of the kind and computes its totals. It returns RefuseOverflow where
// a sum overflows; the caller then drops the whole decision. A change of status that the
// table of kinds does not allow is a bug and panics.
func (d *draft) add(kind RecordKind, b Body) *Refusal {
	if t := b.Tx; t != nil {
		if err := transition(kind, t.was, t.Status); err != nil {
			panic(fmt.Sprintf("ledger: %v: %v after record %d: %v", d.account.ID, t.ID, t.at, err))
		}
		b.Prev = t.at
		t.Doubted = t.Doubted || d.stamp.Doubted
	}
	if k := b.Case; k != nil {
		if err := caseTransition(kind, k.was.status, k.Status); err != nil {
			panic(fmt.Sprintf("ledger: %v: %v after record %d: %v", d.account.ID, k.ID, k.at, err))
		}
		b.Prev, b.HeldWas, b.OwedWas, b.ShortWas, b.DueWas = k.at, k.was.held, k.was.owed, k.was.short, k.was.due
	}
	if b.Sums != nil { // the caller may go on counting in its own copy
		kept := *b.Sums
		b.Sums = &kept
	}
	b.Deliveries = d.account.deliveries(b.Events)
	r := Record{
		Account: d.account.ID,
		Seq:     d.account.Seq + uint64(len(d.records)) + 1,
		Time:    d.stamp.Time,
		Kind:    kind,
		Body:    b,
	}
	after, ok := d.totals.after(&r)
	if !ok {
		return refuse(RefuseOverflow, "the balance would not fit")
	}
	r.Totals, d.totals = after, after
	if r.Tx != nil {
		r.Tx.standsAt(r.Seq)
	}
	if r.Case != nil {
		r.Case.standsAt(r.Seq)
	}
	if r.Sums != nil {
		d.sums = with(d.sums, r.Sums.Original, *r.Sums)
	}
	d.records = append(d.records, r)
	return nil
}

func (d *draft) done(tx *Transaction) Decision {
	return Decision{Records: d.records, Tx: tx, Alerts: d.alerts, Launch: d.launch}
}

// show makes the transaction visible to the merchant: it sets the creation time and the
// ordinal among the account's items.
func (d *draft) show(t *Transaction) {
	t.CreatedAt, t.Ordinal = d.stamp.Time, d.totals.Items+1
}

// book gives a transaction its final status, and its number in the account's statement.
func (d *draft) book(t *Transaction, s TxStatus) {
	t.Status, t.BookedAt, t.Booking = s, d.stamp.Time, d.totals.Bookings+1
}

// moveless adds a record of a kind that moves no money, so its sums cannot overflow.
func (d *draft) moveless(kind RecordKind, b Body) {
	if r := d.add(kind, b); r != nil {
		panic("ledger: " + kind.String() + " moves money")
	}
}

func (d *draft) open(c OpenAccount) Decision {
	if d.account.Seq != 0 {
		return Decision{Refusal: refuse(RefuseAlreadyThere, "account is opened already")}
	}
	d.moveless(AccountOpened, Body{Settings: &c.Settings})
	return d.done(nil)
}
