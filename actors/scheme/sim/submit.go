package sim

import (
	"context"
	"errors"
	"math"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// Submit takes a payment, which settles after the delay unless its key's script chooses
// another outcome. The same payment submitted again gets the first submission's answer;
// another transaction with the same end-to-end id is rejected with DUPL.
func (s *Sim) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	o := script(p.Key)
	if o.submit != ledger.RefuseNothing {
		return scheme.State{}, &scheme.Refused{Code: o.submit}
	}
	return s.submitOnce(ctx, p.Tx, p.EndToEnd, s.storedState, func(held bool) submission {
		row := s.decide(&p, o, held)
		ops, notices := s.follows(append(make([]wal.Op, 0, 4), set(key(rowPayment, string(row.Tx[:])), row)), row, o)
		return submission{ops, notices, row.DueAt, row.Reason}
	})
}

const (
	// idLife is the largest difference between the minute in an end-to-end id and the
	// scheme's clock at which the scheme accepts the id. Source: SPI catalogue, FF08.
	idLife = 12 * time.Hour
	// never is the due time of a payment that stays pending for ever.
	never = pix.Millis(math.MaxInt64)
)

// submission is what the book gets of a payout or a refund that is new to it.
type submission struct {
	ops     []wal.Op
	notices []item
	dueAt   pix.Millis // when it becomes final
	reason  string     // why it is rejected then; empty: it settles
}

// submitOnce enters a payout or a refund into the book and returns its state. Where it was submitted
// before under both of its ids, nothing is entered. stored returns the state of a submission in the
// book, and decide decides about a new one; held says that another transaction has its end-to-end
// id. decide is called with the lock order held.
func (s *Sim) submitOnce(ctx context.Context, tx pix.TxID, endToEnd string,
	stored func(pix.TxID, string) (scheme.State, bool, error), decide func(held bool) submission,
) (scheme.State, error) {
	entered, done, err := s.enterSubmission(tx, endToEnd, stored, decide)
	if err != nil {
		return scheme.State{}, err
	}
	if err := wait(ctx, done); err != nil {
		return scheme.State{}, err
	}
	if entered != nil {
		return s.state(entered.dueAt, entered.reason), nil
	}
	state, there, err := stored(tx, endToEnd)
	if err == nil && !there {
		err = errSubmittedOtherwise
	}
	return state, err
}

// enterSubmission enters a submission; nil if the book has it already, or will have it once done
// receives a value. The book may also have one that was rejected because another transaction has
// its end-to-end id.
func (s *Sim) enterSubmission(tx pix.TxID, endToEnd string,
	stored func(pix.TxID, string) (scheme.State, bool, error), decide func(held bool) submission,
) (entered *submission, done <-chan error, err error) {
	s.order.Lock()
	defer s.order.Unlock()
	holder, held, err := s.holder(endToEnd)
	again := held && holder == tx
	if err == nil && held && !again {
		_, again, err = stored(tx, endToEnd)
	}
	if err != nil {
		return nil, nil, err
	}
	if again {
		return nil, s.append(nil, nil), nil
	}
	e := decide(held)
	if !held {
		s.hold(endToEnd, tx)
		e.ops = append(e.ops, wal.Op{Kind: wal.OpSet, Key: key(rowHolder, endToEnd), Value: tx[:]})
	}
	return &e, s.append(e.ops, func() {
		s.letGo(endToEnd, tx)
		for _, i := range e.notices {
			s.out.add(i)
		}
	}), nil
}

// inTime reports whether an end-to-end id is well formed and its minute is near enough to now
// for the scheme to accept the id.
func inTime(endToEnd string, now pix.Millis) bool {
	if !pix.ValidEndToEnd(endToEnd) {
		return false
	}
	minute, err := time.Parse("200601021504", endToEnd[9:21])
	return err == nil && now.Time().Sub(minute).Abs() <= idLife
}

// decide decides the outcome of a payment that is new to the book; held says that another
// transaction has its end-to-end id. The caller holds the lock order.
func (s *Sim) decide(p *scheme.Payment, o outcome, held bool) *payment {
	now := s.now()
	row := &payment{
		Tx: p.Tx, Account: p.Account, EndToEnd: p.EndToEnd, Amount: p.Amount, Key: p.Key.Value,
		At: now, DueAt: now + s.delay(), Reason: o.reason,
		KeyType: p.Key.Type, RecipientISPB: p.RecipientISPB, Description: p.Description, Purpose: p.Purpose,
	}
	if !inTime(p.EndToEnd, now) {
		row.Reason = "FF08"
	}
	if held {
		row.Reason = "DUPL"
	}
	switch {
	case o.now:
		row.DueAt = now
	case o.silent && row.Reason == "":
		row.DueAt = never
	}
	return row
}

