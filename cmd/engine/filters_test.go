package engine

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
)

// TestFiltersAreFilled checks that soon after a start neither a new payout nor a free
// end-to-end id of a merchant's own reads the store, whereas what was made before the start is found.
func TestFiltersAreFilled(t *testing.T) {
	c := crashConfig(vfs.NewMem())
	const reserved, free = "E9999900420261029120000000000001", "E9999900420261029120000000000002"
	for _, started := range []string{"first", "again"} {
		e, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if started == "first" {
			ids, err := populate(e)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := e.Registry.ReserveEndToEnd(ids[0], reserved); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		filled := func() bool { return !e.present.MayHave(layout.EndToEndKey(free)) && !e.Registry.MayBeReserved(free) }
		for end := time.Now().Add(5 * time.Second); !filled() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		if present, taken := e.present.MayHave(layout.EndToEndKey(free)), e.Registry.MayBeReserved(free); present || taken {
			t.Errorf("%s: a free id may have a payout %v, and a reservation %v", started, present, taken)
		}
		if !e.Registry.MayBeReserved(reserved) {
			t.Errorf("%s: a reservation is not found", started)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		c.alerts = nil
	}
}
