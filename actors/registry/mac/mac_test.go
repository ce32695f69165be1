package mac

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"testing"

	"pgregory.net/rapid"
)

func expected(secret, message []byte) []byte {
	h := hmac.New(sha512.New, secret)
	h.Write(message)
	return h.Sum(nil)
}

// TestLengths compares secrets and messages of all lengths around a block's, 128 bytes, with
// crypto/hmac, in one Hash and in new ones.
func TestLengths(t *testing.T) {
	var used Hash
	text := bytes.Repeat([]byte("\x00pixd\xff"), 60)
	for secret := range 300 {
		key := NewKey(text[:secret])
		for _, message := range []int{0, 1, 63, 64, 111, 112, 127, 128, 129, 255, 256, 257} {
			want := expected(text[:secret], text[:message])
			if got := used.Sum(key, text[:message]); !bytes.Equal(got, want) {
				t.Fatalf("secret of %d bytes, message of %d: %x", secret, message, got)
			}
			if got := new(Hash).Sum(key, text[:message]); !bytes.Equal(got, want) {
				t.Fatalf("secret of %d bytes, message of %d, new hash: %x", secret, message, got)
			}
		}
	}
}

// TestTwoKeys checks that what one key leaves in a Hash does not change another's sums.
func TestTwoKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Hash
		secrets := rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 2, 4).Draw(t, "secrets")
		for range 4 {
			for _, secret := range secrets {
				message := rapid.SliceOf(rapid.Byte()).Draw(t, "message")
				if got := h.Sum(NewKey(secret), message); !bytes.Equal(got, expected(secret, message)) {
					t.Fatalf("secret %x, message %x: %x", secret, message, got)
				}
			}
		}
	})
}

func TestSumAllocatesNothing(t *testing.T) {
	var h Hash
	key, message := NewKey([]byte("secret")), make([]byte, 150)
	if n := testing.AllocsPerRun(100, func() { h.Sum(key, message) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
