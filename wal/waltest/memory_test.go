package waltest

import (
	"errors"
	"testing"

	"pixd/wal"
)

// TestInMemoryAfterFailure checks that an entry appended after a failure gets a ticket that
// never becomes durable, as in wal.Store.
func TestInMemoryAfterFailure(t *testing.T) {
	p := NewInMemory()
	p.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: []byte("ka"), Value: []byte("v")}}})
	p.Settle()
	p.Fail(errors.New("no space left on device"))
	if ticket := p.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: []byte("kb"), Value: []byte("v")}}}); ticket <= p.Durable() {
		t.Errorf("ticket %d, and %d is durable", ticket, p.Durable())
	}
	p.Settle()
	if _, there, _ := p.Get([]byte("kb")); there {
		t.Error("it was written")
	}
}
