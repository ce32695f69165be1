package ledger

import (
	"fmt"

	"pixd/actors/cbormap"
	"pixd/actors/pix"
)

// Account is one account's head: its settings and totals. Its size does not grow with the
// account's history. The zero value with an ID is an account that has not been opened.
type Account struct {
	ID       pix.AccountID
	Seq      uint64     // sequence of the newest record; 0: the account is not opened
	Time     pix.Millis // time of the newest record
	Opened   pix.Millis // when the account was opened
	Settings Settings
	Totals   Totals

	Subscriptions []Subscribed // subscriptions that are not removed, the oldest first; never changed in place
}

// Apply changes the head as one record says. It decides nothing, but it checks the record:
// an error means that the record cannot follow the head's newest record, because of a gap
// in the sequence, a time that runs backwards, or totals that do not follow from the
// record's transaction.
func (a *Account) Apply(r *Record) error {
	if err := a.follows(r); err != nil {
		return fmt.Errorf("ledger: record %d of %v (%v): %w", r.Seq, r.Account, r.Kind, err)
	}
	if r.Kind == AccountOpened {
		a.Opened = r.Time
	}
	if r.Settings != nil {
		a.Settings = *r.Settings
	}
	if r.Subscription != nil {
		a.subscribe(r.Subscription)
	}
	a.Seq, a.Time, a.Totals = r.Seq, r.Time, r.Totals
	return nil
}

func (a *Account) follows(r *Record) error {
	switch {
	case r.Account != a.ID:
		return fmt.Errorf("belongs to another account than %v", a.ID)
	case r.Seq != a.Seq+1:
		return fmt.Errorf("follows %d", a.Seq)
	case r.Time < a.Time:
		return fmt.Errorf("time %v before %v", r.Time, a.Time)
	case (r.Kind == AccountOpened) != (a.Seq == 0):
		return fmt.Errorf("an opening is the first record and only that")
	case (r.Kind.row().entity == entityAccount) != (r.Settings != nil):
		return fmt.Errorf("settings where none belong, or none where they do")
	case (r.Kind.row().entity == entityTransaction) != (r.Tx != nil):
		return fmt.Errorf("a transaction where none belongs, or none where one does")
	case (r.Kind.row().entity == entityCase) != (r.Case != nil):
		return fmt.Errorf("a case where none belongs, or none where one does")
	case (r.Kind.row().entity == entitySubscription) != (r.Subscription != nil):
		return fmt.Errorf("a subscription where none belongs, or none where one does")
	case r.Sums != nil && !r.Kind.row().sums, r.Sums == nil && r.Kind.row().sums && r.Tx != nil:
		return fmt.Errorf("refund sums where none belong, or none where they do")
	case r.Tx == nil && r.Case == nil && r.Prev != 0 || r.Prev >= r.Seq:
		return fmt.Errorf("names record %d as the one before it", r.Prev)
	case r.Kind == AnswerKept && (r.Claim == nil || r.Stored == nil):
		return fmt.Errorf("an answer without its claim, or none at all")
	case r.Kind == PayoutReturned && r.Tx.Payout.Returned > r.Tx.Amount:
		return fmt.Errorf("more returned than was paid")
	}
	if err := r.checkSums(); err != nil {
		return err
	}
	if err := a.checkSubscription(r); err != nil {
		return err
	}
	want, ok := a.Totals.after(r)
	if !ok || want != r.Totals {
		return fmt.Errorf("totals %+v where %+v follow", r.Totals, want)
	}
	if k := r.Kind.row(); k.held == brings && !k.found && want.Balance < want.Held {
		return fmt.Errorf("%d held of a balance of %d", want.Held, want.Balance)
	}
	return r.Totals.check()
}

// after returns the totals that an account with totals t must have after the record; false
// where a sum overflows, or where the record's transaction does not have the next ordinal
// or booking number.
func (t Totals) after(r *Record) (Totals, bool) {
	k := r.Kind.row()
	var balance, held pix.Amount
	if r.Tx != nil {
		balance, held = k.balance.of(r.Tx), k.held.of(r.Tx)
	}
	var ok bool
	if t.Balance, ok = t.Balance.Add(balance); !ok {
		return t, false
	}
	if t.Held, ok = t.Held.Add(held); !ok {
		return t, false
	}
	if r.shows() {
		t.Items++
		ok = r.Tx.Ordinal == t.Items
	}
	if r.books() {
		t.Bookings++
		ok = ok && r.Tx.Booking == t.Bookings
	}
	if c := r.Case; c != nil {
		if r.Prev == 0 {
			t.Cases++
			ok = ok && c.Ordinal == t.Cases
		}
		var held, owed bool
		t.MEDHeld, held = t.MEDHeld.Add(c.Held - r.HeldWas)
		t.Owed, owed = t.Owed.Add(c.Owed() - r.OwedWas)
		ok = ok && held && owed
	}
	if r.Kind == SubscriptionMade {
		t.Subscriptions++
	}
	t.Events += r.Skipped + uint64(len(r.Events))
	return t, ok
}

// check returns an error where a sum of held money is below zero.
func (t Totals) check() error {
	if t.Held < 0 || t.Owed < 0 || t.MEDHeld < t.Owed {
		return fmt.Errorf("a hold below zero: %+v", t)
	}
	return nil
}

// headForm is the stored form of the head. In the head row it comes after the sequence,
// checksum and time of the newest record that the head includes.
type headForm struct {
	Opened   pix.Millis `cbor:"1,keyasint"`
	Settings Settings   `cbor:"2,keyasint"`
	Totals   Totals     `cbor:"3,keyasint"`

	Subscriptions []Subscribed `cbor:"4,keyasint,omitempty"`
}

// EncodeHead encodes the head for its row, without ID, Seq and Time.
func (a *Account) EncodeHead() []byte {
	b, err := cbormap.Encoding.Marshal(headForm{a.Opened, a.Settings, a.Totals, a.Subscriptions})
	if err != nil {
		panic(fmt.Sprintf("ledger: encode head of %v: %v", a.ID, err))
	}
	return b
}

// DecodeHead decodes what EncodeHead has encoded. ID, Seq and Time stay as they are.
func (a *Account) DecodeHead(b []byte) error {
	var f headForm
	if err := cbormap.Decoding.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("ledger: head of %v: %w", a.ID, err)
	}
	a.Opened, a.Settings, a.Totals, a.Subscriptions = f.Opened, f.Settings, f.Totals, f.Subscriptions
	return a.Totals.check()
}
