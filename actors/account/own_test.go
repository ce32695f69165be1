package account

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// TestOwn checks that a range of an account's rows is read as it is after all its decisions:
// rows that are not durable yet, which are new, changed or deleted, together with those on
// disk, each once and in the order of the keys, up to where the reading stops.
func TestOwn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		m, store, want := newMachine(testConfig, testAccount), newMemory(), map[string]string{}
		var rows []layout.Row
		for range rng.IntN(9) {
			k := fmt.Sprintf("u%d", rng.IntN(10))
			store.rows[k], want[k] = []byte("disk"), "disk"
		}
		for n := range rng.IntN(9) {
			k := fmt.Sprintf("u%d", rng.IntN(10))
			row := layout.Row{Key: []byte(k), Value: fmt.Appendf(nil, "fresh %d", n)}
			if want[k] = string(row.Value); rng.IntN(3) == 0 {
				row.Value = nil
				delete(want, k)
			}
			rows = append(rows, row)
			if rng.IntN(2) == 0 { // the row is on disk too, and its entry is not known to be durable yet
				if store.rows[k] = row.Value; row.Value == nil {
					delete(store.rows, k)
				}
			}
		}
		m.overlay.add(1, nil, rows, ledger.Totals{})
		lo, hi := fmt.Sprintf("u%d", rng.IntN(6)), fmt.Sprintf("u%d", 3+rng.IntN(8))
		var expect []string
		for k, v := range want {
			if k >= lo && k < hi {
				expect = append(expect, k+"="+v)
			}
		}
		slices.Sort(expect)
		limit := rng.IntN(12) // the reading stops after so many rows
		expect = expect[:min(len(expect), max(limit, 1))]
		var got []string
		err := (&reader{m, store}).Own([]byte(lo), []byte(hi), func(k, v []byte) (bool, error) {
			got = append(got, string(k)+"="+string(v))
			return len(got) < limit, nil
		})
		if err != nil || !slices.Equal(got, expect) {
			t.Fatalf("from %s to %s, at most %d: %v, want %v (%v)\non disk %q\nfresh %q", lo, hi, limit, got, expect, err, store.rows, rows)
		}
	}
}

// brokenScan is a store whose scans end with an error after one row.
type brokenScan struct{ *memory }

var errScan = errors.New("a scan that fails")

// Scan implements Rows.
func (b brokenScan) Scan(lo, hi []byte, fn func(k, v []byte) (bool, error)) error {
	if _, err := fn([]byte("u5"), []byte("disk")); err != nil {
		return err
	}
	return errScan
}

// TestOwnFails checks that an error of the store, or of the function that takes the rows, ends
// the reading.
func TestOwnFails(t *testing.T) {
	m := newMachine(testConfig, testAccount)
	var fresh []layout.Row
	for _, k := range []string{"u1", "u2", "u7", "u8"} {
		fresh = append(fresh, layout.Row{Key: []byte(k), Value: []byte("v")})
	}
	m.overlay.add(1, nil, fresh, ledger.Totals{})
	var got []string
	err := (&reader{m, brokenScan{newMemory()}}).Own([]byte("u"), []byte("v"), func(k, _ []byte) (bool, error) {
		got = append(got, string(k))
		return true, nil
	})
	if !errors.Is(err, errScan) || !slices.Equal(got, []string{"u1", "u2", "u5"}) {
		t.Errorf("%v, %v", got, err)
	}
	for at, want := range map[string]int{"u1": 1, "u2": 2, "u5": 3, "u7": 4, "u8": 5} {
		store, n, fault := newMemory(), 0, errors.New("a row that cannot be read")
		store.rows["u5"] = []byte("disk")
		err := (&reader{m, store}).Own([]byte("u"), []byte("v"), func(k, _ []byte) (bool, error) {
			if n++; string(k) == at {
				return true, fault
			}
			return true, nil
		})
		if !errors.Is(err, fault) || n != want {
			t.Errorf("at %s: %d rows, %v", at, n, err)
		}
	}
}

// TestSafeBalance checks that a refund spends neither money that is not durable yet nor money
// that is held, and that each entry which becomes durable counts from then on.
func TestSafeBalance(t *testing.T) {
	b := newBench(t)
	b.step(ledger.OpenAccount{Settings: settings()})
	e2e := endToEnd("a")
	b.step(ledger.ReceivePayment{EndToEnd: e2e, Amount: 1000, Key: "k"})
	k, _ := pix.ParseKey(pix.KeyEmail, "a@example.com")
	b.step(ledger.RequestPayout{Amount: 900, Key: k})
	b.durable = false // from here on the test says what is durable
	b.store.durable = b.store.ticket
	refund := func(amount pix.Amount) ledger.RefusalCode {
		t.Helper()
		out := b.step(ledger.RequestRefund{Original: e2e, Amount: amount, Reason: "MD06"})
		if out.Answer == nil || out.Answer.Refusal == nil {
			return 0
		}
		return out.Answer.Refusal.Code
	}
	if code := refund(101); code != ledger.RefuseSafeBalance {
		t.Errorf("more than is available: %v", code)
	}
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 300})
	first := b.store.ticket
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 200})
	second := b.store.ticket
	if got := b.machine.head.Totals.Available(); got != 600 {
		t.Fatalf("available %d", got)
	}
	for _, v := range []struct {
		durable wal.Ticket
		amount  pix.Amount
		want    ledger.RefusalCode
	}{
		{first - 1, 101, ledger.RefuseSafeBalance}, {first - 1, 100, 0}, {first, 401, ledger.RefuseSafeBalance}, {first, 400, 0},
	} {
		b.store.durable = v.durable
		if code := refund(v.amount); code != v.want {
			t.Errorf("durable to %d, %d: %v, want %v", v.durable, v.amount, code, v.want)
		}
	}
	// The refunds' own holds of 500 are in memory alone: 100 are left of 600 there, and 400 of
	// what is durable.
	b.store.durable = first
	if code := refund(101); code != ledger.RefuseSafeBalance {
		t.Errorf("held in memory: %v", code)
	}
	if code := refund(100); code != 0 {
		t.Errorf("the smaller of 100 in memory and 400 durable: %v", code)
	}
	b.store.durable = second
	b.step(ledger.Credit{Kind: pix.TxTED, Amount: 50})
	b.store.durable = b.store.ticket
	if code := refund(50); code != 0 {
		t.Errorf("all is durable: %v", code)
	}
	if got := b.machine.head.Totals; got.Available() != 0 || got.Held != 900+100+400+100+50 {
		t.Errorf("%+v", got)
	}
}

// TestEachCarried checks that each transfer that a child actor carries is visited once, and none after
// the visitor has had enough.
func TestEachCarried(t *testing.T) {
	work := map[pix.TxID]*ledger.Transaction{{1}: {Amount: 1}, {2}: {Amount: 2}, {3}: {Amount: 4}}
	r := &reader{machine: &Machine{work: work}}
	var sum pix.Amount
	r.EachCarried(func(t *ledger.Transaction) bool { sum += t.Amount; return true })
	if sum != 7 {
		t.Errorf("visited a sum of %d", sum)
	}
	visits := 0
	r.EachCarried(func(*ledger.Transaction) bool { visits++; return visits < 2 })
	if visits != 2 {
		t.Errorf("%d visits after the second said that there be no more", visits)
	}
}
