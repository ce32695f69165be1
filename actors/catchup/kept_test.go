package catchup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// TestKeptAfterRestart checks that what a later process keeps aside replaces nothing that an earlier one has kept.
func TestKeptAfterRestart(t *testing.T) {
	w := newWorld(t, arrival(1, payment, "ours"))
	w.run()
	w.pages = newWorld(t, arrival(1, payment, "ours"), arrival(2, payment[:31]+"3", "ours")).pages
	if r, s := w.run(); s.Aside != 1 || r.Aside.Count() != 2 {
		t.Errorf("%+v, %d kept", s, r.Aside.Count())
	}
	r := w.runner()
	w.known[merchant] = true
	if r.Book(); len(w.booked) != 2 {
		t.Errorf("booked after a restart: %q", w.booked)
	}
}

// stuck is a scheme that gives the first page of its list and no other.
type stuck struct{ *world }

func (s stuck) Movements(ctx context.Context, since pix.Millis, after string, n int) (scheme.MovementPage, error) {
	if after != "" {
		s.asked = append(s.asked, fmt.Sprint(since, " ", after))
		return scheme.MovementPage{}, scheme.ErrUnassigned
	}
	return s.world.Movements(ctx, since, after, n)
}

// TestReadAnewOnce checks that a list which does not go on behind its first page is read anew once, and then ends the
// catch-up, and so does one whose pages have movements and name themselves as the next.
func TestReadAnewOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	w := newWorld(t, arrival(1, payment, "ours"), payout(1, payment))
	w.known[merchant] = true
	r := w.runner()
	r.Scheme = stuck{w}
	s, _ := Begin(1)
	if err := r.Run(ctx, s); err == nil || ctx.Err() != nil || len(w.asked) != 2*(1+tries) {
		t.Errorf("asked %d times: %v", len(w.asked), err)
	}
	w = newWorld(t, arrival(1, payment, "ours"), payout(1, payment))
	w.known[merchant] = true
	w.pages[1].Next = "p1"
	s, _ = Begin(1)
	if err := w.runner().Run(ctx, s); err == nil || !strings.Contains(err.Error(), "does not go on") {
		t.Errorf("the same place: asked %d times: %v", len(w.asked), err)
	}
	w = newWorld(t, arrival(1, payment, "ours"), payout(1, payment), arrival(2, payment[:31]+"3", "ours"))
	w.known[merchant] = true
	w.pages[2].Next = "p1"
	s, _ = Begin(1)
	if err := w.runner().Run(ctx, s); err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "does not go on") {
		t.Errorf("a round: asked %d times: %v", len(w.asked), err)
	}
}
