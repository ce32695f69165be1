package wal

import "time"

// WithPatience sets how long Close waits for reads, and for a Log.
func (o Options) WithPatience(d time.Duration) Options {
	o.readPatience = d
	return o
}
