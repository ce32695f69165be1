//go:build !race

package httpapi

const timed = true
