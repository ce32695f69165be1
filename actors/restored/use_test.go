package restored

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/wal"
)

// Scan implements layout.Rows.
func (n named) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	for _, k := range slices.Sorted(maps.Keys(n)) {
		if bytes.Compare([]byte(k), lo) < 0 || bytes.Compare([]byte(k), hi) >= 0 {
			continue
		}
		if more, err := fn([]byte(k), n[k]); err != nil || !more {
			return err
		}
	}
	return nil
}

// Subscription implements webhook.Rows.
func (named) Subscription(layout.Target) (*ledger.Subscription, error) {
	return &ledger.Subscription{Status: ledger.SubscriptionActive}, nil
}

func (n named) write(ops []wal.Op) error {
	for _, o := range ops {
		if n[string(o.Key)] = o.Value; o.Kind == wal.OpDelete {
			delete(n, string(o.Key))
		}
	}
	return nil
}

const (
	day = pix.Millis(24 * 60 * 60 * 1000)
	now = pix.Millis(1_800_000_000_000)
)

// marked is a restored journal with a delivery that waits.
func marked(t *testing.T, m *Mark) named {
	t.Helper()
	n := named{}
	op, err := m.Op()
	if err != nil {
		t.Fatal(err)
	}
	p := layout.Pending{Target: layout.Target{Account: 1, Number: 1}, Due: now, Sequence: 1, Record: 1}
	if err := n.write([]wal.Op{op, {Kind: wal.OpSet, Key: p.Key(), Value: p.Value()}}); err != nil {
		t.Fatal(err)
	}
	return n
}

// terms reads the terms with which accounts go on.
func (n named) terms(t *testing.T) (terms ledger.Terms) {
	t.Helper()
	if err := ReadTerms(n, &terms); err != nil {
		t.Fatal(err)
	}
	return terms
}

// TestTakenIntoUse takes a restored journal into use that can catch up, twice: its epoch is above all that are known,
// and its events have sequences that no earlier engine can have given, by any of the clocks.
func TestTakenIntoUse(t *testing.T) {
	const perDay = uint64(day) * eventsPerMilli
	for name, c := range map[string]struct {
		mark      Mark
		elsewhere uint64
		latest    pix.Millis // by which events are counted
		at        pix.Millis // RestoredAt
		epoch     uint64
	}{
		"":                                {Mark{Newest: now - 2*day, Taken: now - day}, 0, now, now, 1},
		"beside one of epoch 4":           {Mark{Newest: now - 2*day, Taken: now - day}, 4, now, now, 5},
		"by a clock that was set back":    {Mark{Newest: now + day, Taken: now - day}, 0, now + day, now + day, 1},
		"of a snapshot from the future":   {Mark{Newest: now - day, Taken: now + 2*day}, 0, now + 2*day, now, 1},
		"cut at an instant in the future": {Mark{Newest: now - day, Taken: now - day, Until: now + day}, 0, now + day, now, 1},
	} {
		n := marked(t, &c.mark)
		u := &Use{Rows: n, Elsewhere: c.elsewhere, Now: now, Most: 10, Write: n.write}
		more := wal.Op{Kind: wal.OpSet, Key: wal.MetaKey("beside"), Value: []byte{1}}
		used, err := u.Take(&c.mark, nil, false, more)
		if err != nil || used.Held != 1 || used.Epoch != c.epoch || used.Mark != c.mark || n[string(more.Key)] == nil {
			t.Fatalf("%s: %+v, %v", name, used, err)
		}
		first := n.terms(t)
		if want := uint64(c.latest)*eventsPerMilli + perDay/24; first.EventsAbove != want || first.RestoredAt != c.at || first.Epoch != 0 || first.GapEnd != 0 {
			t.Errorf("%s: %+v, want events above %d", name, first, want)
		}
		if m, err := Find(n); err != nil || m == nil || *m != c.mark {
			t.Errorf("%s: the mark is %+v, %v, and the journal lacks something still", name, m, err)
		}
		again, err := u.Begin(&c.mark)
		if err != nil || again.Epoch != c.epoch+1 || again.Held != 0 {
			t.Errorf("%s: again %+v, %v", name, again, err)
		}
		if second := n.terms(t); second.EventsAbove != first.EventsAbove+perDay/24 {
			t.Errorf("%s: the second time events are above %d, the first time %d", name, second.EventsAbove, first.EventsAbove)
		}
		if err := n.write(Caught()); err != nil {
			t.Fatal(err)
		}
		if m, err := Find(n); m != nil || err != nil {
			t.Errorf("%s: caught up, and the mark is %+v, %v", name, m, err)
		}
	}
}

