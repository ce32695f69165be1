package catchup

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/provider"
	"pixd/wal"
)

// numbered is a payment with a number in its end-to-end id.
func numbered(n int, to pix.AccountID) scheme.Movement {
	m := arrival(pix.Millis(n+1), fmt.Sprintf("%s%06d", payment[:26], n), "ours")
	m.Notice.Account = to
	return m
}

// TestAccountsTakeTurns checks that what is kept aside of one account does not wait for all of another's, and that much of it
// is booked at once.
func TestAccountsTakeTurns(t *testing.T) {
	const many, other = 3*bookedAtOnce + 1, merchant + 1
	w := newWorld(t)
	a := w.runner().Aside
	var all []unbooked
	for n := range many {
		m := numbered(n, merchant)
		all = append(all, unbooked{&m, errUnknownAccount})
	}
	one := numbered(many, other)
	if n, err := a.keep(append(all, unbooked{&one, errUnknownAccount})); n != many+1 || err != nil {
		t.Fatal(n, err)
	}
	w.known[merchant], w.known[other] = true, true
	r := w.runner()
	writes := 0
	write := r.Aside.Write
	r.Aside.Write = func(ops ...wal.Op) error { writes++; return write(ops...) }
	r.Book()
	at := -1
	for i, b := range w.booked {
		if strings.Contains(b, one.Notice.EndToEnd) {
			at = i
		}
	}
	if len(w.booked) != many+1 || r.Aside.Count() != 0 || at < 0 || at > bookedAtOnce {
		t.Errorf("%d are booked, %d are left; the other account's comes after %d", len(w.booked), r.Aside.Count(), at)
	}
	if writes > 6 {
		t.Errorf("%d writes", writes)
	}
	for i := 1; i < many; i++ {
		if n := strings.Index(w.booked[i], payment[:26]); w.booked[i][n+26:n+32] < w.booked[i-1][n+26:n+32] && i != at && i != at+1 {
			t.Fatalf("%s is booked after %s", w.booked[i], w.booked[i-1])
		}
	}
}

// TestFailuresAreCounted checks that one line tells of all movements of an account that cannot be booked.
func TestFailuresAreCounted(t *testing.T) {
	w := newWorld(t)
	var all []unbooked
	for n := range 2*bookedAtOnce + 1 {
		m := numbered(n, merchant)
		all = append(all, unbooked{&m, errUnknownAccount})
	}
	if _, err := w.runner().Aside.keep(all); err != nil {
		t.Fatal(err)
	}
	w.known[merchant] = true
	w.fails = func(c ledger.Command) error {
		if strings.Contains(fmt.Sprint(c), all[0].movement.Notice.EndToEnd) {
			return nil
		}
		return errors.New("not now")
	}
	r := w.runner()
	r.Book()
	if len(w.booked) != 1 || r.Aside.Count() != 2*bookedAtOnce || !strings.HasPrefix(r.failed[merchant], fmt.Sprint(2*bookedAtOnce)) || len(r.failed[merchant]) > 200 {
		t.Errorf("%d are booked, %d are left, %.300s", len(w.booked), r.Aside.Count(), r.failed[merchant])
	}
}

// TestLongMovementsAreKept checks that movements that are as long as the protocol lets them be are kept aside in pieces, and
// are read by a later process; and that one that cannot be read is told of, and keeps no process from starting.
func TestLongMovementsAreKept(t *testing.T) {
	w := newWorld(t)
	var all []unbooked
	for n := range 40 {
		m := numbered(n, merchant)
		m.Notice.Arrived.Description = strings.Repeat("\u2028", 20_000) // six bytes each once they are escaped
		all = append(all, unbooked{&m, errUnknownAccount})
	}
	a := w.runner().Aside
	write := a.Write
	a.Write = func(ops ...wal.Op) error {
		bytes := 0
		for _, o := range ops {
			bytes += len(o.Value)
		}
		if bytes > 2<<20 {
			t.Errorf("%d bytes at once", bytes)
		}
		return write(ops...)
	}
	if n, err := a.keep(all); n != 40 || err != nil {
		t.Fatal(n, err)
	}
	if n := len(provider.EncodeMovement(all[0].movement)); n <= provider.MaxBody {
		t.Fatalf("%d bytes are none too many", n)
	}
	bad := wal.MetaKey(metaAside + merchant.String() + "/00000000000000ff")
	w.values[string(bad)] = []byte("{")
	w.alerts = nil
	r := w.runner()
	if r.Aside.Count() != 40 || !strings.Contains(strings.Join(w.alerts, "\n"), "00000000000000ff") {
		t.Errorf("%d are kept, alerts %q", r.Aside.Count(), w.alerts)
	}
	later := numbered(99, merchant)
	if _, err := r.Aside.keep([]unbooked{{&later, errUnknownAccount}}); err != nil || string(w.values[string(bad)]) != "{" {
		t.Errorf("what cannot be read is overwritten: %v", err)
	}
	w.known[merchant] = true
	if r.Book(); len(w.booked) != 41 || r.Aside.Count() != 0 || w.values[string(bad)] == nil {
		t.Errorf("%d are booked, %d are left", len(w.booked), r.Aside.Count())
	}
}

// TestOneReservationFails checks that a payout whose end-to-end id cannot be reserved keeps no other movement of its account
// from being booked.
func TestOneReservationFails(t *testing.T) {
	w := newWorld(t)
	bad, good := payout(1, payment), payout(2, payment[:31]+"3")
	if n, err := w.runner().Aside.keep([]unbooked{{&bad, errUnknownAccount}, {&good, errUnknownAccount}}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	w.known[merchant] = true
	r := w.runner()
	r.Reserve = func(_ pix.AccountID, endToEnd string) (bool, error) {
		if endToEnd == payment {
			return false, errors.New("its row is damaged")
		}
		return true, nil
	}
	if r.Book(); len(w.booked) != 1 || r.Aside.Count() != 1 || !strings.Contains(r.failed[merchant], "reserve an end-to-end id: its row is damaged") {
		t.Errorf("booked %q, %d are left: %s", w.booked, r.Aside.Count(), r.failed[merchant])
	}
}
