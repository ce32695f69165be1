package pix

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Fingerprint is the data from which the engine computes an end-to-end id where the
// merchant chose none. Two payout requests with the same fingerprint are repeats of each
// other.
type Fingerprint struct {
	Account AccountID
	Amount  Amount
	KeyType KeyType
	Key     string // normalised
}

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
	return Base62(sum)
}

// SuffixChars is the length of an end-to-end id's last part, which the participant that
// sends the payment may choose.
const SuffixChars = 11

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

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

func digit(c byte) bool { return '0' <= c && c <= '9' }

func capital(c byte) bool { return 'A' <= c && c <= 'Z' }

func letter(c byte) bool { return 'a' <= c && c <= 'z' || capital(c) }

// RandomSuffix makes the last 11 characters of an end-to-end id from ten bytes of entropy,
// not from a fingerprint.
func RandomSuffix(entropy [10]byte) string { return Base62(sha256.Sum256(entropy[:])) }

// RefundSuffix makes the last 11 characters of a refund's id: an HMAC-SHA256 under the
// store's secret over the account and what the refund is made for. After a restore the same
// request, or the same part of a case, gets the same characters again.
func RefundSuffix(secret []byte, a AccountID, of ...[]byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(binary.BigEndian.AppendUint64([]byte("refund"), uint64(a)))
	for _, part := range of {
		mac.Write(part)
	}
	return Base62([sha256.Size]byte(mac.Sum(nil)))
}

// Base62 makes 11 characters of a hash.
func Base62(sum [sha256.Size]byte) string {
	var out [SuffixChars]byte
	for i := range out {
		out[i] = base62[binary.BigEndian.Uint16(sum[2*i:])%62]
	}
	return string(out[:])
}
