package provider

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// PathMovements is the provider's path for listing movements.
const PathMovements = "/v1/movements/list"

// maxMovements is the greatest length in bytes of an answer to a MovementsQuestion, and
// MaxMovements the largest number of movements in it. One takes some 700 bytes.
const (
	maxMovements = 4 << 20
	MaxMovements = 1000
)

// MovementsQuestion asks what the provider has told, or would have told, since an instant.
type MovementsQuestion struct {
	Since string `json:"since"`
	After string `json:"after,omitempty"` // the Next of the page before
	Limit int    `json:"limit"`           // largest number of movements in the answer: 1 to MaxMovements
}

// MovementList answers a MovementsQuestion.
type MovementList struct {
	Movements []Movement `json:"movements"`
	Next      string     `json:"next,omitempty"`
	Left      int        `json:"left,omitempty"`
}

// Movement is one entry of the list. Its kind is that of its notice, payment_pending or
// return_pending. A payout or a refund is shown as it was submitted.
type Movement struct {
	At      string   `json:"at"`
	Notice  *Notice  `json:"notice,omitempty"`  // absent where it is pending
	Payment *Payment `json:"payment,omitempty"` // a payout, whose notice is payment_settled or payment_rejected
	Owner   *Owner   `json:"owner,omitempty"`   // of the payout's key
	Return  *Return  `json:"return,omitempty"`  // a refund, whose notice is return_settled or return_rejected
}

// ReadMovementsQuestion reads a request to PathMovements.
func ReadMovementsQuestion(body []byte) (q MovementsQuestion, err error) {
	if err := decode(body, &q, false); err != nil {
		return q, err
	}
	if _, err := q.since(); err != nil {
		return q, err
	}
	if q.Limit < 1 || q.Limit > MaxMovements || utf8.RuneCountInString(q.After) > scheme.MaxAfter {
		return q, fmt.Errorf("limit must be 1 to %d, and after a next of at most %d characters", MaxMovements, scheme.MaxAfter)
	}
	return q, nil
}

func (q *MovementsQuestion) since() (pix.Millis, error) { return instant("since", q.Since) }

// SinceOf returns the instant of a question that ReadMovementsQuestion has read.
func (q *MovementsQuestion) SinceOf() pix.Millis {
	at, err := q.since()
	if err != nil {
		panic("provider: " + err.Error())
	}
	return at
}

// TellMovements returns the message that carries a page of movements.
func TellMovements(p scheme.MovementPage) MovementList {
	m := MovementList{Movements: make([]Movement, 0, len(p.Movements)), Next: p.Next, Left: p.Left}
	for i := range p.Movements {
		m.Movements = append(m.Movements, tellMovement(&p.Movements[i]))
	}
	return m
}

func tellMovement(v *scheme.Movement) Movement {
	m := Movement{At: v.At.String()}
	if v.Notice.Kind != 0 {
		n := TellNotice(v.Notice)
		m.Notice = &n
	}
	switch {
	case v.Payment.Tx != (pix.TxID{}):
		p := paymentOf(v.Payment)
		m.Payment = &p
		if v.Owner != (pix.Party{}) {
			o := Owner(v.Owner)
			m.Owner = &o
		}
	case v.Refund.Tx != (pix.TxID{}):
		r := returnOf(v.Refund)
		m.Return = &r
	}
	return m
}

// parse reads a page. Every movement must say which account it is of, and show what was submitted.
func (m *MovementList) parse() (page scheme.MovementPage, err error) {
	if m.Movements == nil {
		return page, errors.New("movements is required")
	}
	if utf8.RuneCountInString(m.Next) > scheme.MaxAfter || m.Left < 0 {
		return page, fmt.Errorf("next must have at most %d characters, and left be 0 or more", scheme.MaxAfter)
	}
	page.Next, page.Left = m.Next, m.Left
	for i := range m.Movements {
		v, err := m.Movements[i].parse()
		if err != nil {
			return page, fmt.Errorf("movements, number %d: %w", i+1, err)
		}
		if n := len(EncodeMovement(&v)); n > maxMovement {
			return page, fmt.Errorf("movements, number %d: it has %d bytes, %d are the most", i+1, n, maxMovement)
		}
		page.Movements = append(page.Movements, v)
	}
	return page, nil
}

