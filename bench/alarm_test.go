package bench

import (
	"sync"
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

// TestAlarmsAreFew checks that alarms are used again, that there is a most of them, and that a
// sleep without one is as long.
func TestAlarmsAreFew(t *testing.T) {
	t.Parallel()
	var all alarms
	var sleepers sync.WaitGroup
	for range 3 * mostAlarms {
		sleepers.Go(func() {
			for range 3 {
				began := time.Now()
				all.sleep(20 * time.Millisecond)
				if d := time.Since(began); d < 20*time.Millisecond {
					t.Errorf("slept for %v", d)
				}
			}
		})
	}
	sleepers.Wait()
	if len(all.free) != all.made || all.made < 1 || all.made > mostAlarms {
		t.Errorf("%d made, %d free", all.made, len(all.free))
	}
	all.close()
	if err := all.free[0].file.Close(); err == nil {
		t.Error("an alarm stayed open")
	}
}

// TestWhoHasAnAlarm checks that a load ends its waits by alarms, but not at high rates.
func TestWhoHasAnAlarm(t *testing.T) {
	t.Parallel()
	for rate, want := range map[int]int{1: 1, alarmedRate: 1, alarmedRate + 1: 0} {
		r := &running{Load: Load{Rate: rate}, ctx: t.Context()}
		began := time.Now()
		if !r.rest(2*time.Millisecond) || time.Since(began) < 2*time.Millisecond || r.alarms.made != want {
			t.Errorf("rate %d: %d alarms", rate, r.alarms.made)
		}
		r.alarms.close()
	}
}
