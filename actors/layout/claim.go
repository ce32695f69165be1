package layout

import (
	"encoding/binary"
	"math"

	"pixd/actors/pix"
)

// IdempotencyKey is the key of a claim's row. The day comes first, so that all claims of a
// day are one range and can be deleted together.
func IdempotencyKey(bucket uint16, a pix.AccountID, scope [16]byte) []byte {
	k := append(make([]byte, 0, 27), rowIdempotency)
	k = binary.BigEndian.AppendUint16(k, bucket)
	k = binary.BigEndian.AppendUint64(k, uint64(a))
	return append(k, scope[:]...)
}

// BucketOf returns the bucket of a claim made at t: the number of days since 1970-01-01
// UTC.
func BucketOf(t pix.Millis) uint16 { return uint16(t / (24 * 60 * 60 * 1000)) }

// IdempotencyBefore is the key range of the claims of all days before the day bucket.
func IdempotencyBefore(bucket uint16) (lo, hi []byte) {
	return []byte{rowIdempotency}, binary.BigEndian.AppendUint16([]byte{rowIdempotency}, bucket)
}

// IdempotencyFrom is the key range of the claims of the day bucket and all later days.
func IdempotencyFrom(bucket uint16) (lo, hi []byte) {
	return binary.BigEndian.AppendUint16([]byte{rowIdempotency}, bucket), []byte{rowIdempotency + 1}
}

// DecodeIdempotencyDay reads the day from the key of a claim's row.
func DecodeIdempotencyDay(k []byte) (uint16, error) {
	if len(k) != 27 || k[0] != rowIdempotency {
		return 0, shortRow("idempotency key", k)
	}
	return binary.BigEndian.Uint16(k[1:]), nil
}

// IsIdempotency tells whether a key is that of an idempotency row.
func IsIdempotency(key []byte) bool { return len(key) == 1+2+8+16 && key[0] == rowIdempotency }

// ClaimDays returns the days, since 1970, of which there are claims, the oldest first. It
// makes one scan for each day.
func ClaimDays(r Rows) (days []uint16, err error) {
	for from := 0; from >= 0 && err == nil; {
		lo, hi := IdempotencyFrom(uint16(from))
		from = -1
		err = r.Scan(lo, hi, func(k, _ []byte) (bool, error) {
			d, err := DecodeIdempotencyDay(k)
			days = append(days, d)
			if d < math.MaxUint16 {
				from = int(d) + 1
			}
			return false, err
		})
	}
	return days, err
}

// IdempotencyRow is the value under IdempotencyKey.
type IdempotencyRow struct {
	Answered bool       // false: the request that made the claim has no answer yet
	Doubted  bool       // engine time was doubted when the claim was made
	Seq      uint64     // sequence of the record with the answer or, without an answer, of the record that made the claim
	At       pix.Millis // when the claim was made; a repeat counts as a repeat for 24 h after that
	BodyHash [16]byte
	Tx       pix.TxID // the transaction that the claim is about
}

// Age returns the claim's age in ms; if engine time was doubted when the claim was made,
// the smallest age that is possible.
func (r *IdempotencyRow) Age(now pix.Reading) pix.Millis {
	return now.Clock - now.Since(r.At, r.Doubted)
}

// Encode returns the value as it is stored.
func (r IdempotencyRow) Encode() []byte {
	b := make([]byte, 1, idempotencyRowBytes)
	if r.Answered {
		b[0] |= claimAnswered
	}
	if r.Doubted {
		b[0] |= claimDoubted
	}
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(r.At))
	b = append(b, r.BodyHash[:]...)
	return append(b, r.Tx[:]...)
}

// The bits of an idempotency row's first byte.
const (
	claimAnswered = 1
	claimDoubted  = 2
)

const idempotencyRowBytes = 1 + 8 + 8 + 16 + 16

// DecodeIdempotencyRow decodes an idempotency row.
func DecodeIdempotencyRow(b []byte) (IdempotencyRow, error) {
	if len(b) != idempotencyRowBytes {
		return IdempotencyRow{}, shortRow("idempotency", b)
	}
	return IdempotencyRow{
		Answered: b[0]&claimAnswered != 0, Doubted: b[0]&claimDoubted != 0, Seq: binary.BigEndian.Uint64(b[1:]), At: pix.Millis(binary.BigEndian.Uint64(b[9:])),
		BodyHash: [16]byte(b[17:33]), Tx: pix.TxID(b[33:49]),
	}, nil
}