func (m *Movement) parse() (v scheme.Movement, err error) {
	if v.At, err = instant("at", m.At); err != nil {
		return v, err
	}
	if m.Notice != nil {
		if v.Notice, err = m.Notice.parse(); err != nil {
			return v, err
		}
		if v.Notice.Account == 0 {
			return v, errors.New("notice.account_id is required")
		}
	}
	if m.Payment != nil {
		if v.Payment, err = m.Payment.parse(); err != nil {
			return v, err
		}
	}
	if m.Return != nil {
		if v.Refund, err = m.Return.parse(); err != nil {
			return v, err
		}
	}
	if m.Owner != nil {
		if v.Owner, err = m.Owner.parse(); err != nil {
			return v, err
		}
	}
	return v, complete(&v)
}

// complete checks that a movement shows what its notice is about, and nothing else. It sets the ids
// of one that is pending.
func complete(v *scheme.Movement) error {
	var submitted, returned bool
	switch v.Notice.Kind {
	case scheme.PaymentSettled, scheme.PaymentRejected:
		submitted = true
	case scheme.RefundSettled, scheme.RefundRejected:
		returned = true
	case 0:
		submitted = v.Payment.Tx != (pix.TxID{})
		returned = !submitted
		v.Notice = scheme.Notice{Tx: v.Payment.Tx, EndToEnd: v.Payment.EndToEnd, Account: v.Payment.Account}
		if returned {
			v.Notice = scheme.Notice{Tx: v.Refund.Tx, EndToEnd: v.Refund.EndToEnd, Account: v.Refund.Account}
		}
	}
	p, r, n := &v.Payment, &v.Refund, &v.Notice
	switch {
	case submitted != (p.Tx != pix.TxID{}) || returned != (r.Tx != pix.TxID{}):
		return errors.New("payment goes with a payout, return with a refund, neither with anything else")
	case v.Owner != (pix.Party{}) && !submitted:
		return errors.New("owner goes with a payout")
	case submitted && (p.Tx != n.Tx || p.EndToEnd != n.EndToEnd || p.Account != n.Account),
		returned && (r.Tx != n.Tx || r.EndToEnd != n.EndToEnd || r.Account != n.Account):
		return errors.New("the notice must name the ids and the account of what was submitted")
	}
	return nil
}

// Movements implements scheme.Scheme.
func (p *Provider) Movements(ctx context.Context, since pix.Millis, after string, most int) (scheme.MovementPage, error) {
	var m MovementList
	var page scheme.MovementPage
	err := p.ask(ctx, PathMovements, MovementsQuestion{Since: since.String(), After: after, Limit: min(most, MaxMovements)}, &m, maxMovements)
	if err == nil {
		page, err = m.parse()
	}
	if err != nil {
		return scheme.MovementPage{}, fmt.Errorf("scheme: list movements: %w", err)
	}
	return page, nil
}

// maxMovement is the longest movement in bytes, as EncodeMovement writes it: its notice and what was submitted have MaxBody
// each at most on their way, and may have twice as many here, where characters are escaped that were not.
const maxMovement = 8 * MaxBody

// EncodeMovement writes a movement as it stands in a MovementList.
func EncodeMovement(m *scheme.Movement) []byte { return encode(tellMovement(m)) }

// DecodeMovement reads what EncodeMovement has written.
func DecodeMovement(b []byte) (scheme.Movement, error) {
	var m Movement
	if err := decodeUpTo(maxMovement, b, &m, true); err != nil {
		return scheme.Movement{}, err
	}
	return m.parse()
}
