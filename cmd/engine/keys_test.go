package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/actors/scheme"
)

// pickyScheme is a scheme that refuses some keys.
type pickyScheme struct {
	scheme.Unassigned
	refuses  map[string]bool
	reported []string
}

func (p *pickyScheme) RegisterKey(_ context.Context, k ledger.Key, _ ledger.AccountID) error {
	p.reported = append(p.reported, k.Value)
	if p.refuses[k.Value] || p.refuses["all"] {
		return errors.New("no")
	}
	return nil
}

// TestRemindGoesOn checks that a key which the scheme refuses does not delay the other keys,
// that a pass ends when the scheme refuses every key, and that the next pass begins with the
// keys that were not reached.
func TestRemindGoesOn(t *testing.T) {
	var keys []*registry.PixKey
	for n := range 10 {
		keys = append(keys, &registry.PixKey{Key: fmt.Sprint("k", n), Type: ledger.KeyEVP, Account: 1})
	}
	s := &pickyScheme{refuses: map[string]bool{"k0": true, "k1": true, "k2": true, "k5": true}}
	r := &registrar{scheme: s, log: slog.New(slog.DiscardHandler), timeout: time.Second}
	names := func(keys []*registry.PixKey) (all []string) {
		for _, k := range keys {
			all = append(all, k.Key)
		}
		return all
	}
	left := r.pass(t.Context(), keys, r.remind)
	if got := names(left); !slices.Equal(got, []string{"k3", "k4", "k5", "k6", "k7", "k8", "k9", "k0", "k1", "k2"}) {
		t.Errorf("after three failures %v are left", got)
	}
	left = r.pass(t.Context(), left, r.remind)
	if got := names(left); !slices.Equal(got, []string{"k5", "k0", "k1", "k2"}) {
		t.Errorf("%v are left", got)
	}
	s.refuses = nil
	if left = r.pass(t.Context(), left, r.remind); len(left) != 0 {
		t.Errorf("%v are left", names(left))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.reported = nil
	if left = r.pass(ended, keys, r.remind); len(left) != 10 || len(s.reported) != 0 {
		t.Errorf("at the end %v were reported", s.reported)
	}
}
