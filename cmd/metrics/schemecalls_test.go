package metrics

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// fixedAnswer is a scheme that answers every call with the same error.
type fixedAnswer struct {
	scheme.Unassigned
	err error
}

func (s *fixedAnswer) Submit(context.Context, scheme.Payment) (scheme.State, error) {
	return scheme.State{Progress: scheme.Pending}, s.err
}

func (s *fixedAnswer) DeregisterKey(context.Context, pix.Key, pix.AccountID) error {
	return s.err
}

func (s *fixedAnswer) Return(context.Context, scheme.Refund) (scheme.State, error) {
	return scheme.State{Progress: scheme.Settled}, s.err
}

// TestSchemeCallsCount checks that payments and refunds are counted apart, by their outcomes,
// and that what the scheme answers is passed on.
func TestSchemeCallsCount(t *testing.T) {
	under := &fixedAnswer{}
	s := NewSchemeCalls(under)
	refused := &scheme.Refused{Code: ledger.RefuseProvider}
	for n, err := range []error{nil, fmt.Errorf("wrapped: %w", refused), errors.New("connection reset")} {
		under.err = err
		for range n + 1 {
			if state, got := s.Return(t.Context(), scheme.Refund{}); !errors.Is(got, err) || state.Progress != scheme.Settled {
				t.Errorf("%+v %v, want %v", state, got, err)
			}
		}
		for range 2 * (n + 1) {
			if got := s.DeregisterKey(t.Context(), pix.Key{}, 7); !errors.Is(got, err) {
				t.Errorf("%v, want %v", got, err)
			}
		}
		if state, got := s.Submit(t.Context(), scheme.Payment{}); !errors.Is(got, err) || state.Progress != scheme.Pending {
			t.Errorf("%+v %v, want %v", state, got, err)
		}
	}
	for call, want := range map[string][3]uint64{"return": {1, 2, 3}, "submit": {1, 1, 1}, "ask": {}, "deregister_key": {2, 4, 6}} {
		for i, name := range callNames {
			for outcome := range outcomeNames {
				if got := s.counts[i][outcome].Load(); name == call && got != want[outcome] {
					t.Errorf("%s %s: %d, want %d", name, outcomeNames[outcome], got, want[outcome])
				}
			}
		}
	}
}
