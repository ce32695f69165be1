package layout

import (
	"encoding/binary"
	"slices"

	"pixd/actors/pix"
)

// EndToEndKey is the row key of a payout's full end-to-end id. The id's last 11 characters
// come first, so that ids of the same minute do not share a long prefix.
func EndToEndKey(e2e string) []byte {
	cut := max(0, len(e2e)-pix.SuffixChars)
	k := append(make([]byte, 0, 1+len(e2e)), rowEndToEnd)
	return append(append(k, e2e[cut:]...), e2e[:cut]...)
}

// SuffixKey is the row key of the newest payout whose end-to-end id the engine computed and
// which ends in this suffix.
func SuffixKey(suffix string) []byte { return append([]byte{rowEndToEnd}, suffix...) }

// EndToEndKeys are the keys under which the row of an end-to-end id may be. The id of a
// payout has two: by suffix where the engine computed the id, else by the full id. The D id
// of a refund has the full id alone. Nil for a string that is not in the scheme's form.
func EndToEndKeys(e2e string) [][]byte {
	if pix.ValidReturnID(e2e) {
		return [][]byte{EndToEndKey(e2e)}
	}
	if !pix.ValidEndToEnd(e2e) {
		return nil
	}
	return [][]byte{SuffixKey(e2e[len(e2e)-pix.SuffixChars:]), EndToEndKey(e2e)}
}

// EndToEndRow is the value under EndToEndKey and SuffixKey: the transaction that first had
// the end-to-end id, and later transactions with the same id that are in flight, have moved
// money or may still settle.
type EndToEndRow struct {
	Account pix.AccountID `cbor:"1,keyasint"`
	ID      pix.TxID      `cbor:"2,keyasint"`
	Seq     uint64        `cbor:"3,keyasint"` // sequence of the record that held or refused the transaction
	Members []Member      `cbor:"4,keyasint,omitempty"`
}

// Encode returns the value as it is stored.
func (r EndToEndRow) Encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, endToEndRowBytes+len(r.Members)*memberBytes), uint64(r.Account))
	b = append(b, r.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	for _, m := range r.Members {
		b = binary.BigEndian.AppendUint64(append(b, m.ID[:]...), m.Seq)
	}
	return b
}

// Find returns the sequence of the record that held or refused the transaction id; false
// where the row does not name the transaction.
func (r *EndToEndRow) Find(id pix.TxID) (seq uint64, ok bool) {
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

// All returns every transaction of the row; the one that first had the id comes first.
func (r *EndToEndRow) All() []Member {
	return append([]Member{{ID: r.ID, Seq: r.Seq}}, r.Members...)
}

// Refused returns the row as it is after the record seq has refused transaction id. If the
// transaction is the first that had the end-to-end id, its sequence becomes seq; if it is
// one of the Members, it is removed.
func (r EndToEndRow) Refused(id pix.TxID, seq uint64) EndToEndRow {
	if r.ID == id {
		r.Seq = seq
		return r
	}
	r.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m Member) bool { return m.ID == id })
	return r
}

// Member is a later transaction with the same end-to-end id.
type Member struct {
	ID  pix.TxID `cbor:"1,keyasint"`
	Seq uint64   `cbor:"2,keyasint"` // sequence of the record that held the transaction
}

const (
	endToEndRowBytes = 8 + 16 + 8
	memberBytes      = 16 + 8
)

// DecodeEndToEndRow decodes an end-to-end row.
func DecodeEndToEndRow(b []byte) (EndToEndRow, error) {
	if len(b) < endToEndRowBytes || (len(b)-endToEndRowBytes)%memberBytes != 0 {
		return EndToEndRow{}, shortRow("end-to-end", b)
	}
	r := EndToEndRow{
		Account: pix.AccountID(binary.BigEndian.Uint64(b)), ID: pix.TxID(b[8:24]),
		Seq: binary.BigEndian.Uint64(b[24:]),
	}
	for b = b[endToEndRowBytes:]; len(b) > 0; b = b[memberBytes:] {
		r.Members = append(r.Members, Member{pix.TxID(b[:16]), binary.BigEndian.Uint64(b[16:])})
	}
	return r, nil
}
