package layout

import (
	"encoding/binary"

	"pixd/actors/pix"
)

// Original is the part of a received payment that every refund of it repeats. Nothing about a
// received payment changes later, so a copy of this part is never outdated.
type Original struct {
	ID           pix.TxID
	EndToEnd     string
	Amount       pix.Amount // base units, without the fee taken off
	Counterparty pix.Party  // who paid
}

// ReceivedKey is the row key of the end-to-end id of a received payment, or of the id of a
// received return. The account is part of the key, so that no payout and no other account can
// have the same key.
func ReceivedKey(e2e string, a pix.AccountID) []byte {
	k := EndToEndKey(e2e)
	k[0] = rowReceived
	return binary.BigEndian.AppendUint64(k, uint64(a))
}

// ReceivedRange is the key range of all rows, of any account, for payments received under
// one end-to-end id.
func ReceivedRange(e2e string) (lo, hi []byte) {
	lo = EndToEndKey(e2e)
	lo[0] = rowReceived
	return lo, append(lo[:len(lo):len(lo)], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

// DecodeReceivedKey reads the account from the key of a received row.
func DecodeReceivedKey(k []byte) (pix.AccountID, error) {
	if len(k) < 8 {
		return 0, shortRow("received key", k)
	}
	return pix.AccountID(binary.BigEndian.Uint64(k[len(k)-8:])), nil
}

// ReceivedRow is the value under ReceivedKey.
type ReceivedRow struct {
	Seq     uint64    // sequence of the record that contains the payment or return
	Payment *Original // nil in the row of a return
}

// Encode returns the value as it is stored.
func (r ReceivedRow) Encode() []byte {
	o := r.Payment
	if o == nil {
		return SeqRow(r.Seq)
	}
	p := &o.Counterparty
	const lengths = 3 * binary.MaxVarintLen16
	b := make([]byte, 0, paymentRowBytes+lengths+len(p.Name)+len(p.Document)+len(p.ISPB))
	b = append(binary.BigEndian.AppendUint64(b, r.Seq), o.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(o.Amount))
	for _, text := range []string{p.Name, p.Document, p.ISPB} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

const (
	returnRowBytes  = 8
	paymentRowBytes = returnRowBytes + 16 + 8 // without the payer
)

// DecodeReceivedRow decodes the received row of the payment or return with this end-to-end id.
func DecodeReceivedRow(e2e string, b []byte) (ReceivedRow, error) {
	if len(b) != returnRowBytes && len(b) < paymentRowBytes {
		return ReceivedRow{}, shortRow("received", b)
	}
	r := ReceivedRow{Seq: binary.BigEndian.Uint64(b)}
	if len(b) == returnRowBytes {
		return r, nil
	}
	r.Payment = &Original{ID: pix.TxID(b[8:24]), EndToEnd: e2e, Amount: pix.Amount(binary.BigEndian.Uint64(b[24:]))}
	p, rest := &r.Payment.Counterparty, b[paymentRowBytes:]
	for _, text := range []*string{&p.Name, &p.Document, &p.ISPB} {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			return ReceivedRow{}, shortRow("received", b)
		}
		end := size + int(n)
		*text, rest = string(rest[size:end]), rest[end:]
	}
	if len(rest) > 0 || r.Payment.Amount <= 0 {
		return ReceivedRow{}, shortRow("received", b)
	}
	return r, nil
}
