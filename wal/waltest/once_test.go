package waltest

import (
	"testing"

	"pixd/wal"
)

// TestSetTwicePanics checks that a journal, and what a crash or a checkpoint makes of it, panics where a
// row that is set once is set twice.
func TestSetTwicePanics(t *testing.T) {
	set := func(p *InMemory) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		p.Append(&wal.Entry{Ops: []wal.Op{{Kind: wal.OpSet, Key: []byte("o1"), Value: []byte("v")}}})
		p.Settle()
		return false
	}
	for name, of := range map[string]func(*InMemory) *InMemory{
		"the same": func(p *InMemory) *InMemory { return p }, "crash": func(p *InMemory) *InMemory { return p.Crash(true) },
		"checkpoint": (*InMemory).Checkpoint,
	} {
		p := NewInMemory('o')
		if set(p) || !set(of(p)) {
			t.Errorf("%s: no panic, or one for the first value", name)
		}
	}
}
