package ledger

import (
	"encoding/binary"
	"slices"
)

// EndToEndKey is where a payout's full end-to-end id lies: the participant's 11
// characters first, so that ids of one minute do not share a long prefix.
func EndToEndKey(e2e string) []byte {
	cut := max(0, len(e2e)-suffixChars)
	k := append(make([]byte, 0, 1+len(e2e)), rowEndToEnd)
	return append(append(k, e2e[cut:]...), e2e[:cut]...)
}

// ReceivedKey is where a received payment's end-to-end id lies: an account's own,
// so that no payout and no other account can be in its way.
func ReceivedKey(e2e string, a AccountID) []byte {
	k := EndToEndKey(e2e)
	k[0] = rowReceived
	return binary.BigEndian.AppendUint64(k, uint64(a))
}

// SuffixKey is where the newest use of a derived suffix lies.
func SuffixKey(suffix string) []byte { return append([]byte{rowEndToEnd}, suffix...) }

// EndToEndKeys is where an id's row may lie: under its suffix where it was
// derived here, else whole. None for what has not the scheme's form.
func EndToEndKeys(e2e string) [][]byte {
	if !ValidEndToEnd(e2e) {
		return nil
	}
	return [][]byte{SuffixKey(e2e[len(e2e)-suffixChars:]), EndToEndKey(e2e)}
}

// EndToEndKeyOf is where a payout's end-to-end row lies: under its suffix where
// the id was derived here, also for a merchant that names it again; else whole.
func EndToEndKeyOf(t *Transaction) []byte {
	if t.Payout.OwnEndToEnd && !t.Payout.UnderSuffix {
		return EndToEndKey(t.EndToEnd)
	}
	return SuffixKey(t.EndToEnd[len(t.EndToEnd)-suffixChars:])
}

// EndToEndRow is what EndToEndKey and SuffixKey hold: the transaction that has
// the id, and those that repeated it and are in flight or have moved money.
type EndToEndRow struct {
	Account AccountID `cbor:"1,keyasint"`
	ID      TxID      `cbor:"2,keyasint"`
	Seq     uint64    `cbor:"3,keyasint"` // the record that holds it, or refuses it
	Members []Member  `cbor:"4,keyasint,omitempty"`
}

// Member is a repeat under an end-to-end id.
type Member struct {
	ID  TxID   `cbor:"1,keyasint"`
	Seq uint64 `cbor:"2,keyasint"` // the record that holds it
}

const (
	endToEndRowBytes = 8 + 16 + 8
	memberBytes      = 16 + 8
)

func (r EndToEndRow) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, endToEndRowBytes+len(r.Members)*memberBytes), uint64(r.Account))
	b = append(b, r.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	for _, m := range r.Members {
		b = binary.BigEndian.AppendUint64(append(b, m.ID[:]...), m.Seq)
	}
	return b
}

// DecodeEndToEndRow reads an end-to-end row.
func DecodeEndToEndRow(b []byte) (EndToEndRow, error) {
	if len(b) < endToEndRowBytes || (len(b)-endToEndRowBytes)%memberBytes != 0 {
		return EndToEndRow{}, shortRow("end-to-end", b)
	}
	r := EndToEndRow{
		Account: AccountID(binary.BigEndian.Uint64(b)), ID: TxID(b[8:24]),
		Seq: binary.BigEndian.Uint64(b[24:]),
	}
	for b = b[endToEndRowBytes:]; len(b) > 0; b = b[memberBytes:] {
		r.Members = append(r.Members, Member{TxID(b[:16]), binary.BigEndian.Uint64(b[16:])})
	}
	return r, nil
}

// Find is the record that holds a transaction under the id, or refuses it; false
// where it has none such.
func (r *EndToEndRow) Find(id TxID) (seq uint64, ok bool) {
	if r.ID == id {
		return r.Seq, true
	}
	for _, m := range r.Members {
		if m.ID == id {
			return m.Seq, true
		}
	}
	return 0, false
}

// all are the transactions under the id, the one that has it first.
func (r *EndToEndRow) all() []Member {
	return append([]Member{{ID: r.ID, Seq: r.Seq}}, r.Members...)
}

// refused is the row after a transaction under the id was refused inside the
// call: the holder's part names the refusal, a repeat's is gone.
func (r EndToEndRow) refused(id TxID, seq uint64) EndToEndRow {
	if r.ID == id {
		r.Seq = seq
		return r
	}
	r.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m Member) bool { return m.ID == id })
	return r
}

// IsEndToEnd tells an end-to-end row.
func IsEndToEnd(key []byte) bool { return key[0] == rowEndToEnd }

// EndToEndRange is the keys of all end-to-end rows.
func EndToEndRange() (lo, hi []byte) { return []byte{rowEndToEnd}, []byte{rowEndToEnd + 1} }

// ReceivedRange is the keys of the payments received under an end-to-end id,
// whoever received them.
func ReceivedRange(e2e string) (lo, hi []byte) {
	lo = EndToEndKey(e2e)
	lo[0] = rowReceived
	return lo, append(lo[:len(lo):len(lo)], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

// DecodeReceivedKey reads whose a received row is.
func DecodeReceivedKey(k []byte) (AccountID, error) {
	if len(k) < 8 {
		return 0, shortRow("received key", k)
	}
	return AccountID(binary.BigEndian.Uint64(k[len(k)-8:])), nil
}
