package sim

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fxamacker/cbor/v2"

	"pixd/actors/ledger"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew: a stored format may only grow")

// TestGolden pins the book's rows: a book outlives the engine that wrote it.
func TestGolden(t *testing.T) {
	tx := ledger.NewTxID(1772366400000, [10]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	rows := []any{
		&keyRow{Account: 7, Type: ledger.KeyEmail},
		&payment{
			Tx: tx, Account: 7, EndToEnd: "E99999004202603011200abcdefghijk", Amount: 1_000_000, Key: "ana@example.com",
			At: 1772366400000, DueAt: 1772366400200, Reason: "AC03",
		},
		&arrival{
			EndToEnd: "E60701190202603011200abcdefghijk", Account: 7, Key: "ana@example.com", Amount: 500, TxID: "PIXIN1",
			PayerName: "Açaí", PayerDocument: "12345678909", PayerISPB: "60701190", At: 1772366400000, Description: "coffee",
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

// TestGoldenBook pins which rows a submission and a payment write.
func TestGoldenBook(t *testing.T) {
	noon := ledger.Millis(1772366400000)
	s := openOn(t, vfs.NewMem(), func(o *Options) { o.Now = func() ledger.Millis { return noon } })
	p := payoutAt(noon)
	p.Tx, p.EndToEnd = ledger.TxID{1}, "E99999004202603011200abcdefghijk"
	if _, err := s.Submit(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := s.RegisterKey(t.Context(), shop, 7); err != nil {
		t.Fatal(err)
	}
	row, err := s.arrive(Payment{Key: shop.Value, Amount: 5, EndToEnd: "E60701190202603011200abcdefghijk"})
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.book(row, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.store.Scan([]byte{'a'}, []byte{'z' + 1}, func(k, v []byte) (bool, error) {
		fmt.Fprintf(&b, "%s %s\n", hex.EncodeToString(k), hex.EncodeToString(v))
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	golden(t, "book.golden", b.String())
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
