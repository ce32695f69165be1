package engine

import (
	"os"
	"runtime/debug"
)

// heapGrowth is how far, in percent, the heap may grow past what is alive
// before it is collected. What is alive is small (accounts' heads) and what is
// made per request is short-lived, so collecting rarely costs little memory.
const heapGrowth = 400

// Tune sets the process up for an engine, unless GOGC says otherwise.
func Tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
