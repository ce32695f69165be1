package recordjson

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
)

var rewrite = flag.Bool("golden", false, "write the golden file anew")

// body returns the body of a golden record.
func body(t testing.TB, folder, kind string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "actors", folder, "testdata", kind+".golden"))
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		if digits, ok := strings.CutPrefix(row, "body "); ok {
			b, err := hex.DecodeString(strings.TrimSpace(digits))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatalf("%s has no body", kind)
	return nil
}

const goldenTime = pix.Millis(1772366400201)

// goldenLines returns the lines of the golden records of every kind.
func goldenLines(t testing.TB) (lines []byte) {
	t.Helper()
	for k := ledger.AccountOpened; k <= ledger.SubscriptionTested; k++ {
		r := ledger.Record{Account: 7, Seq: 300, Time: goldenTime, Kind: k}
		if err := r.Decode(body(t, "ledger", k.String())); err != nil {
			t.Fatal(err)
		}
		lines = AppendLedger(lines, 12, &r)
	}
	for k := registry.AccountRegistered; k <= registry.FirstApprovalOver; k++ {
		r := registry.Record{Kind: k, Seq: 300, Time: goldenTime}
		if err := r.Decode(body(t, "registry", k.String())); err != nil {
			t.Fatal(err)
		}
		lines = AppendRegistry(lines, 12, "registry", &r)
	}
	return lines
}

// TestGolden checks the line of every kind of record, and that each line is JSON.
func TestGolden(t *testing.T) {
	got := goldenLines(t)
	path := filepath.Join("testdata", "records.golden")
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	expected := strings.Split(string(want), "\n")
	for i, one := range strings.Split(string(got), "\n") {
		if i >= len(expected) || one != expected[i] {
			t.Errorf("line %d is\n%s", i+1, one)
		}
		if one != "" && !json.Valid([]byte(one)) {
			t.Errorf("line %d is no JSON", i+1)
		}
	}
	if n := strings.Count(string(got), "\n"); n != 52+15 || len(got) != len(want) {
		t.Errorf("%d lines", n)
	}
	if strings.Contains(string(got), "BQUFBQUF") || strings.Contains(string(got), "0505050505") || strings.Contains(string(got), "AwMDAwMD") || strings.Contains(string(got), "0303030303") || strings.Contains(string(got), "010203000000") {
		t.Error("a secret of the golden records is shown")
	}
	known := ledger.SubscriptionTested + 1
	if !strings.HasPrefix(known.String(), "kind ") || !strings.HasPrefix((registry.FirstApprovalOver+1).String(), "kind ") {
		t.Error("there are kinds of records that this test does not show")
	}
}
