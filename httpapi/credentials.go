package httpapi

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"

	"pixd/actors/registry"
)

const (
	missingCredentials = "Missing API key credentials"
	invalidCredentials = "Invalid API key credentials"
	inactiveKey        = "API key is inactive"
	expiredKey         = "API key has expired"
)

// readCredentials splits an Authorization header, in the form ApiKey or Basic, into client id
// and secret. If it cannot, message says why; otherwise message is empty. The secret is valid
// only during the request.
func readCredentials(header []byte) (id string, secret []byte, message string) {
	scheme, rest, _ := bytes.Cut(bytes.TrimSpace(header), []byte(" "))
	rest = bytes.TrimSpace(rest)
	switch {
	case bytes.EqualFold(scheme, []byte("ApiKey")):
	case bytes.EqualFold(scheme, []byte("Basic")):
		plain, err := base64.StdEncoding.AppendDecode(nil, rest)
		if err != nil {
			return "", nil, invalidCredentials
		}
		rest = plain
	default:
		return "", nil, missingCredentials
	}
	name, secret, found := bytes.Cut(rest, []byte(":"))
	if !found || len(name) == 0 || len(secret) == 0 {
		return "", nil, invalidCredentials
	}
	return string(name), secret, ""
}

// nobody stands in for the API key of an unknown client id: comparing the secret with the
// hash in nobody makes the answer take as long as for a wrong secret. No secret has that
// hash.
var nobody registry.APIKey

// authenticate returns the API key, or the message with which the request is refused. Only a
// request with the right secret is told that the key is inactive or expired.
func (s *service) authenticate(id string, secret []byte) (*registry.APIKey, string) {
	key, known := s.Registry.APIKey(id)
	if !known {
		key = &nobody
	}
	hash := sha256.Sum256(secret)
	matches := subtle.ConstantTimeCompare(hash[:], key.SecretHash[:]) == 1
	now := s.Now()
	switch {
	case !known || !matches:
		return nil, invalidCredentials
	case !key.Active:
		return nil, inactiveKey
	case key.ExpiresAt != 0 && key.ExpiresAt <= now:
		return nil, expiredKey
	}
	return key, ""
}
