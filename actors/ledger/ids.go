package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"time"
)

// Millis is an instant: Unix milliseconds, UTC. Every time in the journal and
// in every answer has this resolution.
type Millis int64

// Latest is the latest instant that the code uses.
const Latest = Millis(math.MaxInt64 - 1)

// Time converts the instant to the standard library's type, in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// String is ISO 8601 with milliseconds and Z.
func (m Millis) String() string { return m.Time().Format("2006-01-02T15:04:05.000Z") }

// AccountID names one merchant account. It is 1 to LastAccountID.
type AccountID uint64

// LastAccountID is the largest account id. The 65,536 numbers above it are reserved for
// streams that belong to no account.
const LastAccountID = ^AccountID(0) - 1<<16

// slotBits is the number of leading bits of an account id that form its slot, an even
// division of all accounts. Data that is divided among several journals is divided by slot.
// The number never changes.
const slotBits = 12

// Slot is the account's slot, 0 to 4095.
func (a AccountID) Slot() uint16 { return uint16(a >> (64 - slotBits)) }

const accountPrefix = "acc_"

var (
	lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	upper32 = base32.StdEncoding.WithPadding(base32.NoPadding)
)

// String is the id as operators see it: acc_ and 13 characters.
func (a AccountID) String() string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(a))
	return accountPrefix + lower32.EncodeToString(b[:])
}

// ParseAccountID parses the form that String makes; false for any other string.
func ParseAccountID(s string) (AccountID, bool) {
	rest, ok := strings.CutPrefix(s, accountPrefix)
	if !ok || len(rest) != 13 {
		return 0, false
	}
	b, err := lower32.DecodeString(rest)
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

// ShortID is the 100 bits of a TxID that are its public identifier, left aligned in 13
// bytes; the last four bits are zero.
type ShortID [13]byte

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

const shortChars = 20

// Public returns the transaction_id: a prefix for the kind and 20 characters.
func (t TxID) Public(k TxKind) string {
	s := t.Short()
	var b [21]byte
	upper32.Encode(b[:], s[:])
	return k.prefix() + string(b[:shortChars])
}

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

// Fingerprint is the data from which the engine computes an end-to-end id where the
// merchant chose none. Two payout requests with the same fingerprint are repeats of each
// other.
type Fingerprint struct {
	Account AccountID
	Amount  Amount
	KeyType KeyType
	Key     string // normalised
}

// suffixChars is the length of an end-to-end id's last part, which the participant that
// sends the payment may choose.
const suffixChars = 11

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Suffix returns the last 11 characters of the end-to-end id for this attempt: an
// HMAC-SHA256 under the store's secret, so that nobody can guess another merchant's next
// id.
func (f Fingerprint) Suffix(secret []byte, attempt uint64) string {
	mac := hmac.New(sha256.New, secret)
	var n [25]byte
	binary.BigEndian.PutUint64(n[0:], uint64(f.Account))
	binary.BigEndian.PutUint64(n[8:], uint64(f.Amount))
	binary.BigEndian.PutUint64(n[16:], attempt)
	n[24] = byte(f.KeyType)
	mac.Write(n[:])
	mac.Write([]byte(f.Key))
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	return base62Of(sum)
}

// EndToEnd makes an end-to-end id in the scheme's form: E, the participant's ISPB, the UTC
// minute, the suffix.
func EndToEnd(ispb string, at Millis, suffix string) string {
	return "E" + ispb + at.Time().Format("200601021504") + suffix
}

// ReturnID makes the id of a return in the scheme's form: as an end-to-end id, with D
// instead of E.
func ReturnID(ispb string, at Millis, suffix string) string {
	return "D" + EndToEnd(ispb, at, suffix)[1:]
}

// ValidEndToEnd tells whether s has the scheme's form E{ISPB}{yyyyMMddHHmm}{11}.
// Source: pattern of the pacs.008 message of the SPI catalogue.
func ValidEndToEnd(s string) bool { return schemeID('E', s) }

// ValidReturnID tells whether s has the scheme's form D{ISPB}{yyyyMMddHHmm}{11}.
// Source: pattern of the pacs.004 message of the SPI catalogue.
func ValidReturnID(s string) bool { return schemeID('D', s) }

func schemeID(first byte, s string) bool {
	if len(s) != 32 || s[0] != first {
		return false
	}
	if !ISPB(s[1:9]) {
		return false
	}
	if _, err := time.Parse("200601021504", s[9:21]); err != nil {
		return false
	}
	for i := 21; i < 32; i++ {
		if !digit(s[i]) && !letter(s[i]) {
			return false
		}
	}
	return true
}

func digit(c byte) bool   { return '0' <= c && c <= '9' }
func capital(c byte) bool { return 'A' <= c && c <= 'Z' }
func letter(c byte) bool  { return 'a' <= c && c <= 'z' || capital(c) }

// RandomSuffix makes the last 11 characters of an end-to-end id from ten bytes of entropy,
// not from a fingerprint.
func RandomSuffix(entropy [10]byte) string { return base62Of(sha256.Sum256(entropy[:])) }

// refundSuffix makes the last 11 characters of a refund's id: an HMAC-SHA256 under the
// store's secret over the account and what the refund is made for. After a restore the same
// request, or the same part of a case, gets the same characters again.
func refundSuffix(secret []byte, a AccountID, of ...[]byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(binary.BigEndian.AppendUint64([]byte("refund"), uint64(a)))
	for _, part := range of {
		mac.Write(part)
	}
	return base62Of([sha256.Size]byte(mac.Sum(nil)))
}

// base62Of makes 11 characters of a hash.
func base62Of(sum [sha256.Size]byte) string {
	var out [suffixChars]byte
	for i := range out {
		out[i] = base62[binary.BigEndian.Uint16(sum[2*i:])%62]
	}
	return string(out[:])
}
