//go:build !linux

package machine

import (
	"time"

	"pixd/actors/ledger"
)

// elapsed returns the time since the process started: it does not jump, and on some systems
// stops while the machine is suspended.
func elapsed(process func() time.Duration) func() ledger.Millis {
	return func() ledger.Millis { return ledger.Millis(process() / time.Millisecond) }
}
