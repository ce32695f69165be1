// Package mac computes HMAC-SHA512 (RFC 2104) with secrets that sign many messages. A secret
// stands in a block of its own before the message and before the first sum. crypto/hmac
// hashes these two blocks for each message; here they are hashed once, for a Key, which is
// small enough to be kept for each of a hundred thousand secrets.
package mac

import (
	"crypto/sha512"
	"encoding"
	"hash"
)

// Key is a secret with which messages are signed, as SHA-512's states behind the secret's
// two blocks. It does not change. Whoever has it can sign as with the secret.
type Key struct{ inner, outer [sha512.Size]byte }

// digest is what crypto/sha512's hash can do.
type digest interface {
	hash.Hash
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// A stored state of SHA-512 begins with four bytes that name the hash. Then the state
// itself comes, then the bytes since the last whole block and the message's length.
const stateStart = 4

// NewKey returns the key of a secret of any length.
func NewKey(secret []byte) *Key {
	var block [sha512.BlockSize]byte
	if len(secret) > len(block) {
		sum := sha512.Sum512(secret)
		secret = sum[:]
	}
	copy(block[:], secret)
	k := new(Key)
	for _, half := range []struct {
		state *[sha512.Size]byte
		pad   byte
	}{{&k.inner, 0x36}, {&k.outer, 0x36 ^ 0x5c}} {
		for i := range block {
			block[i] ^= half.pad // the second time from the first pad to the other
		}
		copy(half.state[:], after(block[:])[stateStart:])
	}
	return k
}

// after returns the stored state of SHA-512 behind a block.
func after(block []byte) []byte {
	d := sha512.New().(digest)
	d.Write(block)
	state, err := d.AppendBinary(nil)
	if err != nil {
		panic(err) // it never fails
	}
	return state
}

// oneBlock is a stored state behind one block, whichever: all such states differ in the
// state itself alone.
var oneBlock = after(make([]byte, sha512.BlockSize))

// Hash has the room in which signatures are computed. Its zero value is ready; it is for
// one goroutine at a time.
type Hash struct {
	digest digest
	state  []byte
	sum    [sha512.Size]byte
}

// Sum returns the HMAC-SHA512 of message, which the next call overwrites.
func (h *Hash) Sum(k *Key, message []byte) []byte {
	if h.digest == nil {
		h.digest, h.state = sha512.New().(digest), append([]byte(nil), oneBlock...)
	}
	h.resume(&k.inner)
	h.digest.Write(message)
	first := h.digest.Sum(h.sum[:0])
	h.resume(&k.outer)
	h.digest.Write(first)
	return h.digest.Sum(h.sum[:0])
}

func (h *Hash) resume(state *[sha512.Size]byte) {
	copy(h.state[stateStart:], state[:])
	if err := h.digest.UnmarshalBinary(h.state); err != nil {
		panic(err) // it is a state of the same hash
	}
}