// TestGapAccepted takes a restored journal into use that cannot catch up: only where an operator accepts its gap, and
// then cases from before it wait; the mark is kept for a start that can catch up.
func TestGapAccepted(t *testing.T) {
	m := Mark{Position: 9, Newest: now - 2*day, Taken: now - day}
	n := marked(t, &m)
	u := &Use{Rows: n, Elsewhere: 2, Now: now, Most: 10, Write: n.write}
	unasked := errors.New("the scheme keeps no list")
	before := maps.Clone(n)
	var refused *Unaccepted
	if used, err := u.Take(&m, unasked, false, wal.Op{}); used != nil || !errors.As(err, &refused) || !errors.Is(err, unasked) || refused.Mark != m {
		t.Errorf("%+v, %v", used, err)
	}
	if !maps.EqualFunc(n, before, bytes.Equal) {
		t.Error("a refused journal is changed")
	}
	used, err := u.Take(&m, unasked, true, wal.Op{})
	if err != nil || used.Epoch != 3 || used.Held != 1 {
		t.Fatalf("%+v, %v", used, err)
	}
	if terms := n.terms(t); terms.Epoch != 3 || terms.GapEnd != now {
		t.Errorf("%+v", terms)
	}
	if at, err := Find(n); at != nil || err != nil {
		t.Errorf("the mark is still there: %+v, %v", at, err)
	}
	if at, err := Uncaught(n); err != nil || at == nil || *at != m {
		t.Errorf("kept: %+v, %v", at, err)
	}
	if used, err = u.Accept(&m); err != nil || used.Epoch != 4 || n.terms(t).Epoch != 4 {
		t.Errorf("accepted again: %+v, %v", used, err)
	}
	if err := n.write(Caught()); err != nil {
		t.Fatal(err)
	}
	if at, err := Uncaught(n); err != nil || at != nil {
		t.Errorf("caught up, and kept: %+v, %v", at, err)
	}
}

// TestClaimDaysAreRead checks that the terms name each day of which idempotency keys are stored.
func TestClaimDaysAreRead(t *testing.T) {
	n := named{}
	for _, d := range []uint16{20_000, 20_003} {
		for _, account := range []pix.AccountID{1, 2} {
			n[string(layout.IdempotencyKey(d, account, [16]byte{}))] = []byte{1}
		}
	}
	if got := n.terms(t).ClaimDays; !slices.Equal(got, []uint16{20_000, 20_003}) {
		t.Errorf("%v", got)
	}
}

// TestJoin checks what a mark keeps of an earlier one, whose journal had not caught up: what is missing began at the
// earlier of the two.
func TestJoin(t *testing.T) {
	for name, c := range map[string]struct{ mark, old, want Mark }{
		"older snapshot now":          {Mark{Taken: 5}, Mark{Taken: 7}, Mark{Taken: 5}},
		"older snapshot before":       {Mark{Taken: 7}, Mark{Taken: 5}, Mark{Taken: 7, Until: 5}},
		"cut now":                     {Mark{Taken: 7, Until: 6}, Mark{Taken: 8}, Mark{Taken: 7, Until: 6}},
		"cut before":                  {Mark{Taken: 7}, Mark{Taken: 8, Until: 4}, Mark{Taken: 7, Until: 4}},
		"a copy that was cut":         {Mark{Until: 6}, Mark{Taken: 8}, Mark{Taken: 8, Until: 6}},
		"a copy of an older snapshot": {Mark{Until: 9}, Mark{Taken: 8}, Mark{Taken: 8}},
	} {
		m := c.mark
		if m.Join(&c.old); m != c.want || m.Since() != min(c.mark.Since(), c.old.Since()) {
			t.Errorf("%s: %+v, want %+v", name, m, c.want)
		}
	}
}

// TestSums checks the sums over all accounts, which may be more than 64 bits.
func TestSums(t *testing.T) {
	const most = pix.Amount(1<<63 - 1)
	sums, err := SumsOf(func(each func(wal.Record) error) error {
		var errs []error
		for stream, totals := range map[wal.Stream]ledger.Totals{
			1: {Balance: most, Held: 1, MEDHeld: 10}, 2: {Balance: most, Held: 2, MEDHeld: 20}, 3: {Balance: most}, registry.Stream: {}, registry.ReservationStream: {}, registry.OperatorStream: {},
		} {
			r := ledger.Record{Kind: ledger.Credited, Body: ledger.Body{Totals: totals}}
			errs = append(errs, each(wal.Record{Stream: stream, Seq: 1, Kind: uint8(r.Kind), Time: 1, Body: r.Encode()}))
		}
		return errors.Join(errs...)
	})
	if err != nil || sums.Accounts != 3 || sums.Balance.String() != "27670116110564327421" || sums.Pending.String() != "3" || sums.MEDHeld.String() != "30" {
		t.Errorf("%+v, %v", sums, err)
	}
	damaged := func(each func(wal.Record) error) error { return each(wal.Record{Stream: 1, Body: []byte{0xff}}) }
	if _, err := SumsOf(damaged); err == nil {
		t.Error("a record that cannot be read is left out")
	}
}
