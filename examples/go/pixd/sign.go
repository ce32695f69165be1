// Package pixd is a client of the merchant API: types for every resource, made from its OpenAPI document, and the two
// signatures. It needs the standard library alone; copy the folder into a program of your own.
package pixd

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Sign returns the header hmac of a body whose keys are in alphabetical order at every level.
func Sign(clientSecret string, body []byte) string {
	mac := hmac.New(sha512.New, []byte(clientSecret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// canonical returns fields as JSON with the keys of every object in alphabetical order. Nil is {}.
func canonical(fields any) ([]byte, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // else numbers became floats
	object := map[string]any{}
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if object == nil { // fields was nil
		object = map[string]any{}
	}
	return json.Marshal(object) // a map's keys are written in order
}

// tolerance is how old, or how far ahead, the timestamp of a webhook may be.
const tolerance = 5 * time.Minute

// Verify returns an error unless the engine signed a webhook: headers and body as they came, and the secret of the
// subscription (whsec_…).
func Verify(secret string, headers http.Header, body []byte, now time.Time) error {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := now.Sub(time.Unix(seconds, 0)); err != nil || age > tolerance || age < -tolerance {
		return errors.New("pixd: the webhook's timestamp is missing, too old, or ahead")
	}
	want, err := WebhookSignature(secret, id, timestamp, body)
	if err != nil {
		return err
	}
	for _, signature := range strings.Fields(headers.Get("webhook-signature")) { // several after a change of the secret
		if hmac.Equal([]byte(signature), []byte(want)) {
			return nil
		}
	}
	return errors.New("pixd: the webhook's signature is wrong")
}

// WebhookSignature returns the header webhook-signature that belongs to a webhook.
func WebhookSignature(secret, id, timestamp string, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return "", errors.New("pixd: a webhook's secret is whsec_ and base64")
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
