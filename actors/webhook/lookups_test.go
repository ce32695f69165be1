package webhook

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// TestLookupsShared checks that Check resolves 32 names at once, and two of them for one
// account, and that a look-up gives its place back however it ends.
func TestLookupsShared(t *testing.T) {
	for name, resolve := range map[string]func(context.Context, string) ([]netip.Addr, error){
		"an answer": func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return []netip.Addr{netip.MustParseAddr(public4)}, nil
		},
		"no answer": func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			targets := NewTargets(false, resolve)
			for range 2 { // the second time in the places that the first gave back
				var all sync.WaitGroup
				begin := func(id pix.AccountID) {
					all.Go(func() {
						if err := targets.Check(context.Background(), id, "https://merchant.example/"); errors.Is(err, ledger.ErrBusy) {
							t.Errorf("%s: account %d has no place", name, id)
						}
					})
					synctest.Wait()
				}
				refused := func(id pix.AccountID) {
					t.Helper()
					if err := targets.Check(context.Background(), id, "https://merchant.example/"); !errors.Is(err, ledger.ErrBusy) {
						t.Errorf("%s: account %d is not refused: %v", name, id, err)
					}
				}
				begin(1)
				begin(1)
				refused(1)
				for id := pix.AccountID(2); id <= 15; id++ {
					begin(id)
					begin(id)
				}
				begin(16)
				begin(17) // the last place
				refused(16)
				refused(18)
				if n := targets.Lookups(); n.InUse != maxLookups || n.Refused == 0 || n.Refused%3 != 0 {
					t.Errorf("%s: %+v", name, n)
				}
				all.Wait()
				if n := targets.Lookups(); n.InUse != 0 {
					t.Errorf("%s: %d places are taken", name, n.InUse)
				}
			}
		})
	}
}
