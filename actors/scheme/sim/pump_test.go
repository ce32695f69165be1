package sim

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// shelf is a Store in memory. Each entry is durable, and reported as durable, within Append.
type shelf struct{ rows map[string]string }

func (f *shelf) Get(k []byte) ([]byte, bool, error) {
	v, ok := f.rows[string(k)]
	return []byte(v), ok, nil
}

func (f *shelf) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	var keys []string
	for k := range f.rows {
		if k >= string(lo) && k < string(hi) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if more, err := fn([]byte(k), []byte(f.rows[k])); err != nil || !more {
			return err
		}
	}
	return nil
}

func (f *shelf) Append(e *wal.Entry) wal.Ticket {
	if e.Lazy != (len(e.Out) == 0) {
		panic("an entry is lazy, although somebody waits for it, or the other way round")
	}
	for _, o := range e.Ops {
		if o.Kind == wal.OpDelete {
			delete(f.rows, string(o.Key))
		} else {
			f.rows[string(o.Key)] = string(o.Value)
		}
	}
	for _, o := range e.Out {
		o.Release(nil)
	}
	return 0
}

func (f *shelf) Close() error { return nil }

// pump is a simulator in one goroutine, whose clock the test moves.
type pump struct {
	*Sim
	t     *testing.T
	shelf *shelf
	at    pix.Millis
	drawn byte
	log   strings.Builder
}

func newPump(t *testing.T) *pump {
	p := &pump{t: t, shelf: &shelf{map[string]string{}}, at: goldenNoon}
	p.open()
	if err := p.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	return p
}

