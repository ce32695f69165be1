package layout

import (
	"crypto/sha256"
	"encoding/binary"

	"pixd/actors/pix"
)

// CaseKey is the key of an account's case with that ordinal.
func CaseKey(a pix.AccountID, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(accountKey(rowCase, a, 8), ordinal)
}

// CasesOf is the key range of an account's cases, the oldest first.
func CasesOf(a pix.AccountID) (lo, hi []byte) { return accountRange(rowCase, a) }

// CaseRow is the value under CaseKey.
type CaseRow struct {
	Seq    uint64 // sequence of the newest record about the case
	Status pix.CaseStatus
}

// Encode returns the value as it is stored.
func (r CaseRow) Encode() []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 9), r.Seq), byte(r.Status))
}

// DecodeCaseRow decodes a case row.
func DecodeCaseRow(b []byte) (CaseRow, error) {
	if len(b) != 9 {
		return CaseRow{}, shortRow("case", b)
	}
	return CaseRow{Seq: binary.BigEndian.Uint64(b), Status: pix.CaseStatus(b[8])}, nil
}

// CaseOrdinal reads the case's ordinal from the key of a case row or of a holding row.
func CaseOrdinal(k []byte) (uint64, error) {
	if len(k) != 17 {
		return 0, shortRow("case key", k)
	}
	return binary.BigEndian.Uint64(k[9:]), nil
}

// CaseIDKey is the key of the row that finds a case by its id, whatever account it belongs
// to. The keys are in the order of opening.
func CaseIDKey(id pix.CaseID) []byte { return append([]byte{rowCaseID}, id[:]...) }

// AllCases is the key range of the rows that CaseIDKey names, the oldest case first.
func AllCases() (lo, hi []byte) { return []byte{rowCaseID}, []byte{rowCaseID + 1} }

// IsCaseIDKey tells whether a key is one that CaseIDKey makes.
func IsCaseIDKey(k []byte) bool { return len(k) == 1+16 && k[0] == rowCaseID }

// CaseIDRow is the value under CaseIDKey.
type CaseIDRow struct {
	Account pix.AccountID
	Ordinal uint64
	Status  pix.CaseStatus
}

// Encode returns the value as it is stored.
func (r CaseIDRow) Encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 17), uint64(r.Account))
	return append(binary.BigEndian.AppendUint64(b, r.Ordinal), byte(r.Status))
}

// DecodeCaseIDRow decodes the row that finds a case by its id.
func DecodeCaseIDRow(b []byte) (CaseIDRow, error) {
	if len(b) != 17 {
		return CaseIDRow{}, shortRow("case id", b)
	}
	return CaseIDRow{pix.AccountID(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:]), pix.CaseStatus(b[16])}, nil
}

// InfractionKey is the key of the row that finds a case by the scheme's id of the report.
// The account is part of the key, so that no two accounts write the same key.
func InfractionKey(infraction string, a pix.AccountID) []byte {
	return binary.BigEndian.AppendUint64(infractionPrefix(infraction), uint64(a))
}

func infractionPrefix(infraction string) []byte {
	sum := sha256.Sum256([]byte(infraction))
	return append(append(make([]byte, 0, 25), rowInfraction), sum[:16]...)
}

// InfractionRange is the key range of all accounts' rows for one report.
func InfractionRange(infraction string) (lo, hi []byte) {
	lo = infractionPrefix(infraction)
	return lo, append(lo[:len(lo):len(lo)], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

// InfractionRow is the value under InfractionKey: the case's ordinal.
func InfractionRow(ordinal uint64) []byte { return binary.BigEndian.AppendUint64(nil, ordinal) }

// DecodeInfractionRow decodes the value that InfractionRow makes.
func DecodeInfractionRow(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, shortRow("infraction", b)
	}
	return binary.BigEndian.Uint64(b), nil
}

// HoldingKey is the key of the row of a case that holds money.
func HoldingKey(a pix.AccountID, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(accountKey(rowHolding, a, 8), ordinal)
}

// HoldingsOf is the key range of an account's cases that hold money, the oldest first.
func HoldingsOf(a pix.AccountID) (lo, hi []byte) { return accountRange(rowHolding, a) }

// Holding is a case that holds money.
type Holding struct {
	Ordinal uint64
	Held    pix.Amount // more than zero, base units
	Owed    bool       // the engine refunds the money as soon as there is any; see Case.Owed
}

// Encode returns the value as it is stored.
func (h Holding) Encode() []byte {
	b := append(binary.BigEndian.AppendUint64(make([]byte, 0, 9), uint64(h.Held)), 0)
	if h.Owed {
		b[8] = 1
	}
	return b
}

// DecodeHolding decodes a holding row.
func DecodeHolding(k, v []byte) (Holding, error) {
	ordinal, err := CaseOrdinal(k)
	if err == nil && len(v) != 9 {
		err = shortRow("holding", v)
	}
	if err != nil {
		return Holding{}, err
	}
	return Holding{ordinal, pix.Amount(binary.BigEndian.Uint64(v)), v[8] != 0}, nil
}

// LackingKey is the key of the row of a case that disputes more of its payment than it holds.
func LackingKey(a pix.AccountID, original pix.TxID, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(append(accountKey(rowLacking, a, 24), original[:]...), ordinal)
}

// LackingOf is the key range of the cases of one payment that dispute more of it than they
// hold, the oldest first.
func LackingOf(a pix.AccountID, original pix.TxID) (lo, hi []byte) {
	return LackingKey(a, original, 0), LackingKey(a, original, ^uint64(0))
}

// LackingOrdinal reads the case's ordinal from a key that LackingKey makes.
func LackingOrdinal(k []byte) (uint64, error) {
	if len(k) != 1+8+16+8 {
		return 0, shortRow("lacking key", k)
	}
	return binary.BigEndian.Uint64(k[25:]), nil
}
