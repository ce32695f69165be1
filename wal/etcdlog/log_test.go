package etcdlog

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"pixd/wal"
	"pixd/wal/waltest"
)

// TestLog runs the contract on a member in this process, which leaves no goroutine. Each test has
// keys of its own.
func TestLog(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	m := start(t, options(t, 1))[0]
	for i, c := range waltest.LogContract() {
		t.Run(c.Name, func(t *testing.T) {
			c.Run(t, func() wal.Log { return m.under(fmt.Sprintf("%d/", i)) })
		})
	}
}
