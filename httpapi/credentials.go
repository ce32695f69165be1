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

// readCredentials splits an Authorization header, in the form ApiKey or Basic, into client
// id and secret. A message that is not empty says why it cannot. The secret is valid only
// during the request.
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

// nobody takes the key's place where a client id is unknown: comparing the secret with its
// hash makes the answer take as long as for a wrong secret. No secret has this hash.
var nobody registry.APIKey

// authenticate returns the API key, or the message to refuse the request with. Only a
// request with the right secret learns that the key is inactive or expired.
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
