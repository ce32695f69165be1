package etcdlog

import (
	"fmt"
	"testing"

	"pixd/wal"
	"pixd/wal/waltest"
)

// TestLog runs the contract on a member in this process. Each test has keys of its own.
func TestLog(t *testing.T) {
	m := start(t, options(t, 1))[0]
	for i, c := range waltest.LogContract() {
		t.Run(c.Name, func(t *testing.T) {
			c.Run(t, func() wal.Log { return m.under(fmt.Sprintf("%d/", i)) })
		})
	}
}
