package catchup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// world is a journal's named values, a scheme's list, and accounts that book what they are told.
type world struct {
	mu sync.Mutex // of own

	t       *testing.T
	values  map[string][]byte
	pages   []scheme.MovementPage // in order; the last one has no Next
	asked   []string              // the cursors that were asked for, with their instants
	failing int                   // how many of the next questions fail
	known   map[pix.AccountID]bool
	refused map[string]bool
	booked  []string // what accounts were told, in order
	fails   func(c ledger.Command) error
	owners  map[string]pix.AccountID
	alerts  []string
	own     []string // ids that were reserved
	lost    []string // keys of LostKey
	broken  error    // the error of every write
	hold    chan struct{}

	scheme.Unassigned
}

const (
	payment  = "E9999900320261029120000000000002"
	merchant = pix.AccountID(7)
)

func newWorld(t *testing.T, all ...scheme.Movement) *world {
	w := &world{t: t, values: map[string][]byte{}, known: map[pix.AccountID]bool{}, refused: map[string]bool{}, owners: map[string]pix.AccountID{}}
	for i, m := range all {
		p := scheme.MovementPage{Movements: []scheme.Movement{m}, Next: fmt.Sprint("p", i+1)}
		if i == len(all)-1 {
			p.Next = ""
		}
		w.pages = append(w.pages, p)
	}
	return w
}

// Movements implements scheme.Scheme.
func (w *world) Movements(_ context.Context, since pix.Millis, after string, _ int) (scheme.MovementPage, error) {
	w.asked = append(w.asked, fmt.Sprint(since, " ", after))
	if w.failing--; w.failing >= 0 {
		return scheme.MovementPage{}, scheme.ErrUnassigned
	}
	i := 0
	if after != "" {
		_, _ = fmt.Sscanf(after, "p%d", &i)
	}
	return w.pages[i], nil
}

func (w *world) write(ops ...wal.Op) error {
	if w.broken != nil {
		return w.broken
	}
	for _, o := range ops {
		if w.values[string(o.Key)] = o.Value; o.Kind == wal.OpDelete {
			delete(w.values, string(o.Key))
		}
	}
	return nil
}

func (w *world) scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	for _, k := range slices.Sorted(maps.Keys(w.values)) {
		if bytes.Compare([]byte(k), lo) < 0 || bytes.Compare([]byte(k), hi) >= 0 {
			continue
		}
		if more, err := fn([]byte(k), w.values[k]); err != nil || !more {
			return err
		}
	}
	return nil
}

// Get implements layout.Getter.
func (w *world) Get(k []byte) ([]byte, bool, error) { v, ok := w.values[string(k)]; return v, ok, nil }

// Raise implements ledger.Alerts.
func (w *world) Raise(_ pix.AccountID, a ledger.Alert) {
	w.alerts = append(w.alerts, a.Kind+" "+a.Message)
}

// runner returns what catches up, in a new process.
func (w *world) runner() *Runner {
	r := &Runner{
		Scheme: w, Timeout: 10 * time.Millisecond, Known: func(id pix.AccountID) bool { return w.known[id] }, Refused: func(id string) bool { return w.refused[id] },
		Owner: func(n *scheme.Notice) (pix.AccountID, error) { return w.owners[n.EndToEnd], nil },
		Tell: func(_ pix.AccountID, c ledger.Command, done func(bool, error)) {
			if w.fails != nil {
				if err := w.fails(c); err != nil {
					done(false, err)
					return
				}
			}
			name := fmt.Sprintf("%T", c)
			again := slices.Contains(w.booked, name+fmt.Sprint(c))
			w.booked = append(w.booked, name+fmt.Sprint(c))
			if w.hold == nil {
				done(!again, nil)
				return
			}
			go func() { <-w.hold; done(!again, nil) }()
		},
		Reserve: func(_ pix.AccountID, id string) (bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.own = append(w.own, id)
			return true, nil
		},
		Aside:  &Aside{Scan: w.scan, Write: w.write, Alerts: w, Log: slog.New(slog.DiscardHandler)},
		Secret: []byte("secret"), Write: w.write, LostKey: func(n scheme.Notice) { w.lost = append(w.lost, n.Arrived.Key) },
		KeyOf:   func(key string) (pix.AccountID, bool) { return merchant, key == "ours" },
		Elapsed: func() time.Duration { return 0 }, Log: slog.New(slog.DiscardHandler),
	}
	if err := r.Aside.Load(); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// run catches up from the beginning.
func (w *world) run() (*Runner, *State) {
	w.t.Helper()
	r := w.runner()
	s, begin := Begin(1000)
	if err := errors.Join(w.write(begin), r.Run(w.t.Context(), s)); err != nil {
		w.t.Fatal(err)
	}
	return r, s
}

func arrival(at pix.Millis, endToEnd, key string) scheme.Movement {
	m := scheme.Movement{At: at, Notice: scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: endToEnd, Account: merchant}}
	m.Notice.Arrived = ledger.ReceivePayment{EndToEnd: endToEnd, Amount: 100, Key: key}
	return m
}

