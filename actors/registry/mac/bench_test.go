package mac

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"fmt"
	"testing"
)

// BenchmarkSum measures the signature of a message under a key that was made before.
func BenchmarkSum(b *testing.B) {
	secret := []byte("sk_the-secret-of-an-api-key-with-40-bytes")
	key := NewKey(secret)
	for _, size := range []int{150, 4096} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			message := bytes.Repeat([]byte("x"), size)
			check := hmac.New(sha512.New, secret)
			check.Write(message)
			var h Hash
			var got []byte
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				got = h.Sum(key, message)
			}
			if !hmac.Equal(got, check.Sum(nil)) {
				b.Fatalf("%x", got)
			}
		})
	}
}

// BenchmarkNewKey measures what the first request under an API key does for the key.
func BenchmarkNewKey(b *testing.B) {
	secret := []byte("sk_the-secret-of-an-api-key-with-40-bytes")
	b.ReportAllocs()
	for b.Loop() {
		if NewKey(secret) == nil {
			b.Fatal("no key")
		}
	}
}
