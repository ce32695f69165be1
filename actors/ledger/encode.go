package ledger

import (
	"fmt"

	"pixd/actors/cbormap"
	"pixd/actors/pix"
)

// Append appends the record's body to b as it is journaled: CBOR in core deterministic form
// with integer keys. What most records contain is written field by field; what is rare is
// left to the CBOR package, which takes ten times as long.
func (r *Record) Append(b []byte) []byte {
	m := cbormap.Begin(b)
	m.Key(1)
	m.Bytes = r.Totals.append(m.Bytes)
	if r.Tx != nil {
		m.Key(2)
		m.Bytes = r.Tx.append(m.Bytes)
	}
	rare(&m, 3, r.Settings)
	if len(r.Events) > 0 {
		var room [8]byte
		kinds := room[:0]
		for _, k := range r.Events {
			kinds = append(kinds, byte(k))
		}
		m.Blob(4, kinds)
	}
	if r.Claim != nil {
		m.Key(5)
		m.Bytes = r.Claim.append(m.Bytes)
	}
	if s := r.Stored; s != nil {
		m.Key(6)
		stored := cbormap.Begin(m.Bytes)
		stored.Int(1, int64(s.Code))
		stored.Blob(2, s.Body)
		m.Bytes = stored.Bytes
	}
	return r.appendRest(m)
}

func (r *Record) appendRest(m cbormap.Map) []byte {
	rare(&m, 7, r.Moved)
	rare(&m, 8, r.Row)
	m.OptInt(9, int64(r.DueWas))
	m.OptUint(10, uint64(r.DueWasKind))
	m.OptUint(11, r.Prev)
	rare(&m, 12, r.Sums)
	rare(&m, 13, r.Case)
	m.OptInt(14, int64(r.HeldWas))
	m.OptInt(15, int64(r.OwedWas))
	rare(&m, 16, r.Subscription)
	if len(r.Deliveries) > 0 {
		rare(&m, 17, &r.Deliveries)
	}
	m.OptInt(18, int64(r.ShortWas))
	return m.Bytes
}

// rare writes a key with a value that few records have; nil: the value is left out.
func rare[T any](m *cbormap.Map, k uint8, v *T) {
	if v == nil {
		return
	}
	b, err := cbormap.Encoding.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("ledger: encode %T: %v", v, err))
	}
	m.Key(k)
	m.Bytes = append(m.Bytes, b...)
}

func (t *Totals) append(b []byte) []byte {
	m := cbormap.Begin(b)
	m.Int(1, int64(t.Balance))
	m.OptInt(2, int64(t.Held))
	m.OptInt(3, int64(t.MEDHeld))
	m.OptUint(4, t.Items)
	m.OptUint(5, t.Bookings)
	m.OptUint(6, t.Events)
	m.OptInt(7, int64(t.Owed))
	m.OptUint(8, t.Cases)
	m.OptUint(9, t.Subscriptions)
	return m.Bytes
}

func (c *Claim) append(b []byte) []byte {
	m := cbormap.Begin(b)
	m.Blob(1, c.Scope[:])
	m.Uint(2, uint64(c.Bucket))
	m.Int(3, int64(c.At))
	m.Blob(4, c.BodyHash[:])
	m.OptUint(5, uint64(c.Style))
	m.OptTrue(6, c.Doubted)
	return m.Bytes
}

func (t *Transaction) append(b []byte) []byte {
	m := cbormap.Begin(b)
	m.Blob(1, t.ID[:])
	m.Uint(2, uint64(t.Kind))
	m.Uint(3, uint64(t.Status))
	m.Int(4, int64(t.Amount))
	m.OptInt(5, int64(t.Fee))
	m.OptText(6, t.EndToEnd)
	m.OptText(7, t.ExternalID)
	m.OptText(8, t.Description)
	if p := &t.Counterparty; *p != (pix.Party{}) {
		m.Key(9)
		party := cbormap.Begin(m.Bytes)
		party.OptText(1, p.Name)
		party.OptText(2, p.Document)
		party.OptText(3, p.ISPB)
		m.Bytes = party.Bytes
	}
	m.OptInt(10, int64(t.CreatedAt))
	m.OptInt(11, int64(t.BookedAt))
	m.OptText(12, t.ReasonCode)
	m.OptUint(13, t.Ordinal)
	m.OptUint(14, t.Booking)
	m.OptTrue(15, t.Doubted)
	t.appendParts(&m)
	m.OptInt(23, int64(t.PaidAt))
	return m.Bytes
}

