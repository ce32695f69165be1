package restored

import (
	"encoding/hex"
	"testing"

	"pixd/wal"
)

// named are named values in memory.
type named map[string][]byte

// Get implements layout.Getter.
func (n named) Get(key []byte) ([]byte, bool, error) {
	v, ok := n[string(key)]
	return v, ok, nil
}

// TestKnown checks of which gap a journal lacks nothing: of the newest alone.
func TestKnown(t *testing.T) {
	v := named{}
	known := func(want bool) {
		t.Helper()
		if got, until, err := Known(v); got != want || err != nil || got && until != 5 {
			t.Errorf("known: %v until %v, %v, want %v", got, until, err, want)
		}
	}
	known(false)
	op := SetKnown(3, 5)
	if got := hex.EncodeToString(op.Value); got != "00000000000000030000000000000005" || string(op.Key) != string(wal.MetaKey("gap_known")) {
		t.Errorf("stored as %q %s, which is for ever", op.Key, got)
	}
	v[string(op.Key)] = op.Value
	known(false) // there is no gap
	v[string(wal.MetaKey(MetaGap))] = pair(3, 1_800_000_000_000)
	known(true)
	v[string(wal.MetaKey(MetaGap))] = pair(4, 1_900_000_000_000)
	known(false)
	v[string(op.Key)] = []byte("short")
	if _, _, err := Known(v); err == nil {
		t.Error("a damaged value is believed")
	}
}
