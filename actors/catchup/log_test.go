package catchup

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
)

// logged has a runner write its lines, without their times, into the buffer that it returns.
func (r *Runner) logged() *bytes.Buffer {
	var b bytes.Buffer
	r.Log = slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	r.Aside.Log = r.Log
	return &b
}

// lines returns the lines that have a text, and forgets all.
func lines(b *bytes.Buffer, text string) (found []string) {
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	b.Reset()
	return found
}

// TestTellsHowFarItIs checks the lines about the progress of a catch-up that goes on where an earlier start was: one
// each five seconds, with how much there is, the rate of this start and the time that is left, and one at the end.
func TestTellsHowFarItIs(t *testing.T) {
	var all []scheme.Movement
	for n := range byte(6) {
		all = append(all, payout(1+n, payment))
	}
	w := newWorld(t, all...)
	w.known[merchant] = true
	w.pages[0].Left, w.pages[1].Left = 5, 999 // only the first page says how much there is
	for name, c := range map[string]struct {
		state State
		pace  time.Duration // for each page
		want  []string
	}{
		"from the beginning": {State{Since: 1000}, 2 * time.Second, []string{
			`level=INFO msg="catching up with the scheme" read=3 booked=3 kept_aside=0 per_second=0 of=6 left=6s`,
			`level=INFO msg="catching up with the scheme" read=6 booked=6 kept_aside=0 per_second=0`,
			`level=INFO msg="the scheme's movements since the restore are read" read=6 booked=6 kept_aside=0 per_second=0`,
		}},
		"from an earlier place": {State{Since: 1000, After: "p2", Done: 2, Total: 6}, 200 * time.Millisecond, []string{
			`level=INFO msg="the scheme's movements since the restore are read" read=6 booked=4 kept_aside=0 per_second=4`,
		}},
		"each page in five seconds": {State{Since: 1000, After: "p4", Done: 4, Total: 6}, 5 * time.Second, []string{
			`level=INFO msg="catching up with the scheme" read=5 booked=1 kept_aside=0 per_second=0 of=6 left=5s`,
			`level=INFO msg="catching up with the scheme" read=6 booked=2 kept_aside=0 per_second=0`,
			`level=INFO msg="the scheme's movements since the restore are read" read=6 booked=2 kept_aside=0 per_second=0`,
		}},
		"all at once": {State{Since: 1000, After: "p5", Done: 5, Total: 6}, 0, []string{
			`level=INFO msg="the scheme's movements since the restore are read" read=6 booked=1 kept_aside=0`,
		}},
	} {
		w.booked = nil
		r, s, now := w.runner(), c.state, time.Hour
		r.Elapsed = func() time.Duration { now += c.pace; return now }
		b := r.logged()
		if err := r.Run(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
		if each := strings.Count(b.String(), `msg="booked from the scheme" kind=payment_settled`); each != int(s.Booked) {
			t.Errorf("%s: %d lines about %d movements", name, each, s.Booked)
		}
		if got := lines(b, "read="); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if s.Total != 6 {
			t.Errorf("%s: of %d", name, s.Total)
		}
	}
}

// TestTellsWhatItDoes checks that each movement which is booked, or kept aside, has a line with its names; and that what
// cannot be booked later either is told once, and nothing of an account that is not known yet.
func TestTellsWhatItDoes(t *testing.T) {
	w := newWorld(t, arrival(1, payment, "ours"), payout(2, payment[:31]+"3"))
	r := w.runner()
	b := r.logged()
	s, _ := Begin(1000)
	if err := r.Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := lines(b, "is kept aside"); len(got) != 2 || !strings.Contains(got[0], "level=WARN") || !strings.Contains(got[0], `why="the account is not known here"`) ||
		!strings.Contains(got[0], "end_to_end_id="+payment+" amount=100") || !strings.Contains(got[1], "transaction_id="+pix.TxID{2}.Public(pix.TxPayout)) {
		t.Errorf("kept aside: %q", got)
	}
	if !r.Aside.HasPayment(payment) || r.Aside.HasPayment(payment[:31]+"3") {
		t.Error("a payout is taken for a customer's payment, or a payment is not")
	}
	r.Book()
	if got := lines(b, ""); len(got) != 0 {
		t.Errorf("of an account that is not known: %q", got)
	}
	w.known[merchant], w.fails = true, func(ledger.Command) error { return ledger.ErrBusy }
	for n, want := range []int{1, 0} {
		r.Book()
		if got := lines(b, "cannot be booked"); len(got) != want {
			t.Errorf("try %d: %q", n+1, got)
		}
	}
	w.fails = nil
	r.Book()
	got := lines(b, `msg="booked from the scheme"`)
	if len(got) != 2 || !strings.Contains(got[0], "kind="+scheme.PaymentArrived.String()+" ") || !strings.Contains(got[1], "transaction_id="+pix.TxID{2}.Public(pix.TxPayout)) {
		t.Errorf("booked: %q", got)
	}
}
