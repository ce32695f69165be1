//go:build race

package httpapi

// timed is false: a test's times would be those of the race detector.
const timed = false
