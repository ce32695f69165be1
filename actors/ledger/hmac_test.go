package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"testing"

	"pgregory.net/rapid"
)

// TestHMAC checks hmac256 against the standard library, for secrets and messages shorter and
// longer than a block.
func TestHMAC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "secret")
		message := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "message")
		mac := hmac.New(sha256.New, secret)
		mac.Write(message)
		got := hmac256(secret, message)
		if !hmac.Equal(mac.Sum(nil), got[:]) {
			t.Fatal("another sum than crypto/hmac's")
		}
	})
}
