package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/registry"
)

const takenID = `{"errors":{"bad_request":{"end_to_end_id":["end_to_end_id is used already"]}}}`

// naming returns the body of a payout request with an end-to-end id that the merchant chose.
// The id's minute is now less ago, and its last 11 characters are suffix.
func naming(ago time.Duration, suffix string) string {
	id := "E99999004" + time.Now().UTC().Add(-ago).Format("200601021504") + suffix
	return fmt.Sprintf(`{"amount":500,"end_to_end_id":%q,"pix_key":"settle-now@pix.test"}`, id)
}

// atOnce lets several merchants post the same body at the same time, three times each.
func atOnce(merchants []*harness, body string, answered func(m int, status int, got string)) {
	var work sync.WaitGroup
	start := make(chan struct{})
	for m := range merchants {
		for range 3 {
			work.Go(func() {
				<-start
				status, got := merchants[m].cashOut(body)
				answered(m, status, got)
			})
		}
	}
	close(start)
	work.Wait()
}

// TestNamedIDs checks that an account may not choose an end-to-end id with a suffix that the
// engine derived for another account, and that of several accounts which choose the same free
// id exactly one gets it, also when they repeat the request and after a power cut.
func TestNamedIDs(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	third := newHarness(t, disk)
	merchants := []*harness{third.another(), third.another(), third.another()}
	derived := third.paidOut(`{"amount":500,"pix_key":"settle-now@pix.test"}`)
	foreign := naming(7*time.Minute, derived.EndToEnd[21:])
	free := naming(time.Minute, "0freeforall")
	untouched := merchants[0].money()
	refused := func(m int, status int, got string) {
		if status != 400 || got != takenID {
			t.Errorf("merchant %d: %d %s", m, status, got)
		}
	}
	atOnce(merchants[:2], foreign, refused)
	for m, w := range merchants[:2] {
		if got := w.money(); got != untouched || !strings.Contains(got, `"pending":0,`) {
			t.Errorf("merchant %d has %s, had %s", m, got, untouched)
		}
	}
	winner, once := -1, sync.Mutex{}
	fresh := 0
	won := func(m int, status int, got string) {
		once.Lock()
		defer once.Unlock()
		if status == 400 {
			refused(m, status, got)
			return
		}
		if fresh += 1; status != 200 && status != 202 || winner >= 0 && winner != m {
			t.Errorf("merchant %d: %d %s, and %d has it", m, status, got, winner)
		}
		winner = m
	}
	atOnce(merchants, free, won)
	if fresh != 3 {
		t.Fatalf("%d of one merchant's three were taken", fresh)
	}

	kept := after(disk)
	third.stop()
	again := serveHarness(t, kept)
	for m := range merchants {
		merchants[m] = merchants[m].at(again)
	}
	atOnce(merchants[:2], foreign, refused)
	fresh = 0
	atOnce(merchants, free, won)
	if fresh != 3 {
		t.Errorf("after the cut %d of its three were taken", fresh)
	}
	merchants[winner].becomes("one moved money", soon, func() bool {
		return strings.Contains(merchants[winner].money(), `"balance":950000,"available":950000,"pending":0,`)
	})
	for m, w := range merchants {
		if got := w.money(); m != winner && got != untouched {
			t.Errorf("merchant %d has %s, had %s", m, got, untouched)
		}
	}
	var own item
	if status, got := third.at(again).cashOut(naming(7*time.Minute, derived.EndToEnd[21:])); status != 200 || json.Unmarshal([]byte(got), &own) != nil {
		t.Errorf("whose characters they are: %d %s", status, got)
	}
}

// TestRefusedPayoutTakesNoID checks that a payout which its account refuses takes the end-to-end id that it names from nobody, and
// writes nothing; and that the account's answer to it is what it is without such an id.
func TestRefusedPayoutTakesNoID(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	other := w.another()
	body := naming(0, "0notreserve")
	const tooMuch = `"amount":99999999999`
	status, want := w.cashOut(strings.Replace(`{"amount":500,"pix_key":"settle-now@pix.test"}`, `"amount":500`, tooMuch, 1))
	if s, got := w.cashOut(strings.Replace(body, `"amount":500`, tooMuch, 1)); s != 422 || s != status || got != want {
		t.Errorf("%d %s, want %d %s", s, got, status, want)
	}
	lo, hi := registry.ReservationRange()
	if err := w.Store.Scan(lo, hi, func(k, _ []byte) (bool, error) { t.Errorf("reserved: %q", k); return true, nil }); err != nil {
		t.Fatal(err)
	}
	if status, got := other.cashOut(body); status != 200 {
		t.Errorf("another merchant: %d %s", status, got)
	}
	if status, got := w.cashOut(body); status != 400 || got != takenID {
		t.Errorf("once it is used: %d %s", status, got)
	}
}
