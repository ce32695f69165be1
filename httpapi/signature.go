package httpapi

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"errors"
)

// sigResult is the outcome of check 5, the request signature. Its zero value is
// none of them, so that a forgotten result lets nobody in.
type sigResult int

// The outcomes, in the order in which they are found.
const (
	sigMissingHeader sigResult = iota + 1 // 401 Missing HMAC header
	sigNoSecret                           // 403 HMAC secret not configured for this API key
	sigEmptyBody                          // 400 Request body is required for HMAC validation
	sigUnusableBody                       // 400 Request body must be valid JSON for HMAC validation
	sigMismatch                           // 401 Invalid HMAC signature
	sigValid
)

// verify judges the hmac header of a POST over its body, both as sent.
// header is empty where it is missing. secret is the secret that the request's
// credentials presented, empty where the API key does not sign. camel says that
// the request carries X-Key-Case: camelCase, and aliases which spellings of keys
// may then fall together (see checkForms).
//
// Accepted is, in lower-case hexadecimal, the HMAC-SHA512 of the canonical form;
// also of the raw body where its keys stand in canonical order, at every level, or
// where camel is set. The error is an *Unusable with sigUnusableBody, to be logged,
// and nil with all others. Where the body was read, fields has it then.
func (c *canonicaliser) verify(secret, body []byte, header string, camel bool, aliases []string) (sigResult, error) {
	switch {
	case header == "":
		return sigMissingHeader, nil
	case len(secret) == 0:
		return sigNoSecret, nil
	case len(body) == 0:
		return sigEmptyBody, nil
	}
	form, err := c.run(c.room[:0], body, camel, aliases)
	if err != nil {
		return sigUnusableBody, err
	}
	c.room = form
	if c.signed(secret, body, form, header, camel || c.sorted) {
		return sigValid, nil
	}
	return sigMismatch, nil
}

// signed reports whether header is the signature of form, body's canonical form,
// or of body itself where raw allows it. That comes first: most clients sign the
// bytes they send, and where both are the same bytes there is one HMAC to compute.
func (c *canonicaliser) signed(secret, body, form []byte, header string, raw bool) bool {
	var want [sha512.Size]byte
	if !decodeSignature(&want, header) {
		return false
	}
	mac := hmac.New(sha512.New, secret)
	if raw {
		mac.Write(body)
		if hmac.Equal(mac.Sum(c.sum[:0]), want[:]) {
			return true
		}
		if bytes.Equal(body, form) {
			return false
		}
		mac.Reset()
	}
	mac.Write(form)
	return hmac.Equal(mac.Sum(c.sum[:0]), want[:])
}

// decodeSignature reads 128 lower-case hexadecimal digits; anything else is no
// signature.
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

// ErrNoSecret is Sign's refusal of an empty secret, which would sign for anybody.
var ErrNoSecret = errors.New("the signing secret is empty")

// Sign returns the value of the hmac header for a POST of body, 128 lower-case
// hexadecimal digits: the HMAC-SHA512, keyed with secret, of the body's canonical
// form, or with camel (for requests with X-Key-Case: camelCase) of the body as it
// is, to the last line break, because so it must then be sent. The error is
// ErrNoSecret, or an *Unusable for a body that no server could verify.
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
	mac := hmac.New(sha512.New, secret)
	mac.Write(form)
	return hex.EncodeToString(mac.Sum(nil)), nil
}
