package sim

import (
	"errors"
	"log/slog"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

// TestListsOlderBook checks that the rejections, reports and silent payments in a book of a version
// that kept no rows for the list are listed all the same, once.
func TestListsOlderBook(t *testing.T) {
	at, fs := goldenNoon, vfs.NewMem()
	open := func() *Sim {
		s, err := Open(Options{Dir: "sim", FS: fs, Now: func() pix.Millis { return at }, Entropy: draw, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	for n, key := range []string{"ana@example.com", "reject-ac03@pix.test", "silent@pix.test"} {
		p := payoutAt(at)
		p.Tx, p.EndToEnd, p.Key = pix.TxID{byte(n + 1)}, p.EndToEnd[:31]+string(rune('a'+n)), pix.Key{Type: pix.KeyEmail, Value: key}
		if _, err := s.Submit(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	const paid = "E60701190202603011200abcdefghijk"
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Pay(t.Context(), Payment{Key: shop.Value, Amount: 5, EndToEnd: paid}); err != nil {
		t.Fatal(err)
	}
	at++
	report, err := s.Report(t.Context(), Report{EndToEnd: paid, Situation: "SCAM"})
	if err != nil {
		t.Fatal(err)
	}
	at++
	_, wrong := s.Return(t.Context(), scheme.Refund{Tx: pix.TxID{9}, Account: 7, EndToEnd: "D" + paid[1:], Original: paid, Amount: 2})
	if err := errors.Join(wrong, s.Withdraw(t.Context(), report)); err != nil {
		t.Fatal(err)
	}
	at += 1000
	list := func(s *Sim) []scheme.Movement {
		page, err := s.Movements(t.Context(), goldenNoon, "", 100)
		if err != nil || page.Next != "" {
			t.Fatal(page.Next, err)
		}
		return page.Movements
	}
	want := list(s)
	if len(want) != 7 {
		t.Fatalf("%d listed: %+v", len(want), want)
	}
	var old []wal.Op
	if err := s.store.Scan([]byte{rowOther}, []byte{rowOther + 1}, func(k, _ []byte) (bool, error) {
		old = append(old, wal.Op{Kind: wal.OpDelete, Key: append([]byte(nil), k...)})
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-s.append(old, nil), s.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := open()
		if got := list(s); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListsWithinAnInstant lists a payment, a report of it and a rejection of the same millisecond in pages of
// one, and a payout that settles later as pending: its instant is that of its submission.
func TestListsWithinAnInstant(t *testing.T) {
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.Now = func() pix.Millis { return goldenNoon } })
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	const paid = "E60701190202603011200abcdefghijk"
	if _, _, err := s.Pay(t.Context(), Payment{Key: shop.Value, Amount: 5, EndToEnd: paid}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Report(t.Context(), Report{EndToEnd: paid, Situation: "SCAM"}); err != nil {
		t.Fatal(err)
	}
	later := payoutAt(goldenNoon)
	if _, err := s.Submit(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	var kinds []scheme.NoticeKind
	after := ""
	for range 10 {
		page, err := s.Movements(t.Context(), goldenNoon, after, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Movements {
			if kinds = append(kinds, m.Notice.Kind); m.At != goldenNoon {
				t.Errorf("%+v", m)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if want := []scheme.NoticeKind{scheme.PaymentArrived, scheme.InfractionOpened, 0}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("listed %v, want %v", kinds, want)
	}
}
