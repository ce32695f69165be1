package engine

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/wal"
)

// TestVerifyClaims: end-to-end claims and their rows are held against each other.
func TestVerifyClaims(t *testing.T) {
	t.Parallel()
	const ours, stray = "E99999004202603011200aaaaaaaaaaa", "E99999004202603011200bbbbbbbbbbb"
	row := func(endToEnd string, a ledger.AccountID, seq uint64) wal.Op {
		r := registry.Record{Kind: registry.EndToEndClaimed, Seq: seq, EndToEnd: &registry.EndToEndClaim{EndToEnd: endToEnd, Account: a}}
		p := registry.Project(&r)[0]
		return wal.Op{Kind: wal.OpSet, Key: p.Key, Value: p.Value}
	}
	for want, op := range map[string]wal.Op{
		"":                        {},
		"is not what record":      row(ours, 8, 3),
		"is there, and no record": row(stray, 7, 4),
		"is missing, and record":  {Kind: wal.OpDelete, Key: row(ours, 7, 3).Key},
	} {
		fs := vfs.NewMem()
		store := openJournal(t, fs)
		g, err := registry.Open(store, now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.ClaimAccount(7, true, ledger.DefaultSettings(), ledger.Key{Type: ledger.KeyEVP, Value: "k"}); err != nil {
			t.Fatal(err)
		}
		if ok, err := g.ClaimEndToEnd(7, ours); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if op.Kind != 0 {
			if err := write(store, op); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = verify(wal.Options{Dir: "data/journal", FS: fs, ReadOnly: true}, VerifyOptions{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
