package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"pixd/actors/cbormap"
	"pixd/actors/pix"
	"pixd/wal"
)

// The tags of the book's rows, which docs/formats.md lists.
const (
	rowKey        = 'k' // one of the engine's PIX keys
	rowPayment    = 'p' // a payout submitted to us, by the engine's transaction id
	rowHolder     = 'e' // the transaction, a payout, a refund or a customer's payment, that has an end-to-end id
	rowOpen       = 'o' // a notice to deliver, by its due time; deleted once acknowledged
	rowArrival    = 'a' // a customer's payment, by its end-to-end id
	rowMovement   = 'm' // a settled or settling amount, by its time and number
	rowSums       = 's' // sums of movements: the mark, and the sums of accounts and institutions
	rowReturn     = 'r' // a return of a payout, by the payout's transaction id and ordinal
	rowRefund     = 'd' // a refund of a customer's payment, by the engine's transaction id and the refund's D id
	rowRefunded   = 'b' // the transaction of a refund that settles, by the payment's end-to-end id, the time and the D id
	rowInfraction = 'i' // a report of a customer's payment, by its own id
	rowLimited    = 'l' // the number of limits that a payout's lookups have met, by the payout's transaction id
	rowCapacity   = 'c' // the limit that every lookup meets
	rowOther      = 'h' // what is listed beside the movements, by its time: a rejection, a report, a payment that stays pending
)

// keyRow is one of the engine's PIX keys.
type keyRow struct {
	Account pix.AccountID `cbor:"1,keyasint"`
	Type    pix.KeyType   `cbor:"2,keyasint"`
}

// payment is a payout in the scheme's book. Its outcome is decided at its submission: it
// settles at DueAt, or is rejected then where Reason is not empty.
type payment struct {
	Tx       pix.TxID      `cbor:"1,keyasint"`
	Account  pix.AccountID `cbor:"2,keyasint"`
	EndToEnd string        `cbor:"3,keyasint"`
	Amount   pix.Amount    `cbor:"4,keyasint"`
	Key      string        `cbor:"5,keyasint"`
	At       pix.Millis    `cbor:"6,keyasint"` // time of submission
	DueAt    pix.Millis    `cbor:"7,keyasint"` // time from which on the payment is settled or rejected
	Reason   string        `cbor:"8,keyasint,omitempty"`

	KeyType       pix.KeyType `cbor:"9,keyasint,omitempty"` // 0: written by a version that did not keep it, nor what follows
	RecipientISPB string      `cbor:"10,keyasint,omitempty"`
	Description   string      `cbor:"11,keyasint,omitempty"`
	Purpose       string      `cbor:"12,keyasint,omitempty"`
}

// arrival is a customer's payment to one of the engine's keys.
type arrival struct {
	EndToEnd      string        `cbor:"1,keyasint"`
	Account       pix.AccountID `cbor:"2,keyasint"`
	Key           string        `cbor:"3,keyasint"`
	Amount        pix.Amount    `cbor:"4,keyasint"`
	TxID          string        `cbor:"5,keyasint,omitempty"`
	PayerName     string        `cbor:"6,keyasint,omitempty"`
	PayerDocument string        `cbor:"7,keyasint,omitempty"`
	PayerISPB     string        `cbor:"8,keyasint,omitempty"`
	At            pix.Millis    `cbor:"9,keyasint"` // the scheme's date of the payment
	Description   string        `cbor:"10,keyasint,omitempty"`
	RefusedAt     pix.Millis    `cbor:"11,keyasint,omitempty"` // when the engine refused it and it went back; 0: it did not
}

func key(tag byte, rest string) []byte {
	return append(append(make([]byte, 0, 1+len(rest)), tag), rest...)
}

// openKey returns the key of a notice's open row. The keys order notices by their due time;
// about names the payment, return, refund or report that the notice is about.
func openKey(at pix.Millis, about []byte) []byte {
	k := append(make([]byte, 0, 9+len(about)), rowOpen)
	return append(binary.BigEndian.AppendUint64(k, uint64(at)), about...)
}

func openInstant(k []byte) pix.Millis { return pix.Millis(binary.BigEndian.Uint64(k[1:9])) }

// set returns the change that makes v the row at k.
func set(k []byte, v any) wal.Op {
	b, err := cbormap.Encoding.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sim: encode %T: %v", v, err))
	}
	return wal.Op{Kind: wal.OpSet, Key: k, Value: b}
}

// read decodes the row at k into v. It returns false if there is no such row.
func read(s Store, k []byte, v any) (bool, error) {
	b, ok, err := s.Get(k)
	if err != nil || !ok {
		return false, err
	}
	return true, decode(k, b, v)
}

func decode(k, b []byte, v any) error {
	if err := cbor.Unmarshal(b, v); err != nil {
		return fmt.Errorf("sim: row %q: %w", k, err)
	}
	return nil
}
