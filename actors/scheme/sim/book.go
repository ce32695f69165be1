package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"pixd/actors/ledger"
	"pixd/wal"
)

// The book's rows. docs/formats.md lists them.
const (
	rowKey        = 'k' // a PIX key of the engine's
	rowPayment    = 'p' // a payout submitted to us, by the engine's transaction id
	rowHolder     = 'e' // which payment, in or out, holds an end-to-end id
	rowOpen       = 'o' // a notice to deliver, by its instant; gone once acknowledged
	rowArrival    = 'a' // a customer's payment, by its end-to-end id
	rowMovement   = 'm' // what settles, by its instant and number
	rowSums       = 's' // movements added up: the mark, and each side's sums
	rowReturn     = 'r' // what came back of a payout, by its transaction id and ordinal
	rowInfraction = 'i' // a report of a customer's payment, by its own id
	rowLimited    = 'l' // how many limits a payout's lookups met, by its transaction id
	rowCapacity   = 'c' // what every lookup meets
)

// keyRow is one of the engine's PIX keys.
type keyRow struct {
	Account ledger.AccountID `cbor:"1,keyasint"`
	Type    ledger.KeyType   `cbor:"2,keyasint"`
}

// payment is a payout as the scheme has it. What becomes of it is settled when
// it is submitted: Reason, or none, at DueAt.
type payment struct {
	Tx       ledger.TxID      `cbor:"1,keyasint"`
	Account  ledger.AccountID `cbor:"2,keyasint"`
	EndToEnd string           `cbor:"3,keyasint"`
	Amount   ledger.Amount    `cbor:"4,keyasint"`
	Key      string           `cbor:"5,keyasint"`
	At       ledger.Millis    `cbor:"6,keyasint"` // when it was submitted
	DueAt    ledger.Millis    `cbor:"7,keyasint"` // when it is final
	Reason   string           `cbor:"8,keyasint,omitempty"`
}

// arrival is a customer's payment to one of the engine's keys.
type arrival struct {
	EndToEnd      string           `cbor:"1,keyasint"`
	Account       ledger.AccountID `cbor:"2,keyasint"`
	Key           string           `cbor:"3,keyasint"`
	Amount        ledger.Amount    `cbor:"4,keyasint"`
	TxID          string           `cbor:"5,keyasint,omitempty"`
	PayerName     string           `cbor:"6,keyasint,omitempty"`
	PayerDocument string           `cbor:"7,keyasint,omitempty"`
	PayerISPB     string           `cbor:"8,keyasint,omitempty"`
	At            ledger.Millis    `cbor:"9,keyasint"` // the scheme's own date of it
	Description   string           `cbor:"10,keyasint,omitempty"`
}

func key(tag byte, rest string) []byte {
	return append(append(make([]byte, 0, 1+len(rest)), tag), rest...)
}

// openKey orders notices by their instant; what they are about follows.
func openKey(at ledger.Millis, about []byte) []byte {
	k := append(make([]byte, 0, 9+len(about)), rowOpen)
	return append(binary.BigEndian.AppendUint64(k, uint64(at)), about...)
}

func openInstant(k []byte) ledger.Millis { return ledger.Millis(binary.BigEndian.Uint64(k[1:9])) }

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

func set(k []byte, v any) wal.Op {
	b, err := encoding.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sim: encode %T: %v", v, err))
	}
	return wal.Op{Kind: wal.OpSet, Key: k, Value: b}
}

// read decodes one row into v; false where there is none.
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
