package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// served is a server that runs until a signal arrives or a listener fails.
type served interface {
	Reload()
	Failed() <-chan error
	Shutdown() error
}

// signals are the signals of operators: SIGTERM and SIGINT to stop, SIGHUP to read
// certificates again.
type signals struct{ stop, reload chan os.Signal }

// notified catches signals from now on, including those that arrive while the process starts.
func notified() signals {
	s := signals{make(chan os.Signal, 1), make(chan os.Signal, 1)}
	signal.Notify(s.stop, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(s.reload, syscall.SIGHUP)
	return s
}

// attend waits until a signal or a failed listener ends the server, and returns when the
// server has been shut down.
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
