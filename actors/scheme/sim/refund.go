package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// refund is the return of a customer's payment by the account that received it. Its outcome
// is decided at its submission: it settles at DueAt, or is rejected then where Reason is not
// empty.
type refund struct {
	Tx          pix.TxID      `cbor:"1,keyasint"`
	Account     pix.AccountID `cbor:"2,keyasint"`
	EndToEnd    string        `cbor:"3,keyasint"` // the refund's own id, which begins with D
	Original    string        `cbor:"4,keyasint"` // end-to-end id of the customer's payment
	Amount      pix.Amount    `cbor:"5,keyasint"`
	ReturnCode  string        `cbor:"6,keyasint,omitempty"` // the code that the account states as the refund's reason
	Description string        `cbor:"7,keyasint,omitempty"`
	At          pix.Millis    `cbor:"8,keyasint"` // time of submission
	DueAt       pix.Millis    `cbor:"9,keyasint"` // time from which on the refund is settled or rejected
	Reason      string        `cbor:"10,keyasint,omitempty"`
}

// refundKey returns the key of a refund's row. The key has both ids, because a transaction
// that submits a second refund under another D id moves the money a second time.
func refundKey(tx pix.TxID, endToEnd string) []byte {
	return key(rowRefund, string(tx[:])+endToEnd)
}

// settlingKey returns the key of the row that leads from a payment to one of its refunds. The
// keys order a payment's refunds by the times at which they settle.
func settlingKey(original string, dueAt pix.Millis, endToEnd string) []byte {
	k := append(key(rowRefunded, original), 0)
	return append(binary.BigEndian.AppendUint64(k, uint64(dueAt)), endToEnd...)
}

// returnLife is the longest time from a payment to a refund that the receiving customer asks
// for (MD06). Source: the PIX regulation's 90 days; the SPI rejects later ones with DT05.
const returnLife = pix.Millis(90 * 24 * time.Hour / time.Millisecond)

// returnCodes are the return codes that the scheme accepts.
var returnCodes = map[string]bool{"MD06": true, "BE08": true, "AM09": true, "SL02": true, "RR04": true, "FR01": true}

// Return implements scheme.Scheme. The refund settles after the delay unless decideRefund
// rejects it. The same refund submitted again gets the first submission's answer; another
// transaction with the same D id is rejected with DUPL. The refunds of one payment may come
// to more than the payment, so that an engine which returns too much differs from the book.
func (s *Sim) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	original, err := s.original(ctx, &r)
	if err != nil {
		return scheme.State{}, err
	}
	return s.submitOnce(ctx, r.Tx, r.EndToEnd, s.knownRefund, func(held bool) submission {
		row := s.decideRefund(&r, original, held)
		ops, notice := s.refundRows(row, original)
		return submission{ops, []item{notice}, row.DueAt, row.Reason}
	})
}

// errSubmittedOtherwise is the error for a payout submitted with the ids of a refund, for a refund
// submitted with the ids of a payout, and for a payout submitted again under an id that it had
// before another one.
var errSubmittedOtherwise = errors.New("sim: the transaction was submitted as the other kind, or under another end-to-end id since")

// original returns the customer's payment that a refund returns; nil: the refund's account
// received no such payment.
func (s *Sim) original(ctx context.Context, r *scheme.Refund) (*arrival, error) {
	a, err := s.repeated(r.Original)
	if err == nil && a == nil {
		// The payment may be booked and its row not readable yet.
		if err = s.waitDurable(ctx); err == nil {
			a, err = s.repeated(r.Original)
		}
	}
	if err != nil || a == nil || a.Account != r.Account {
		return nil, err
	}
	return a, nil
}