func report(at pix.Millis, endToEnd string) scheme.Movement {
	return scheme.Movement{At: at, Notice: scheme.Notice{Kind: scheme.InfractionOpened, EndToEnd: endToEnd, Account: merchant, Infraction: "inf1", Amount: 50, Situation: "SCAM"}}
}

func payout(tx byte, endToEnd string) scheme.Movement {
	p := scheme.Payment{Tx: pix.TxID{tx}, EndToEnd: endToEnd, Account: merchant, Amount: 1, Key: pix.Key{Type: pix.KeyEmail, Value: "a@b.co"}}
	return scheme.Movement{At: 999, Notice: scheme.Notice{Kind: scheme.PaymentSettled, EndToEnd: endToEnd, Tx: p.Tx, Account: merchant}, Payment: p}
}

// TestReadsOn checks the state behind each page: it is written once all of the page is booked, the next run
// asks for the last page again, where later movements follow, and a repeat counts nothing.
func TestReadsOn(t *testing.T) {
	w := newWorld(t, arrival(1, payment, "ours"), payout(1, payment), report(3, payment))
	w.known[merchant] = true
	r, s := w.run()
	stored, err := Find(w)
	if err != nil || *stored != *s || s.Done != 3 || s.Booked != 3 || s.Aside != 0 || !s.Read || s.Since != 1000 || s.After != "p2" {
		t.Fatalf("%+v, stored %+v, %v", s, stored, err)
	}
	w.pages[2].Next = "p3"
	w.pages = append(w.pages, scheme.MovementPage{Movements: []scheme.Movement{arrival(9, payment[:31]+"9", "ours")}})
	s.Read = false
	if err := r.Run(t.Context(), s); err != nil || s.Booked != 4 || len(w.booked) != 5 || s.After != "p3" {
		t.Errorf("%+v after %q: %v", s, w.booked, err)
	}
	if want := []string{"1000 ", "1000 p1", "1000 p2", "1000 p2", "1000 p3"}; strings.Join(w.asked, "|") != strings.ReplaceAll(strings.Join(want, "|"), "1000", pix.Millis(1000).String()) {
		t.Errorf("asked %q", w.asked)
	}
}

// TestEffectsFirst checks that the place behind a page is not written before its movements are booked, nor
// where one cannot be kept aside.
func TestEffectsFirst(t *testing.T) {
	w := newWorld(t, arrival(1, payment, "ours"), payout(1, payment))
	w.known[merchant], w.hold = true, make(chan struct{})
	r := w.runner()
	s, begin := Begin(1000)
	if err := w.write(begin); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- r.Run(t.Context(), s) }()
	time.Sleep(30 * time.Millisecond)
	if stored, err := Find(w); err != nil || stored.After != "" || stored.Done != 0 {
		t.Errorf("while the first page is on its way: %+v %v", stored, err)
	}
	close(w.hold)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	lost := newWorld(t, arrival(1, payment, "ours"), payout(1, payment))
	r = lost.runner()
	s, _ = Begin(1000)
	lost.broken = errors.New("the disk is gone")
	if err := r.Run(t.Context(), s); !errors.Is(err, lost.broken) || s.Done != 0 || r.Aside.Count() != 0 {
		t.Errorf("%+v, %d kept aside: %v", s, r.Aside.Count(), err)
	}
}

