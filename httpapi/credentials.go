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

// readCredentials takes either form of the Authorization header apart; the
// message is why it cannot. Both parts end with the request.
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

// nobody is compared with where a client id is unknown, so that the answer takes
// as long as for a wrong secret. No secret has this hash.
var nobody registry.APIKey

// authenticate finds the key. What is wrong with the key itself is told only to
// who has its secret.
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
