package sim

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fxamacker/cbor/v2"

	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/wal"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew: a stored format may only grow")

// TestGolden checks the encoding of the book's rows, which must not change because later
// versions must be able to read a book.
func TestGolden(t *testing.T) {
	tx := pix.NewTxID(1772366400000, [10]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	rows := []any{
		&keyRow{Account: 7, Type: pix.KeyEmail},
		&payment{
			Tx: tx, Account: 7, EndToEnd: "E99999004202603011200abcdefghijk", Amount: 1_000_000, Key: "ana@example.com",
			At: 1772366400000, DueAt: 1772366400200, Reason: "AC03",
			KeyType: pix.KeyEmail, RecipientISPB: "99999005", Description: "supplier", Purpose: "IPAY",
		},
		&arrival{
			EndToEnd: "E60701190202603011200abcdefghijk", Account: 7, Key: "ana@example.com", Amount: 500, TxID: "PIXIN1",
			PayerName: "Açaí", PayerDocument: "12345678909", PayerISPB: "60701190", At: 1772366400000, Description: "coffee",
			RefusedAt: 1772366400002,
		},
		&movement{
			Kind: MovedReturn, Account: 7, Amount: 500, Other: "99999005", EndToEnd: "E99999004202603011200abcdefghijk", Tx: tx,
			ReturnID: "D99999005202603011200abcdefghijk",
		},
		&mark{At: 1772366400000, Number: 3},
		&sums{Sent: 1, Received: 2, ReturnedBy: 3, ReturnedTo: 4, Messages: 5, Refused: 6},
		&returned{
			ID: "D99999005202603011200abcdefghijk", Tx: tx, EndToEnd: "E99999004202603011200abcdefghijk", Account: 7, Amount: 500,
			Reason: "MD06", At: 1772366400000,
		},
		&infraction{
			ID: "019ca945-0a00-7102-8304-05060708090a", EndToEnd: "E60701190202603011200abcdefghijk", Account: 7, Amount: 500,
			Situation: "SCAM", At: 1772366400000, CancelledAt: 1772366400001,
		},
		&limitedRow{Times: 2},
		&capacityRow{Lookups: BucketExhausted},
		&refund{
			Tx: tx, Account: 7, EndToEnd: "D99999004202603011200abcdefghijk", Original: "E60701190202603011200abcdefghijk", Amount: 500,
			ReturnCode: "MD06", Description: "troco", At: 1772366400000, DueAt: 1772366400200, Reason: "CH16",
		},
	}
	var b strings.Builder
	for _, row := range rows {
		v := reflect.ValueOf(row).Elem()
		for f, value := range v.Fields() {
			if value.IsZero() {
				t.Errorf("%T: %s is empty", row, f.Name)
			}
		}
		op := set([]byte{'a'}, row)
		fmt.Fprintf(&b, "%s %x\n", v.Type().Name(), op.Value)
		back := reflect.New(v.Type())
		if err := cbor.Unmarshal(op.Value, back.Interface()); err != nil || !reflect.DeepEqual(back.Interface(), row) {
			t.Errorf("%T came back as %+v (%v)", row, back.Interface(), err)
		}
	}
	golden(t, "rows.golden", b.String())
}

const goldenNoon = pix.Millis(1772366400000) // 2026-03-01T12:00:00Z

// TestGoldenBook checks which rows each operation writes.
func TestGoldenBook(t *testing.T) {
	at := goldenNoon
	s := openOn(t, vfs.NewMem(), func(o *Options) {
		o.Now = func() pix.Millis { return at }
		o.Entropy = func() [10]byte { return [10]byte{9} }
	})
	payouts := func(chars string, keys ...string) (all []scheme.Payment) {
		for n, key := range keys {
			p := payoutAt(at)
			p.Tx, p.EndToEnd, p.Key.Value = pix.TxID{byte(n + 1)}, "E99999004202603011200abcdefghij"+chars[n:n+1], key
			all = append(all, p)
		}
		return all
	}("klmn", "ana@example.com", "silent@pix.test", "returned@pix.test", "client-limited-1@pix.test")
	for _, p := range payouts[:3] {
		if _, err := s.Submit(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	const paid = "E60701190202603011200abcdefghijk"
	_, _, err := s.Pay(t.Context(), Payment{Key: shop.Value, Amount: 5, EndToEnd: paid})
	_, limited := s.Lookup(t.Context(), scheme.Query{Tx: payouts[3].Tx, Key: payouts[3].Key})
	capacity := s.SetCapacity(t.Context(), ClientLimited)
	report, reported := s.Report(t.Context(), Report{EndToEnd: paid, Situation: "SCAM"})
	if refused := (*scheme.Refused)(nil); err != nil || !errors.As(limited, &refused) || capacity != nil || reported != nil {
		t.Fatal(err, limited, capacity, reported)
	}
	at += 100
	_, returned := s.ReturnPayout(t.Context(), PayoutReturn{EndToEnd: payouts[0].EndToEnd, Amount: 7})
	if withdrawn := s.Withdraw(t.Context(), report); returned != nil || withdrawn != nil {
		t.Fatal(returned, withdrawn)
	}
	at++
	if err := s.addUp(); err != nil {
		t.Fatal(err)
	}
	golden(t, "book.golden", dump(t, s))
}

// TestGoldenRefunds checks which rows a refund writes that settles, that is rejected, or that
// is a duplicate.
func TestGoldenRefunds(t *testing.T) {
	const paid = "E60701190202603011200abcdefghijk"
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.Now = func() pix.Millis { return goldenNoon } })
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Pay(t.Context(), Payment{Key: shop.Value, Amount: 5, EndToEnd: paid}); err != nil {
		t.Fatal(err)
	}
	for n, c := range []struct{ id, code string }{{"k", "MD06"}, {"l", ""}, {"k", "MD06"}} {
		if _, err := s.Return(t.Context(), scheme.Refund{
			Tx: pix.TxID{byte(n + 1)}, Account: 7, EndToEnd: "D99999004202603011200abcdefghij" + c.id, Original: paid, Amount: 2, Reason: c.code,
		}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "refunds.golden", dump(t, s))
}

func dump(t *testing.T, s *Sim) string {
	t.Helper()
	if err := s.waitDurable(t.Context()); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.store.Scan([]byte{'a'}, []byte{'z' + 1}, func(k, v []byte) (bool, error) {
		fmt.Fprintf(&b, "%s %s\n", hex.EncodeToString(k), hex.EncodeToString(v))
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestOlderBook checks that a book written by a version without movements can be read, and
// that each of its payments counts once in the sums.
func TestOlderBook(t *testing.T) {
	rows, err := os.ReadFile(filepath.Join("testdata", "book-before-movements.golden"))
	if err != nil {
		t.Fatal(err)
	}
	fs := vfs.NewMem()
	store, err := wal.Open(wal.Options{Dir: "sim", FS: fs, Hard: map[string]string{"book": bookFormat}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var ops []wal.Op
	for line := range strings.Lines(string(rows)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		kb, err := hex.DecodeString(k)
		vb, err2 := hex.DecodeString(v)
		if err != nil || err2 != nil {
			t.Fatal(line)
		}
		ops = append(ops, wal.Op{Kind: wal.OpSet, Key: kb, Value: vb})
	}
	store.Append(&wal.Entry{Ops: ops})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := Open(Options{Dir: "sim", FS: fs, Now: func() pix.Millis { return goldenNoon + 1000 }, Entropy: draw, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Book(t.Context())
		want := scheme.Sums{Sent: 100, Received: 5}
		if err != nil || len(b.Accounts) != 1 || b.Accounts[0].Sums != want || b.OldestOpen != goldenNoon {
			t.Errorf("%+v %v", b, err)
		}
		if err := errors.Join(s.addUp(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: a stored format has changed\n got %s\nwant %s", name, got, want)
	}
}
