package engine

import (
	"net"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/cmd/overload"
)

// TestIntakeIsMeasured checks that an engine with many connections measures its intake, and that
// its admission learns of it.
func TestIntakeIsMeasured(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	if w.intake.Crowded() {
		t.Error("crowded with few connections")
	}
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for range overload.ManyConnections() + 1 {
		c, err := net.Dial("tcp", w.MerchantAddr.String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	w.becomes("many connections", 10*time.Second, w.intake.Crowded)
	w.becomes("learned by the admission", 10*time.Second, func() bool {
		w.intake.Late.Store(true)
		return w.admission.Late()
	})
	w.becomes("measured", 10*time.Second, func() bool { return !w.intake.Late.Load() })
	w.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test"}`)
}
