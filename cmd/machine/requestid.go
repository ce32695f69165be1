package machine

import (
	"encoding/binary"
	"encoding/hex"
	mrand "math/rand/v2"
)

// RequestID returns an id that no other request has, of this process or another: 24 hexadecimal digits by
// chance, which tell nobody how many requests there are. Any goroutine may call it.
func RequestID() string {
	var b [12]byte
	binary.BigEndian.PutUint64(b[:], mrand.Uint64())
	binary.BigEndian.PutUint32(b[8:], mrand.Uint32())
	return hex.EncodeToString(b[:])
}
