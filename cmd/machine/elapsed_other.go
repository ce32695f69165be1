//go:build !linux

package machine

import (
	"time"

	"pixd/actors/pix"
)

// elapsed returns the time since the process started: it does not jump, and on some systems
// stops while the machine is suspended.
func elapsed(process func() time.Duration) func() pix.Millis {
	return func() pix.Millis { return pix.Millis(process() / time.Millisecond) }
}
