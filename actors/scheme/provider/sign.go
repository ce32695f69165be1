package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"sync"
	"time"

	"pixd/actors/pix"
)

// The headers of every message. An answer has no message id of its own: its signature
// covers the id of the request.
const (
	HeaderTimestamp = "Pixd-Timestamp"
	HeaderMessageID = "Pixd-Message-Id"
	HeaderSignature = "Pixd-Signature"
)

// SecretBytes is the least length of a shared secret, in bytes.
const SecretBytes = 32

// Secret is the secret that both sides share. Formatting it never shows it.
type Secret struct {
	macs *sync.Pool // HMACs under the secret, which are used again: making one takes as long as a short message's signature
}

// NewSecret returns the shared secret s.
func NewSecret(s string) (Secret, error) {
	if len(s) < SecretBytes {
		return Secret{}, fmt.Errorf("the secret shared with the scheme must have at least %d bytes, and has %d", SecretBytes, len(s))
	}
	return Secret{&sync.Pool{New: func() any { return hmac.New(sha256.New, []byte(s)) }}}, nil
}

// String hides the secret.
func (Secret) String() string { return "***" }

// GoString hides the secret in %#v.
func (Secret) GoString() string { return "***" }

// Direction says who sends a message to whom, so that no message can be sent back to its
// sender as an answer.
type Direction string

// The directions of requests; an answer's direction is the request's with "-answer"
// appended.
const (
	ToScheme Direction = "to-scheme"
	ToEngine Direction = "to-engine"
)

func (d Direction) answer() Direction { return d + "-answer" }

// Message has every part of a message that its signature covers.
type Message struct {
	Direction Direction
	Method    string
	Path      string // path and query of the request, as they were sent
	Timestamp string
	ID        string
	Status    int // HTTP status of an answer; 0: the message is a request
	Body      []byte
}

const (
	signatureVersion = "v1="
	signatureDomain  = "pixd-scheme-1\n"
)

// Sign returns the value of HeaderSignature. Each part is preceded by its length in bytes,
// so that bytes cannot move between neighbouring parts.
func (s Secret) Sign(m Message) string {
	mac := s.macs.Get().(hash.Hash)
	defer s.macs.Put(mac)
	mac.Reset()
	status := ""
	if m.Status != 0 {
		status = strconv.Itoa(m.Status)
	}
	b := append(make([]byte, 0, 256), signatureDomain...)
	for _, part := range [...]string{string(m.Direction), m.Method, m.Path, m.Timestamp, m.ID, status} {
		b = append(strconv.AppendInt(b, int64(len(part)), 10), ':')
		b = append(append(b, part...), '\n')
	}
	mac.Write(append(strconv.AppendInt(b, int64(len(m.Body)), 10), ':'))
	mac.Write(m.Body)
	mac.Write([]byte("\n"))
	return signatureVersion + hex.EncodeToString(mac.Sum(b[:0]))
}

// Window is the largest difference, in either direction, between a message's time and the
// receiver's clock at which the message is accepted.
const Window = 5 * time.Minute

// The errors of Verify.
var (
	errSignature = errors.New("the signature does not match")
	errTimestamp = errors.New(HeaderTimestamp + " must be an ISO 8601 time in UTC, such as 2026-01-31T12:00:00.000Z")
	errClock     = fmt.Errorf("%s is more than %v away from this side's clock", HeaderTimestamp, Window)
	errMessageID = errors.New(HeaderMessageID + " must be 1 to 64 letters, digits, dots, dashes or underscores")
)

// Verify checks that the other side signed a message, and that its time is within Window of
// now. If the signature is valid, stated is the message's time, even if that is outside
// Window; otherwise stated is 0.
func (s Secret) Verify(m Message, signature string, now pix.Millis) (stated pix.Millis, err error) {
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
	return pix.Millis(at.UnixMilli()), err
}

// messageID reports whether s has the form of a message's id.
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
