package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"

	"pixd/cmd/serving"
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

// during returns a context for a start, which a signal to stop ends. The start must call over
// when it has ended; a signal that came in between is met by attend.
func (s signals) during(parent context.Context) (ctx context.Context, over func()) {
	ctx, cancel := context.WithCancel(parent)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case sig := <-s.stop:
			select {
			case s.stop <- sig:
			default: // another signal came meanwhile
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-ended }
}

// ended returns nil where a start ended because of a signal and everything is closed, and its
// error else.
func (s signals) ended(err error, log *slog.Logger) error {
	if !serving.Stopped(err) {
		return err
	}
	select {
	case sig := <-s.stop:
		log.Info("stopped during the start: everything is closed", "signal", sig.String())
	default:
	}
	return nil
}

// attend waits until a signal or a failed listener ends the server, and returns when the
// server has been shut down.
func (s signals) attend(what served, log *slog.Logger) error {
	for {
		select {
		case sig := <-s.stop:
			log.Info("stopping", "signal", sig.String())
			announce(daemon.SdNotifyStopping, log)
			return what.Shutdown()
		case <-s.reload:
			what.Reload()
		case err := <-what.Failed():
			return errors.Join(fmt.Errorf("a listener ended: %w", err), what.Shutdown())
		}
	}
}
