package machine

import (
	"encoding/hex"
	"strconv"
	"sync/atomic"
)

var requests struct {
	process string // makes the ids of this process differ from those of every other one
	made    atomic.Uint64
}

func init() { requests.process = hex.EncodeToString(Secret(6)) + "-" }

// RequestID returns an id that no other request has, of this process or another: 14 to 33 bytes of
// hexadecimal digits, a hyphen and a number. Any goroutine may call it.
func RequestID() string {
	var room [40]byte
	return string(strconv.AppendUint(append(room[:0], requests.process...), requests.made.Add(1), 10))
}
