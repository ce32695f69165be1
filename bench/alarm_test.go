package bench

import (
	"testing"
	"time"
)

// TestAlarmsAreOnTime checks that no alarm is early, and that alarms are not late by nature: of
// many, one at least is on time, however busy the machine is.
func TestAlarmsAreOnTime(t *testing.T) {
	var all alarms
	defer all.close()
	best := time.Hour
	for range 200 {
		const nap = 300 * time.Microsecond
		began := time.Now()
		all.sleep(nap)
		late := time.Since(began) - nap
		if late < 0 {
			t.Fatalf("%v early", -late)
		}
		best = min(best, late)
	}
	if best > 300*time.Microsecond {
		t.Errorf("each alarm was late, by %v at least", best)
	}
	all.sleep(0)
	all.sleep(-time.Second)
}
