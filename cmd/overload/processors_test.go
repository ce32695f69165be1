package overload

import (
	"runtime"
	"testing"
)

// TestProcessors checks that what keeps a machine busy follows its processors.
func TestProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for processors, want := range map[int][2]int{1: {320, 512}, 2: {640, 1024}, 8: {2560, 4096}, 64: {20480, 8192}} {
		runtime.GOMAXPROCS(processors)
		if got := [2]int{EnoughInHand(), ManyConnections()}; got != want {
			t.Errorf("%d processors: in hand and connections %v, want %v", processors, got, want)
		}
	}
}