// TestAsksAgain checks that a question without an answer is asked again, and that a list that does not go on
// ends the catch-up.
func TestAsksAgain(t *testing.T) {
	w := newWorld(t, arrival(1, payment, "ours"))
	w.known[merchant], w.failing = true, 2
	if _, s := w.run(); s.Booked != 1 || len(w.asked) != 3 {
		t.Errorf("%+v, asked %q", s, w.asked)
	}
	again := newWorld(t, arrival(1, payment, "ours"), payout(1, payment))
	again.known[merchant], again.failing = true, tries // the place of an earlier process is known no more
	r, s := again.runner(), &State{Since: 1000, After: "p1", Done: 1}
	if err := r.Run(t.Context(), s); err != nil || s.Booked != 2 || s.Done != 2 {
		t.Errorf("%+v, asked %q: %v", s, again.asked, err)
	}
	for name, pages := range map[string][]scheme.MovementPage{
		"the same place":         {{Next: "p1"}, {Next: "p1"}},
		"empty pages, on and on": {{Next: "p1"}, {Next: "p0"}},
	} {
		w := newWorld(t)
		w.pages = pages
		s, _ := Begin(1)
		if err := w.runner().Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "does not go on") || len(w.asked) > mostEmpty+10 {
			t.Errorf("%s: asked %d times: %v", name, len(w.asked), err)
		}
	}
}

// TestKeptAside checks what cannot be booked: it is kept once, over restarts and repeated lists, with an
// alert for the account in each process, and booked in the scheme's order once the account is known.
func TestKeptAside(t *testing.T) {
	all := []scheme.Movement{report(5, payment), arrival(5, payment, "new"), payout(1, payment), payout(2, payment)}
	w := newWorld(t, all...)
	paid := false
	w.fails = func(c ledger.Command) error {
		switch c.(type) {
		case ledger.ReceivePayment:
			paid = true
		case ledger.OpenCase:
			if !paid {
				return ledger.ErrUnknownTransfer
			}
		}
		return nil
	}
	_, s := w.run()
	if s.Aside != 4 || len(w.booked) != 0 || len(w.alerts) != 1 || !strings.Contains(w.alerts[0], AlertAside) || !strings.Contains(w.alerts[0], merchant.String()) {
		t.Fatalf("%+v, booked %q, alerts %q", s, w.booked, w.alerts)
	}
	r, s := w.run()
	if s.Aside != 0 || r.Aside.Count() != 4 || len(w.values) != 5 || !r.Aside.Has(merchant) || !r.Aside.HasPayment(payment) || len(w.alerts) != 2 {
		t.Fatalf("listed again: %+v, %d kept, %d values, alerts %q", s, r.Aside.Count(), len(w.values), w.alerts)
	}
	r.Book()
	if len(w.booked) != 0 {
		t.Errorf("booked although the account is not known: %q", w.booked)
	}
	w.known[merchant] = true
	r.Book()
	if len(w.booked) != 4 || r.Aside.Count() != 0 || r.Aside.Has(merchant) || r.Aside.HasPayment(payment) || len(w.values) != 1 || len(w.lost) != 1 || len(w.own) != 2 {
		t.Errorf("booked %q, %d kept, lost keys %q, reserved %q, %d values", w.booked, r.Aside.Count(), w.lost, w.own, len(w.values))
	}
	if again := w.runner(); again.Aside.Count() != 0 {
		t.Errorf("%d kept after a restart", again.Aside.Count())
	}
}

// TestOneBadMovement checks that a movement which can never be booked does not keep back others.
func TestOneBadMovement(t *testing.T) {
	bad, elsewhere := payout(1, "E1"), arrival(3, payment[:31]+"3", "ours")
	w := newWorld(t, bad, elsewhere, arrival(4, payment, "ours"))
	w.owners[elsewhere.Notice.EndToEnd] = 8
	w.known[merchant] = true
	r, s := w.run()
	if s.Booked != 1 || s.Aside != 2 || len(w.alerts) != 2 {
		t.Errorf("%+v, alerts %q", s, w.alerts)
	}
	r.Book()
	r.Book()
	if len(w.booked) != 1 || r.Aside.Count() != 2 {
		t.Errorf("booked %q, %d kept", w.booked, r.Aside.Count())
	}
}

