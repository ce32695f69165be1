package journal

import (
	"testing"

	"pixd/actors/sorted"
	"pixd/wal"
)

// TestMendReplaces checks that a stored row is deleted before it is set again, as rows that are set once
// must be, and that what is written is not what the derived rows go on to use.
func TestMendReplaces(t *testing.T) {
	m, row := new(mending), sorted.Row{Key: []byte("okey"), Value: []byte("value")}
	if err := m.replace(&row); err != nil {
		t.Fatal(err)
	}
	row.Key[0], row.Value[0] = 'x', 'x'
	if len(m.ops) != 2 || m.ops[0].Kind != wal.OpDelete || m.ops[1].Kind != wal.OpSet ||
		string(m.ops[0].Key) != "okey" || string(m.ops[1].Key) != "okey" || string(m.ops[1].Value) != "value" {
		t.Errorf("%+v", m.ops)
	}
}