// refundRows returns the rows of a refund and its notice: the refund, the notice's open row,
// and, if the refund settles, its movement and the row that leads from the payment to it. The
// caller holds the lock order until the rows are appended.
func (s *Sim) refundRows(row *refund, original *arrival) ([]wal.Op, item) {
	own := refundKey(row.Tx, row.EndToEnd)
	i := item{at: row.DueAt, key: openKey(row.DueAt, own), notice: row.notice()}
	ops := []wal.Op{set(own, row), i.openRow(rowRefund)}
	if row.Reason != "" {
		return append(ops, row.other()), i
	}
	if row.DueAt == row.At {
		i.at += lateNotice
	}
	return append(ops, s.movementRow(row.DueAt, row.movement(original)),
		wal.Op{Kind: wal.OpSet, Key: settlingKey(row.Original, row.DueAt, row.EndToEnd), Value: row.Tx[:]}), i
}

// decideRefund decides the outcome of a refund that is new to the book; held says that
// another transaction has its D id. The caller holds the lock order.
func (s *Sim) decideRefund(r *scheme.Refund, original *arrival, held bool) *refund {
	now := s.now()
	row := &refund{
		Tx: r.Tx, Account: r.Account, EndToEnd: r.EndToEnd, Original: r.Original, Amount: r.Amount,
		ReturnCode: r.Reason, Description: r.Description, At: now, DueAt: now + s.delay(),
	}
	rest, isReturn := strings.CutPrefix(r.EndToEnd, "D")
	switch {
	case held:
		row.Reason = "DUPL"
	case !isReturn || !inTime("E"+rest, now):
		row.Reason = "FF08"
	case original == nil || !returnCodes[r.Reason]:
		row.Reason = "CH16"
	case r.Reason == defaultReason && now-original.At > returnLife:
		row.Reason = "DT05"
	}
	return row
}

func (s *Sim) knownRefund(tx pix.TxID, endToEnd string) (scheme.State, bool, error) {
	var r refund
	ok, err := read(s.store, refundKey(tx, endToEnd), &r)
	if err != nil || !ok {
		return scheme.State{}, false, err
	}
	return s.state(r.DueAt, r.Reason), true, nil
}

func (r *refund) movement(original *arrival) *movement {
	return &movement{
		Kind: MovedRefund, Account: r.Account, Amount: r.Amount, Other: original.PayerISPB,
		EndToEnd: r.Original, Tx: r.Tx, ReturnID: r.EndToEnd,
	}
}

func (r *refund) notice() scheme.Notice {
	n := scheme.Notice{Kind: scheme.RefundSettled, Tx: r.Tx, EndToEnd: r.EndToEnd, Account: r.Account}
	if r.Reason != "" {
		n.Kind, n.Reason = scheme.RefundRejected, r.Reason
	}
	return n
}

// refunds returns the settled refunds of a customer's payment, oldest first.
func (s *Sim) refunds(original string) (all []Returned, err error) {
	err = s.refundsUntil(original, s.now(), func(r *refund) {
		all = append(all, Returned{r.EndToEnd, r.Amount, r.ReturnCode, r.DueAt})
	})
	return all, err
}

// Returns implements scheme.Scheme.
func (s *Sim) Returns(ctx context.Context, account pix.AccountID, endToEnd string) (all []ledger.Returned, err error) {
	if err := s.waitDurable(ctx); err != nil {
		return nil, err
	}
	now := s.now()
	err = s.refundsUntil(endToEnd, pix.Latest-1, func(r *refund) {
		if r.Account == account {
			all = append(all, ledger.Returned{ID: r.Tx, ReturnID: r.EndToEnd, Amount: r.Amount, Reason: r.ReturnCode, Open: r.DueAt > now})
		}
	})
	return all, err
}

// refundsUntil calls fn with each refund of a customer's payment that settles at until or
// earlier, oldest first.
func (s *Sim) refundsUntil(original string, until pix.Millis, fn func(*refund)) error {
	from := append(key(rowRefunded, original), 0)
	return s.store.Scan(from, settlingKey(original, until+1, ""), func(k, v []byte) (bool, error) {
		if len(v) != 16 {
			return false, errors.New("sim: row of a payment's refund without a transaction id")
		}
		id := string(k[len(from)+8:])
		var r refund
		ok, err := read(s.store, refundKey(pix.TxID(v), id), &r)
		if err := present(ok, err); err != nil {
			return false, fmt.Errorf("sim: refund %s of %s: %w", id, original, err)
		}
		fn(&r)
		return true, nil
	})
}
