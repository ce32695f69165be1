package main

import (
	"log/slog"

	"github.com/coreos/go-systemd/v22/daemon"
)

// announce tells systemd that the engine serves, or that it stops. Without systemd it does
// nothing.
func announce(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("the service manager could not be told", "state", state, "error", err)
	}
}
