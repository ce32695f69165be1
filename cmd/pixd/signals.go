package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// served is what runs until a signal or a failure.
type served interface {
	Reload()
	Failed() <-chan error
	Shutdown() error
}

// signals are those of the operators: SIGTERM and SIGINT to stop, SIGHUP to read
// certificates again.
type signals struct{ stop, reload chan os.Signal }

// notified catches signals from now on, also while the process still starts.
func notified() signals {
	s := signals{make(chan os.Signal, 1), make(chan os.Signal, 1)}
	signal.Notify(s.stop, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(s.reload, syscall.SIGHUP)
	return s
}

// attend returns when it has been shut down: by a signal, or with why a listener ended.
func (s signals) attend(what served, log *slog.Logger) error {
	for {
		select {
		case sig := <-s.stop:
			log.Info("stopping", "signal", sig.String())
			return what.Shutdown()
		case <-s.reload:
			what.Reload()
		case err := <-what.Failed():
			return errors.Join(fmt.Errorf("a listener ended: %w", err), what.Shutdown())
		}
	}
}
