//go:build race

package qr

// timed is false under the race detector, because a test would measure the detector's own
// time.
const timed = false
