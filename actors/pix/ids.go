package pix

import (
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// AccountID names one merchant account. It is 1 to LastAccountID.
type AccountID uint64

// Slot is the account's slot, 0 to 4095.
func (a AccountID) Slot() uint16 { return uint16(a >> (64 - slotBits)) }

// String is the id as operators see it: acc_ and 13 characters.
func (a AccountID) String() string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(a))
	return accountPrefix + Lower32.EncodeToString(b[:])
}

// LastAccountID is the largest account id. The 65,536 numbers above it are reserved for
// streams that belong to no account.
const LastAccountID = ^AccountID(0) - 1<<16

// slotBits is the number of leading bits of an account id that form its slot, an even
// division of all accounts. Data that is divided among several journals is divided by slot.
// The number never changes.
const slotBits = 12

const accountPrefix = "acc_"

var (
	// Lower32 is the base32 of ids, in lower case and without padding.
	Lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	upper32 = base32.StdEncoding.WithPadding(base32.NoPadding)
)

// ParseAccountID parses the form that String makes; false for any other string.
func ParseAccountID(s string) (AccountID, bool) {
	rest, ok := strings.CutPrefix(s, accountPrefix)
	if !ok || len(rest) != 13 {
		return 0, false
	}
	b, err := Lower32.DecodeString(rest)
	if err != nil || len(b) != 8 {
		return 0, false
	}
	id := AccountID(binary.BigEndian.Uint64(b))
	return id, id != 0 && id <= LastAccountID && id.String() == s
}

// TxID identifies one transaction: a UUID v7. Of its bits that are not fixed, the first 100
// (48 of time, 52 of entropy) are also the transaction's public identifier, so that one row
// finds a transaction by TxID or by public identifier.
type TxID [16]byte