// appendParts writes the parts of a transaction that belong to its kind.
func (t *Transaction) appendParts(m *cbormap.Map) {
	if c := &t.Charge; *c != (ChargePart{}) {
		m.Key(16)
		charge := cbormap.Begin(m.Bytes)
		charge.Key(1)
		charge.Bytes = appendKey(charge.Bytes, &c.Key)
		charge.OptText(2, c.MerchantName)
		charge.OptText(3, c.MerchantCity)
		m.Bytes = charge.Bytes
	}
	rarePart(m, 17, &t.Receipt)
	rarePart(m, 18, &t.Credit)
	rarePart(m, 19, &t.Return)
	if !t.Payout.zero() {
		m.Key(20)
		m.Bytes = t.Payout.append(m.Bytes)
	}
	if t.Transfer != (TransferPart{}) {
		m.Key(21)
		m.Bytes = t.Transfer.append(m.Bytes)
	}
	if !t.Refund.zero() {
		rare(m, 22, &t.Refund)
	}
}

// rarePart is rare for a part that is left out where it is zero.
func rarePart[T comparable](m *cbormap.Map, k uint8, v *T) {
	var zero T
	if *v != zero {
		rare(m, k, v)
	}
}

func appendKey(b []byte, k *pix.Key) []byte {
	m := cbormap.Begin(b)
	m.OptUint(1, uint64(k.Type))
	m.OptText(2, k.Value)
	return m.Bytes
}

func (p *RefundPart) zero() bool {
	return p.Original == (pix.TxID{}) && p.OriginalEndToEnd == "" && p.OriginalAmount == 0 && p.Code == "" && p.Case == nil && p.Refunded == 0 && p.Counts == nil
}

func (p *PayoutPart) zero() bool {
	return p.Key == (pix.Key{}) && p.GivenDocument == "" && p.RecipientISPB == "" && p.Purpose == "" &&
		p.Attempt == 0 && !p.OwnEndToEnd && !p.UnderSuffix && p.Former == nil && !p.Repeat && p.DuplicateOf == nil &&
		p.Bucket == 0 && p.QueueEnds == 0 && p.Decision == 0 && p.Operator == "" && p.Returned == 0
}

func (p *PayoutPart) append(b []byte) []byte {
	m := cbormap.Begin(b)
	m.Key(1)
	m.Bytes = appendKey(m.Bytes, &p.Key)
	m.OptText(2, p.GivenDocument)
	m.OptText(3, p.RecipientISPB)
	m.OptText(4, p.Purpose)
	m.OptUint(5, p.Attempt)
	m.OptTrue(6, p.OwnEndToEnd)
	m.OptTrue(7, p.UnderSuffix)
	if len(p.Former) > 0 {
		rare(&m, 8, &p.Former)
	}
	m.OptTrue(9, p.Repeat)
	if p.DuplicateOf != nil {
		m.Blob(10, p.DuplicateOf[:])
	}
	m.OptUint(11, uint64(p.Bucket))
	m.OptInt(12, int64(p.QueueEnds))
	m.OptUint(13, uint64(p.Decision))
	m.OptText(14, p.Operator)
	m.OptInt(15, int64(p.Returned))
	return m.Bytes
}

func (t *TransferPart) append(b []byte) []byte {
	m := cbormap.Begin(b)
	m.OptInt(1, int64(t.DueAt))
	m.OptUint(2, uint64(t.DueKind))
	if t.Claim != nil {
		m.Key(3)
		m.Bytes = t.Claim.append(m.Bytes)
	}
	m.OptTrue(4, t.Doubt)
	m.OptInt(5, int64(t.AcceptedAt))
	m.OptTrue(6, t.Overdue)
	m.OptTrue(7, t.Unsure)
	m.OptInt(8, int64(t.LateAt))
	m.OptTrue(9, t.RejectedAfterVoid)
	m.OptTrue(10, t.Limited)
	return m.Bytes
}
