package sim

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
)

// TestReturnsUnderWay checks that a return which has not settled yet is listed as open.
func TestReturnsUnderWay(t *testing.T) {
	at := goldenNoon
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.SettleDelay, o.Now = time.Second, func() pix.Millis { return at } })
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	paid := paidAt(t, s, 0, 100)
	if _, err := s.Return(t.Context(), returning(at, paid, "FR01", 40)); err != nil {
		t.Fatal(err)
	}
	for _, open := range []bool{true, false} {
		if all, err := s.Returns(t.Context(), 7, paid); err != nil || len(all) != 1 || all[0].Open != open {
			t.Errorf("want open %v: %+v (%v)", open, all, err)
		}
		at += 1000
	}
}
