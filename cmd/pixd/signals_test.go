package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"pixd/cmd/serving"
)

// TestStartEnded checks that a start which a signal ended is no error, and that an error of closing what
// it had opened is returned, without the words that everything is closed.
func TestStartEnded(t *testing.T) {
	closing := errors.New("close: disk full")
	for name, c := range map[string]struct {
		err  error
		lost bool
	}{
		"stopped":    {errors.Join(serving.ErrStopped, nil), true},
		"not closed": {errors.Join(serving.ErrStopped, closing), false},
		"failed":     {closing, false},
	} {
		s := signals{stop: make(chan os.Signal, 1)}
		s.stop <- syscall.SIGTERM
		var log bytes.Buffer
		err := s.ended(c.err, slog.New(slog.NewTextHandler(&log, nil)))
		if (err == nil) != c.lost || !c.lost && !errors.Is(err, closing) || strings.Contains(log.String(), "everything is closed") != c.lost {
			t.Errorf("%s: %v, %s", name, err, log.String())
		}
	}
}