// TestRefusedPayments checks that a payment that went back is not credited, and that a report of it opens
// nothing; and that one that was credited before is told to its account.
func TestRefusedPayments(t *testing.T) {
	w := newWorld(t, arrival(1, payment, "ours"), report(2, payment))
	w.known[merchant], w.refused[payment] = true, true
	if _, s := w.run(); len(w.booked) != 0 || s.Aside != 0 {
		t.Errorf("%+v, booked %q", s, w.booked)
	}
	w.owners[payment] = merchant
	if _, s := w.run(); len(w.booked) != 2 || s.Booked != 2 {
		t.Errorf("%+v, booked %q", s, w.booked)
	}
}

// TestReservesOwn checks that ids which merchants chose are reserved, and those that the engine computed are not.
func TestReservesOwn(t *testing.T) {
	computed := payout(2, payment)
	p := &computed.Payment
	p.EndToEnd = pix.EndToEnd("99999004", 1_800_000_000_000, pix.Fingerprint{Account: merchant, Amount: p.Amount, KeyType: p.Key.Type, Key: p.Key.Value}.Suffix([]byte("secret"), 1))
	computed.Notice.EndToEnd = p.EndToEnd
	w := newWorld(t, payout(1, payment), computed)
	w.known[merchant] = true
	if w.run(); !slices.Equal(w.own, []string{payment}) {
		t.Errorf("reserved %q", w.own)
	}
}

// TestReservesFirst checks that no movement is booked before each id is reserved, nor where one cannot be, which ends
// the catch-up with the error.
func TestReservesFirst(t *testing.T) {
	w := newWorld(t, payout(1, payment))
	w.pages[0].Movements = append(w.pages[0].Movements, payout(2, payment[:31]+"3"))
	w.known[merchant] = true
	taken := errors.New("the registry is full")
	r := w.runner()
	r.Reserve = func(_ pix.AccountID, id string) (bool, error) {
		if id == payment {
			return true, nil
		}
		time.Sleep(20 * time.Millisecond)
		return false, taken
	}
	s, _ := Begin(1000)
	if err := r.Run(t.Context(), s); !errors.Is(err, taken) || !strings.HasPrefix(err.Error(), "catch up: ") || len(w.booked) != 0 || s.Done != 0 {
		t.Errorf("%+v, booked %q: %v", s, w.booked, err)
	}
}

// TestNotAskedOnceEnded checks that the scheme is not asked once the context has ended, and that a question which
// stays without an answer is named.
func TestNotAskedOnceEnded(t *testing.T) {
	w := newWorld(t, payout(1, payment))
	ended, end := context.WithCancel(t.Context())
	end()
	s, _ := Begin(1000)
	if err := w.runner().Run(ended, s); !errors.Is(err, context.Canceled) || len(w.asked) != 0 {
		t.Errorf("asked %q: %v", w.asked, err)
	}
	w.failing = tries
	if err := w.runner().Run(t.Context(), s); !errors.Is(err, scheme.ErrUnassigned) || !strings.HasPrefix(err.Error(), "catch up: ") || len(w.asked) != tries {
		t.Errorf("asked %q: %v", w.asked, err)
	}
}

// TestBadReturnID checks that a return whose id is not in the scheme's form is kept aside.
func TestBadReturnID(t *testing.T) {
	back := scheme.Refund{Tx: pix.TxID{1}, EndToEnd: "D" + payment[1:], Original: payment, Account: merchant, Amount: 1, Reason: "MD06"}
	for id, booked := range map[string]uint64{back.EndToEnd: 1, payment: 0, "D1": 0} {
		back.EndToEnd = id
		w := newWorld(t, scheme.Movement{At: 999, Notice: scheme.Notice{Kind: scheme.RefundSettled, EndToEnd: payment, ReturnID: id, Tx: back.Tx, Account: merchant}, Refund: back})
		w.known[merchant] = true
		if _, s := w.run(); s.Booked != booked || s.Aside != 1-booked {
			t.Errorf("%s: %+v", id, s)
		}
	}
}