// lateNotice is how many ms after its settlement the notice about a payment or refund is sent that
// settles inside its submit call. The answer to the call already says so: the notice serves only a
// caller who lost that answer.
const lateNotice = 1000

// follows appends to ops the rows that come with a payment's row: its notice, its movement if
// it settles, and the return that its script asks for. It returns the notices of the payment
// and of that return too. The caller holds the lock order.
func (s *Sim) follows(ops []wal.Op, row *payment, o outcome) ([]wal.Op, []item) {
	if row.DueAt == never {
		return append(ops, row.other()), nil
	}
	own := item{at: row.DueAt, key: openKey(row.DueAt, row.Tx[:]), notice: row.notice()}
	ops = append(ops, own.openRow(rowPayment))
	if row.Reason != "" {
		return append(ops, row.other()), []item{own}
	}
	if row.DueAt == row.At {
		own.at += lateNotice
	}
	ops = append(ops, s.movementRow(row.DueAt, &movement{
		Kind: MovedPayout, Account: row.Account, Amount: row.Amount, Other: recipientISPB, EndToEnd: row.EndToEnd, Tx: row.Tx,
	}))
	if !o.returned {
		return ops, []item{own}
	}
	rows, back := s.giveBack(row, 0, row.Amount, defaultReason, row.DueAt+max(s.delay(), 1))
	return append(ops, rows...), []item{own, back}
}

func (s *Sim) delay() pix.Millis { return pix.Millis(s.opts.SettleDelay / time.Millisecond) }

// hold notes which transaction has an end-to-end id, until the id's row is durable.
func (s *Sim) hold(endToEnd string, tx pix.TxID) {
	s.mu.Lock()
	s.holders[endToEnd] = tx
	s.mu.Unlock()
	s.ids.Add(key(rowHolder, endToEnd))
}

// letGo removes the note that hold has made, once the id's row is durable.
func (s *Sim) letGo(endToEnd string, tx pix.TxID) {
	s.mu.Lock()
	if s.holders[endToEnd] == tx {
		delete(s.holders, endToEnd)
	}
	s.mu.Unlock()
}

// holder returns the transaction that has an end-to-end id; a zero TxID stands for a
// customer's payment. Where the result must stay true, the caller holds the lock order.
func (s *Sim) holder(endToEnd string) (pix.TxID, bool, error) {
	s.mu.Lock()
	tx, ok := s.holders[endToEnd]
	s.mu.Unlock()
	if ok {
		return tx, true, nil
	}
	k := key(rowHolder, endToEnd)
	if s.ids != nil && !s.ids.MayHave(k) {
		return pix.TxID{}, false, nil
	}
	b, ok, err := s.store.Get(k)
	if err != nil || !ok {
		return pix.TxID{}, false, err
	}
	if len(b) != 16 {
		return pix.TxID{}, false, errors.New("sim: holder row is not a transaction id")
	}
	return pix.TxID(b), true, nil
}

// Ask returns the scheme's state of a payout or a refund, once everything that was submitted
// before is durable. Both are found by both of their ids.
func (s *Sim) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	if err := s.waitDurable(ctx); err != nil {
		return scheme.State{}, err
	}
	state, there, err := s.knownRefund(tx, endToEnd)
	if err == nil && !there {
		state, _, err = s.storedState(tx, endToEnd)
	}
	return state, err
}

// storedState returns the state of a payout. The book has one submission of each payout, the newest: an
// engine that was restored from a snapshot may send a payout again under a renewed id.
func (s *Sim) storedState(tx pix.TxID, endToEnd string) (scheme.State, bool, error) {
	var p payment
	ok, err := read(s.store, key(rowPayment, string(tx[:])), &p)
	if err != nil || !ok || p.EndToEnd != endToEnd {
		return scheme.State{}, false, err
	}
	return s.state(p.DueAt, p.Reason), true, nil
}

// state returns the present state of a payout or a refund that becomes final at dueAt, and is
// rejected then if reason is not empty.
func (s *Sim) state(dueAt pix.Millis, reason string) scheme.State {
	switch {
	case s.now() < dueAt:
		return scheme.State{Progress: scheme.Pending}
	case reason != "":
		return scheme.State{Progress: scheme.Rejected, Reason: reason}
	}
	return scheme.State{Progress: scheme.Settled}
}

func (p *payment) notice() scheme.Notice {
	n := scheme.Notice{Kind: scheme.PaymentSettled, Tx: p.Tx, EndToEnd: p.EndToEnd, Account: p.Account}
	if p.Reason != "" {
		n.Kind, n.Reason = scheme.PaymentRejected, p.Reason
	}
	return n
}
