// Package engine puts the rooms together: it alone, with the commands, knows
// everyone. It hands clock and chance inwards, opens the journal, restores what
// must be there before the first request, connects the scheme, and listens.
package engine

import (
	"log/slog"
	"net/netip"
	"time"

	"pixd/wal"
)

// Config is what `pixd serve` is told by its flags; the zero value of a field
// stands for the default that Defaults states.
type Config struct {
	DataDir     string
	Listen      string // merchant API
	AdminListen string // operator API, health
	AdminToken  string // empty: read from, or made into, <data-dir>/admin.token
	ISPB        string // the service's own, 8 digits

	TrustedProxies []netip.Prefix
	Scheme         string // "sim"
	SimDir         string // empty: <data-dir>/sim
	SettleDelay    time.Duration
	SchemeTimeout  time.Duration
	OrphanAfter    time.Duration

	FS        wal.FS // nil: the disk
	Log       *slog.Logger
	OnFailure func(error) // the journal has failed: nothing more is answered
}

// Defaults are those of the command line.
func Defaults() Config {
	return Config{
		DataDir: "./pixd-data", Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:8081",
		ISPB: "99999004", Scheme: "sim", SettleDelay: 200 * time.Millisecond,
		SchemeTimeout: 10 * time.Second, OrphanAfter: 30 * time.Minute,
	}
}
