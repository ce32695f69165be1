package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCaseRelease checks that an agreed case gives up what it still holds 90 days after the
// scheme's date of its payment, and at once where it is closed later than that.
func TestCaseRelease(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	c := newClocks()
	w := newHarness(t, fs, func(o *Config) { o.Clocks = c.sources() })
	ago := func(d time.Duration) string {
		return fmt.Sprintf(`,"paid_at":%q`, time.Now().Add(-d).UTC().Format(time.RFC3339Nano))
	}
	const returnable = 90 * 24 * time.Hour
	soon := w.receives(90_000, ago(returnable-time.Minute))
	late := w.receives(80_000, ago(returnable+time.Second))
	w.spends(11_700)
	_, k := w.reports(soon, 90_000)
	if status, got := w.analysed(k.ID, "AGREED"); status != 200 {
		t.Errorf("%d %s", status, got)
	}
	w.caseIs(k.ID, "closed AGREED 90000 held 90000 covered 0 refunded 0")
	c.pass(time.Minute)
	w.caseIs(k.ID, "closed AGREED 90000 held 0 covered 0 refunded 0")
	w.made("/admin/accounts/"+w.ID+"/credits", `{"amount":30000,"type":"ted"}`)
	w.moneyIs(30_000, 30_000, 0)

	_, k = w.reports(late, 80_000)
	if status, got := w.analysed(k.ID, "AGREED"); status != 200 {
		t.Errorf("%d %s", status, got)
	}
	w.caseIs(k.ID, "closed AGREED 80000 held 0 covered 0 refunded 30000")
	w.moneyIs(0, 0, 0)
	w.made("/admin/accounts/"+w.ID+"/credits", `{"amount":30000,"type":"ted"}`)
	w.moneyIs(30_000, 30_000, 0)
	w.agrees(30_000)
	if err := verifyAtRest(w, fs); err != nil {
		t.Error(err)
	}
}
