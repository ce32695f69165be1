//go:build race

package httpapi

// timed is false where what is measured is the race detector.
const timed = false
