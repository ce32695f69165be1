package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// muted is a scheme that lists no movements, and cannot be asked about payouts while it is mute.
type muted struct {
	unlisted
	mute atomic.Bool
}

// Ask implements scheme.Scheme.
func (m *muted) Ask(ctx context.Context, tx pix.TxID, endToEnd string) (scheme.State, error) {
	if m.mute.Load() {
		return scheme.State{}, errors.New("no answer")
	}
	return m.Scheme.Ask(ctx, tx, endToEnd)
}

// TestHeldIsAsked accepts a gap in which payouts that waited in the snapshot were sent: before one goes on by an operator's
// word, the scheme is asked, and what it has is booked and not sent again.
func TestHeldIsAsked(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.receives(500_000, "")
	w.capacity("client_limited")
	paid := w.paidOut(`{"amount":17,"pix_key":"a@pix.test"}`)
	silent := w.paidOut(`{"amount":18,"pix_key":"silent@pix.test"}`)
	unsent := w.paidOut(`{"amount":20,"pix_key":"client-limited@pix.test"}`)
	declined := w.paidOut(`{"amount":19,"pix_key":"b@pix.test"}`)
	w.becoming(declined.TransactionID, "pending")
	file := w.snap()
	w.capacity("available")
	w.becoming(paid.TransactionID, "settled")
	w.becoming(declined.TransactionID, "settled")
	w.becomes("sent", soon, func() bool {
		_, got := w.operate("GET", "/admin/transactions/"+silent.TransactionID, "")
		return strings.Contains(got, `"state":"accepted"`)
	})
	w.stop()

	restoredAt(t, fs, file, "new")
	u := &muted{}
	again := w.at(serveHarness(t, fs, from("new"), func(c *Config) {
		c.wrapScheme = func(s scheme.Scheme) scheme.Scheme { u.unlisted = unlisted{s}; return u }
	}))
	decides := func(word, id string, want int, says string) {
		t.Helper()
		if status, got := again.operate("POST", "/admin/payouts/"+id+"/"+word, `{"operator":"ana"}`); status != want || !strings.Contains(got, says) {
			t.Errorf("%s: %d %s, want %d %s", word, status, got, want, says)
		}
	}
	u.mute.Store(true)
	decides("approve", paid.TransactionID, 503, "could not say whether it has the payout")
	u.mute.Store(false)
	decides("approve", paid.TransactionID, 409, "not sent again")
	decides("approve", silent.TransactionID, 409, "not sent again")
	decides("decline", declined.TransactionID, 409, "not sent again")
	for id, state := range map[string]string{paid.TransactionID: "settled", silent.TransactionID: "accepted", declined.TransactionID: "settled"} {
		if _, got := again.operate("GET", "/admin/transactions/"+id, ""); !strings.Contains(got, `"state":"`+state+`"`) {
			t.Errorf("%s, want %s", got, state)
		}
	}
	decides("approve", paid.TransactionID, 409, "does not wait for approval")
	decides("approve", unsent.TransactionID, 200, `"state":"sending"`)
	if got := amounts(again.moneyNow()); got[0] != 1_000_000+500_000-3_600 || got[1] != 1_800+2_000 {
		t.Errorf("%v", got)
	}
}

// TestStampsAfterRestore restores a journal whose newest batch is an hour ahead of the clock: what is made from now on is
// later than the restore all the same, and the clock is doubted.
func TestStampsAfterRestore(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	w.receives(5_000, "")
	settled(t, w.Store)
	file := w.snap()
	w.stop()
	m := restoredAt(t, fs, file, "new").Mark
	m.Newest += 3_600_000
	rewriteMark(t, fs, "new", m)
	again := w.at(serveHarness(t, fs, backTo("new")))
	if at := again.terms.RestoredAt; at != m.Newest || again.Clock.Stamp() != at+1 || !again.Clock.Doubted() {
		t.Errorf("restored at %v, stamps are %v, doubted %v", at, again.Clock.Stamp(), again.Clock.Doubted())
	}
}