// String returns the id in the usual form of a UUID, in lower case.
func (t TxID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], t[0:4])
	hex.Encode(b[9:13], t[4:6])
	hex.Encode(b[14:18], t[6:8])
	hex.Encode(b[19:23], t[8:10])
	hex.Encode(b[24:36], t[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// Time returns the creation time that the id contains.
func (t TxID) Time() Millis { return Millis(binary.BigEndian.Uint64(t[:8]) >> 16) }

// Short returns the id's bits without the UUID's fixed bits (version, variant) and without
// the last 22 bits.
func (t TxID) Short() ShortID {
	var s ShortID
	copy(s[:6], t[:6])
	// 12 bits of the first random field, then 40 bits of the second one.
	a := uint64(t[6]&0x0f)<<8 | uint64(t[7])
	b := binary.BigEndian.Uint64(t[8:]) << 2 >> 24
	v := (a<<40 | b) << 4
	for i := range 7 {
		s[12-i] = byte(v >> (8 * i))
	}
	return s
}

// Public returns the transaction_id: a prefix for the kind and 20 characters.
func (t TxID) Public(k TxKind) string {
	s := t.Short()
	var b [21]byte
	upper32.Encode(b[:], s[:])
	return k.prefix() + string(b[:shortChars])
}

// NewTxID makes a UUID v7 from a time and 74 of the 80 bits of entropy.
func NewTxID(at Millis, entropy [10]byte) TxID {
	var id TxID
	binary.BigEndian.PutUint64(id[:8], uint64(at)<<16)
	id[6] = 0x70 | entropy[0]&0x0f
	id[7] = entropy[1]
	id[8] = 0x80 | entropy[2]&0x3f
	copy(id[9:], entropy[3:])
	return id
}

// ShortID is the 100 bits of a TxID that are its public identifier, left aligned in 13
// bytes; the last four bits are zero.
type ShortID [13]byte

const shortChars = 20

// ParsePublic parses a transaction_id of any kind; false for any other string. The caller
// must check that the prefix matches the kind of the transaction.
func ParsePublic(s string) (ShortID, bool) {
	var id ShortID
	for _, p := range [...]string{prefixIn, prefixOut, prefixReturn, prefixTED, prefixInternal} {
		rest, ok := strings.CutPrefix(s, p)
		if !ok || len(rest) != shortChars {
			continue
		}
		var b [13]byte
		if n, err := upper32.Decode(b[:], []byte(rest+"A")); err != nil || n != len(b) {
			return id, false
		}
		return ShortID(b), true
	}
	return id, false
}

// ParseTxID parses the usual form of a UUID, in either case; false for any other string.
func ParseTxID(s string) (TxID, bool) {
	var id TxID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(s[0:8]+s[9:13]+s[14:18]+s[19:23]+s[24:36]))
	return id, err == nil
}

// CaseID identifies one special-return case (MED). It is made like a TxID.
type CaseID [16]byte

// String is the id as merchants and operators see it: med_ and 26 characters.
func (c CaseID) String() string { return casePrefix + Lower32.EncodeToString(c[:]) }

const casePrefix = "med_"

// FirstCaseID is no larger than the id of any case that was made at the instant or later, and larger than that of any
// case that was made before.
func FirstCaseID(at Millis) (c CaseID) {
	binary.BigEndian.PutUint64(c[:], uint64(at)<<16)
	return c
}

// ParseCaseID parses the form that String makes; false for any other string.
func ParseCaseID(s string) (CaseID, bool) {
	b, ok := ParseID(s, casePrefix)
	return CaseID(b), ok
}

// SubscriptionID identifies a merchant's webhook subscription: the account, the number of the
// subscription in the account, and 4 drawn bytes.
type SubscriptionID [16]byte

// String is the id as merchants and operators see it: whk_ and 26 characters.
func (s SubscriptionID) String() string { return subscriptionPrefix + Lower32.EncodeToString(s[:]) }

// Account is the account that has the subscription.
func (s SubscriptionID) Account() AccountID { return AccountID(binary.BigEndian.Uint64(s[:])) }

// Number is the number of the subscription among all that the account ever had, from 1.
func (s SubscriptionID) Number() uint32 { return binary.BigEndian.Uint32(s[8:]) }

const subscriptionPrefix = "whk_"

// NewSubscriptionID makes the id of an account's subscription; number counts from 1.
func NewSubscriptionID(a AccountID, number uint32, entropy [4]byte) (id SubscriptionID) {
	binary.BigEndian.PutUint64(id[:], uint64(a))
	binary.BigEndian.PutUint32(id[8:], number)
	copy(id[12:], entropy[:])
	return id
}

// ParseSubscriptionID parses the form that String makes; false for any other string.
func ParseSubscriptionID(s string) (SubscriptionID, bool) {
	b, ok := ParseID(s, subscriptionPrefix)
	return SubscriptionID(b), ok
}

// EventID identifies a webhook event; it is the same in every attempt to deliver the event.
// Its last 8 bytes are the event's sequence. Its first 8 bytes are a hash, so that no other
// event of a restored account has the same id.
type EventID [16]byte

// String is the id as merchants and operators see it: evt_ and 26 characters.
func (e EventID) String() string { return eventPrefix + Lower32.EncodeToString(e[:]) }

// Sequence is the number of the event among all events of its account, from 1.
func (e EventID) Sequence() uint64 { return binary.BigEndian.Uint64(e[8:]) }

const eventPrefix = "evt_"

// ParseEventID parses the form that String makes; false for any other string.
func ParseEventID(s string) (EventID, bool) {
	b, ok := ParseID(s, eventPrefix)
	return EventID(b), ok
}

// ParseID parses an id of 16 bytes in lower-case base32 behind a prefix; false for any other
// string.
func ParseID(s, prefix string) (id [16]byte, ok bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || len(rest) != 26 {
		return id, false
	}
	b, err := Lower32.DecodeString(rest)
	if err != nil || len(b) != 16 || Lower32.EncodeToString(b) != rest {
		return id, false
	}
	return [16]byte(b), true
}

// maxTxid is the greatest length of a txid, that of a dynamic charge's; a static code's has 25 at most.
const maxTxid = 35

// IsTxid tells whether s has the form of a txid, by which a payment's order names what it pays for.
func IsTxid(s string) bool {
	for i := range len(s) {
		if c := s[i]; !digit(c) && !capital(c) && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= maxTxid
}
