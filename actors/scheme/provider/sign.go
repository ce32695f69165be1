package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pixd/actors/ledger"
)

// The headers that every message carries; an answer has no message id of its
// own, it is signed under the request's.
const (
	HeaderTimestamp = "Pixd-Timestamp"
	HeaderMessageID = "Pixd-Message-Id"
	HeaderSignature = "Pixd-Signature"
)

// SecretBytes is how long a shared secret must be at least.
const SecretBytes = 32

// Secret is what both sides know. It never shows itself.
type Secret struct{ key []byte }

// NewSecret takes the shared secret as it is given.
func NewSecret(s string) (Secret, error) {
	if len(s) < SecretBytes {
		return Secret{}, fmt.Errorf("the secret shared with the scheme must have at least %d bytes, and has %d", SecretBytes, len(s))
	}
	return Secret{[]byte(s)}, nil
}

// String hides it.
func (Secret) String() string { return "***" }

// GoString hides it.
func (Secret) GoString() string { return "***" }

// Direction is who says it to whom, so that no message can be sent back as its
// own answer.
type Direction string

// The directions of requests; an answer's is the request's with "-answer".
const (
	ToScheme Direction = "to-scheme"
	ToEngine Direction = "to-engine"
)

func (d Direction) answer() Direction { return d + "-answer" }

// Message is everything that a signature covers.
type Message struct {
	Direction Direction
	Method    string
	Path      string // the request target, as sent
	Timestamp string
	ID        string
	Status    int // of an answer; 0: a request
	Body      []byte
}

const (
	signatureVersion = "v1="
	signatureDomain  = "pixd-scheme-1\n"
)

// Sign is the value of HeaderSignature. Each part stands with its length in
// bytes before it, so that no part can lend bytes to its neighbour.
func (s Secret) Sign(m Message) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(signatureDomain))
	status := ""
	if m.Status != 0 {
		status = strconv.Itoa(m.Status)
	}
	for _, part := range []string{string(m.Direction), m.Method, m.Path, m.Timestamp, m.ID, status} {
		fmt.Fprintf(mac, "%d:%s\n", len(part), part)
	}
	fmt.Fprintf(mac, "%d:", len(m.Body))
	mac.Write(m.Body)
	mac.Write([]byte("\n"))
	return signatureVersion + hex.EncodeToString(mac.Sum(nil))
}

// Window is how far a message's time may be from the receiver's clock, either way.
const Window = 5 * time.Minute

// What Verify refuses.
var (
	errSignature = errors.New("the signature does not match")
	errTimestamp = errors.New(HeaderTimestamp + " must be an ISO 8601 time in UTC, such as 2026-01-31T12:00:00.000Z")
	errClock     = fmt.Errorf("%s is more than %v away from this side's clock", HeaderTimestamp, Window)
	errMessageID = errors.New(HeaderMessageID + " must be 1 to 64 letters, digits, dots, dashes or underscores")
)

// Verify tells whether a message is what the other side signed, just now. The time
// that it states is not 0 where the other side signed it, whenever that was.
func (s Secret) Verify(m Message, signature string, now ledger.Millis) (stated ledger.Millis, err error) {
	if !messageID(m.ID) {
		return 0, errMessageID
	}
	at, err := time.Parse(time.RFC3339Nano, m.Timestamp)
	if err != nil || !strings.HasSuffix(m.Timestamp, "Z") {
		return 0, errTimestamp
	}
	if !hmac.Equal([]byte(s.Sign(m)), []byte(signature)) {
		return 0, errSignature
	}
	if now.Time().Sub(at).Abs() > Window {
		err = errClock
	}
	return ledger.Millis(at.UnixMilli()), err
}

// messageID tells whether s has the form of a message's id.
func messageID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
