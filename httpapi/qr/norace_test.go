//go:build !race

package qr

const timed = true
