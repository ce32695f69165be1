package serving

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestStoppedHidesNoError checks that a start which was stopped counts as stopped only where nothing
// else failed, and that another's cancelled context does not count.
func TestStoppedHidesNoError(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	closing := errors.New("close: disk full")
	cancelled := fmt.Errorf("wal: open data: %w", fmt.Errorf("store: %w", context.Canceled))
	for name, c := range map[string]struct {
		ctx           context.Context
		start, closed error
		stopped       bool
	}{
		"stopped":                    {over, cancelled, nil, true},
		"stopped, twice told":        {over, errors.Join(cancelled, context.Canceled), nil, true},
		"stopped, and not closed":    {over, cancelled, closing, false},
		"stopped, and not let go":    {over, fmt.Errorf("wal: open data: %w", errors.Join(context.Canceled, closing)), nil, false},
		"failed when it was to stop": {over, closing, nil, false},
		"nothing stops it":           {nil, cancelled, nil, false},
		"it is not to stop":          {t.Context(), cancelled, nil, false},
		"its time is over, no more":  {over, context.DeadlineExceeded, nil, false},
	} {
		err := errors.Join(Ended(c.ctx, c.start), c.closed)
		if Stopped(err) != c.stopped {
			t.Errorf("%s: %v", name, err)
		}
		for _, lost := range []error{closing, context.DeadlineExceeded} {
			if (errors.Is(c.start, lost) || errors.Is(c.closed, lost)) && !errors.Is(err, lost) {
				t.Errorf("%s: the error is lost in %v", name, err)
			}
		}
	}
	if Stopped(nil) {
		t.Error("a start that did not fail counts as stopped")
	}
}