// open opens the simulator again on the rows appended so far, as after a crash.
func (p *pump) open() {
	p.t.Helper()
	s, err := Open(Options{
		Store: p.shelf, SettleDelay: time.Second, Now: func() pix.Millis { return p.at },
		Entropy: func() [10]byte { p.drawn++; return [10]byte{9: p.drawn} },
		Log:     slog.New(slog.NewTextHandler(&p.log, nil)),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.Sim = s
}

func (p *pump) pay(chars string, key string, amount pix.Amount) scheme.Payment {
	p.t.Helper()
	o := scheme.Payment{
		Tx: pix.TxID{1, chars[0]}, Account: 7, Amount: amount, EndToEnd: "E99999004202603011200abcdefghi" + chars,
		Key: pix.Key{Type: pix.KeyEmail, Value: key},
	}
	if _, err := p.Submit(p.t.Context(), o); err != nil {
		p.t.Fatal(err)
	}
	return o
}

func (p *pump) book() scheme.Book {
	p.t.Helper()
	b, err := p.Book(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *pump) sums() scheme.Sums {
	p.t.Helper()
	b := p.book()
	if len(b.Accounts) != 1 || b.Accounts[0].Account != 7 {
		p.t.Fatalf("%+v", b)
	}
	return b.Accounts[0].Sums
}

// drain ends every due notice with the result err, and returns the kinds of those notices.
func (p *pump) drain(err error) (reported []string) {
	for n, done, ok := p.Due(); ok; n, done, ok = p.Due() {
		reported = append(reported, n.Kind.String())
		done(err)
	}
	return reported
}

var errAway = errors.New("away")

// TestPumped checks that the simulator can run in one goroutine, and that a second simulator
// with the same calls writes the same book, byte for byte.
func TestPumped(t *testing.T) {
	life := func() string {
		p := newPump(t)
		out := p.pay("aa", "ana@example.com", 100)
		p.pay("bb", "returned@pix.test", 50)
		if _, _, err := p.Pay(t.Context(), Payment{Key: shop.Value, Amount: 9}); err != nil {
			t.Fatal(err)
		}
		if got := p.drain(errAway); fmt.Sprint(got) != "[payment_arrived]" {
			t.Errorf("reported %v", got)
		}
		if at, ok := p.NextDue(); !ok || at != p.at+1000 {
			t.Errorf("next at %v", at)
		}
		p.at += 1000
		if got := p.drain(nil); fmt.Sprint(got) != "[payment_settled payment_settled payment_arrived]" {
			t.Errorf("reported %v", got)
		}
		if _, err := p.ReturnPayout(t.Context(), PayoutReturn{EndToEnd: out.EndToEnd, Amount: 30}); err != nil {
			t.Fatal(err)
		}
		p.at += 1000
		if got := p.drain(nil); fmt.Sprint(got) != "[return_received return_received]" {
			t.Errorf("reported %v", got)
		}
		if _, ok := p.NextDue(); ok || p.book().OldestOpen != 0 {
			t.Error("something is still open")
		}
		if got := p.sums(); got != (scheme.Sums{Sent: 150, Received: 9, ReturnedTo: 80}) {
			t.Errorf("%+v", got)
		}
		return fmt.Sprint(p.book(), p.shelf.rows)
	}
	if a, b := life(), life(); a != b {
		t.Errorf("two lives differ\n%s\n%s", a, b)
	}
}

// TestAddedUpOnce checks that each movement counts once in the sums, wherever before, during
// or after addUp the process ends.
func TestAddedUpOnce(t *testing.T) {
	p := newPump(t)
	want := scheme.Sums{}
	for n := range 60 {
		chars := fmt.Sprintf("%c%d", 'A'+n%26, n%10)
		if n >= 26 {
			chars = fmt.Sprintf("%c%d", 'a'+n%26, n%10)
		}
		if n < 52 {
			p.pay(chars, []string{"settle-now@pix.test", "ana@example.com", "reject-ac03@pix.test"}[n%3], 10)
		}
		switch {
		case n%7 == 0:
			if err := p.addUp(); err != nil {
				t.Fatal(err)
			}
		case n%11 == 0:
			p.open()
		case n%3 == 0:
			p.at += 400
		}
		if n%5 == 0 {
			p.open()
		}
		got := p.sums()
		if got.Sent < want.Sent {
			t.Fatalf("after %d: %+v, was %+v", n, got, want)
		}
		want = got
	}
	p.at += 5000
	for range 3 {
		if got := p.sums(); got.Sent != 350 {
			t.Errorf("sent %d, want 350", got.Sent)
		}
		if err := p.addUp(); err != nil {
			t.Fatal(err)
		}
		p.open()
	}
	page, _, err := p.Settled(t.Context(), 0, "", 1000)
	if err != nil || len(page) != 35 {
		t.Errorf("%d movements, %v", len(page), err)
	}
}

// TestClockGoesBack checks that no movement is booked before the mark of the sums after the
// clock has gone back, neither in this process nor in the next.
func TestClockGoesBack(t *testing.T) {
	p := newPump(t)
	p.pay("aa", "settle-now@pix.test", 1)
	p.at += 10_000
	if err := p.addUp(); err != nil {
		t.Fatal(err)
	}
	p.at -= 9_000
	p.pay("bb", "settle-now@pix.test", 2)
	if got := p.sums(); got.Sent != 3 {
		t.Errorf("sent %d", got.Sent)
	}
	p.open()
	p.pay("cc", "settle-now@pix.test", 4)
	p.pay("dd", "ana@example.com", 8)
	if got := p.sums(); got.Sent != 7 {
		t.Errorf("sent %d", got.Sent)
	}
	p.at += 1000 // the simulator's time goes on from the time at which it stood still
	if got, reported := p.sums(), p.drain(nil); got.Sent != 15 || len(reported) != 4 {
		t.Errorf("sent %d, reported of %d", got.Sent, len(reported))
	}
}

// TestInfractionsKeepNothingWaiting checks that unacknowledged notices of infractions are
// sent again after ever longer pauses, are not logged each time, and do not count in the
// book's OldestOpen.
func TestInfractionsKeepNothingWaiting(t *testing.T) {
	p := newPump(t)
	paid, _, err := p.Pay(t.Context(), Payment{Key: shop.Value, Amount: 9})
	if err != nil {
		t.Fatal(err)
	}
	p.drain(nil)
	for range 50 {
		if _, err := p.Report(t.Context(), Report{EndToEnd: paid, Situation: "SCAM"}); err != nil {
			t.Fatal(err)
		}
	}
	tries := 0
	for range 6 * 3600 {
		tries += len(p.drain(errAway))
		p.at += 1000
	}
	if tries < 50*360 || tries > 50*370 { // seven in the first minute, then one a minute
		t.Errorf("tried %d times in six hours", tries)
	}
	if lines := strings.Count(p.log.String(), "\n"); lines == 0 || lines > tries/10 {
		t.Errorf("%d lines for %d tries", lines, tries)
	}
	if b := p.book(); b.OldestOpen != 0 {
		t.Errorf("open since %v", b.OldestOpen)
	}
	p.pay("aa", "ana@example.com", 1)
	p.at += 1000
	if got := p.drain(nil); got[0] != "payment_settled" && !slices.Contains(got, "payment_settled") {
		t.Errorf("reported %v", got)
	}
	p.open()
	if got := len(p.drain(nil)); got > 50 {
		t.Errorf("%d came after a restart", got)
	}
}

// TestSumsDoNotWrap checks that a sum which is too large for its type is an error.
func TestSumsDoNotWrap(t *testing.T) {
	p := newPump(t)
	p.pay("aa", "settle-now@pix.test", 1<<62)
	p.pay("bb", "settle-now@pix.test", 1<<62)
	if b, err := p.Book(t.Context()); !errors.Is(err, errTooMuch) {
		t.Errorf("%+v %v", b, err)
	}
	p.at++
	if err := p.addUp(); !errors.Is(err, errTooMuch) {
		t.Error(err)
	}
}

// TestLineMovesOn checks that, when as many notices are open as allowed, ending one of them
// lets the next notice be taken, and that outbox.end reports this.
func TestLineMovesOn(t *testing.T) {
	l := outbox{most: 2}
	for range 3 {
		l.add(item{at: 1})
	}
	a, ok := l.takeDue(1)
	b, both := l.takeDue(1)
	if _, third := l.takeDue(1); !ok || !both || third {
		t.Fatalf("taken: %v %v %v", ok, both, third)
	}
	if !l.endDelivery(a, true, 1) {
		t.Error("the outbox was full, and nobody is reported that it moves on")
	}
	if l.endDelivery(b, true, 1) {
		t.Error("the outbox was not full")
	}
}

// TestNoticeAfterTheAnswer checks that the notice about a payout comes a second later where the
// answer to the submission has said already that it settled, and else when it settles.
func TestNoticeAfterTheAnswer(t *testing.T) {
	for key, want := range map[string]pix.Millis{"settle-now@pix.test": 1000, "ana@example.com": 750} {
		p := newPump(t)
		p.opts.SettleDelay = 750 * time.Millisecond
		p.pay("aa", key, 1)
		if at, ok := p.NextDue(); !ok || at-p.at != want {
			t.Errorf("%s: due after %d ms (%v), want %d", key, at-p.at, ok, want)
		}
	}
}
