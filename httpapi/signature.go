package httpapi

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"errors"
)

// sigResult is the outcome of check 5, the request signature. Its zero value is not an
// outcome, so that a result which was never set does not pass the check.
type sigResult int

// The outcomes, in the order in which verify checks for them.
const (
	sigMissingHeader sigResult = iota + 1 // 401 Missing HMAC header
	sigNoSecret                           // 403 HMAC secret not configured for this API key
	sigEmptyBody                          // 400 Request body is required for HMAC validation
	sigUnusableBody                       // 400 Request body must be valid JSON for HMAC validation
	sigMismatch                           // 401 Invalid HMAC signature
	sigValid
)

// verify checks the hmac header of a POST against its body, both as they were sent. header is
// empty if the request has none. secret is the one from the request's credentials, nil
// if the API key does not sign. camel says that the request has X-Key-Case: camelCase, and
// aliases are the spellings of keys that may then have the same form (see checkForms).
//
// A valid header is, in lower-case hexadecimal, the HMAC-SHA512 of the body's canonical form.
// The HMAC-SHA512 of the raw body is valid too if all keys of the body are in canonical
// order, or if camel is set. The error is an *Unusable, to be logged, with sigUnusableBody,
// and nil with all other results. After sigValid and sigMismatch, fields returns the body's
// fields.
func (c *canonicaliser) verify(secret, body []byte, header string, camel bool, aliases []string) (sigResult, error) {
	switch {
	case header == "":
		return sigMissingHeader, nil
	case secret == nil:
		return sigNoSecret, nil
	case len(body) == 0:
		return sigEmptyBody, nil
	}
	form, err := c.run(c.room[:0], body, camel, aliases)
	if err != nil {
		return sigUnusableBody, err
	}
	c.room = form
	if isSigned(secret, body, form, header, camel || c.sorted) {
		return sigValid, nil
	}
	return sigMismatch, nil
}

// isSigned reports whether header is the signature of form, which is body's canonical form, or,
// if raw allows it, of body itself. It tries body first: most clients sign the bytes that
// they send, and if form and body are the same bytes only one HMAC is computed.
func isSigned(secret, body, form []byte, header string, raw bool) bool {
	var want [sha512.Size]byte
	if !decodeSignature(&want, header) {
		return false
	}
	var sum [sha512.Size]byte
	mac := hmac.New(sha512.New, secret)
	if raw {
		mac.Write(body)
		if hmac.Equal(mac.Sum(sum[:0]), want[:]) {
			return true
		}
		if bytes.Equal(body, form) {
			return false
		}
	}
	mac.Reset()
	mac.Write(form)
	return hmac.Equal(mac.Sum(sum[:0]), want[:])
}

// decodeSignature reads 128 lower-case hexadecimal digits into sum; it returns false for
// any other header.
func decodeSignature(sum *[sha512.Size]byte, header string) bool {
	if len(header) != 2*len(sum) {
		return false
	}
	for i := range len(header) {
		var d byte
		switch b := header[i]; {
		case digit(b):
			d = b - '0'
		case b >= 'a' && b <= 'f':
			d = b - 'a' + 10
		default:
			return false
		}
		sum[i/2] = sum[i/2]<<4 | d
	}
	return true
}

// ErrNoSecret is Sign's error for an empty secret, with which anybody could sign.
var ErrNoSecret = errors.New("the signing secret is empty")

// Sign returns the value of the hmac header for a POST of body, 128 lower-case hexadecimal
// digits: the HMAC-SHA512, keyed with secret, of the body's canonical form. With camel (for
// requests with X-Key-Case: camelCase) it is the HMAC of body as it is, and body must then
// be sent unchanged, to the last line break. The error is ErrNoSecret, or an *Unusable for
// a body that no server could verify.
func Sign(secret, body []byte, camel bool) (string, error) {
	if len(secret) == 0 {
		return "", ErrNoSecret
	}
	form, err := Canonical(body)
	if err != nil {
		return "", err
	}
	if camel {
		form = body
	}
	sum := hmac.New(sha512.New, secret)
	sum.Write(form)
	return hex.EncodeToString(sum.Sum(nil)), nil
}
