package overload

import (
	"runtime"

	"pixd/httpapi"
)

// What one processor needs or does; measured on two, which the sender of the load shared.
const (
	// processorInHand is how many requests in hand keep a processor busy: while requests wait too
	// long to be read, those beyond it are refused. The more there are, the less often the engine
	// looks for what has arrived. At twice the peak, five loads of each: with 192 for each
	// processor 72 % of the peak was carried out, with 256 79 %, with 320 91 %. docs/decisions.md
	// has what each left unanswered.
	processorInHand = 320
	// processorConnections is how many connections one processor answers within some 100 ms, if
	// each sends its next request when it has its answer.
	processorConnections = 512
	// processorGarbage is the number of bytes by which the heap may grow between two collections,
	// for each processor; see Tune.
	processorGarbage = 32 << 20
)

// EnoughInHand returns how many requests keep this machine's processors busy.
func EnoughInHand() int { return processorInHand * runtime.GOMAXPROCS(0) }

// ManyConnections returns how many connections, or fewer, are never crowded on this machine. It is
// at most half of the requests that may be in hand, so that any machine measures its intake in time.
func ManyConnections() int {
	return min(processorConnections*runtime.GOMAXPROCS(0), httpapi.MaxInHand/2)
}
