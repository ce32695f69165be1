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

// TestInMemoryCheckpoint checks that a copy has what is durable and nothing else, that it goes on
// from there, and that neither journal changes the other.
func TestInMemoryCheckpoint(t *testing.T) {
	p, tails := NewInMemory(), map[wal.Stream]newestRecord{}
	write := func(j *InMemory, stream wal.Stream, body string) {
		tail := tails[stream]
		e := &wal.Entry{Stream: stream, Expect: tail.Seq, Ops: []wal.Op{{Kind: wal.OpSet, Key: []byte("k"), Value: []byte(body)}}}
		e.Records = sealBodies(stream, &tail, body)
		tails[stream] = tail
		j.Append(e)
	}
	newest := func(j *InMemory) (bodies string) {
		if err := j.Newest(func(r wal.Record) error { bodies += string(r.Body) + " "; return nil }); err != nil {
			t.Error(err)
		}
		return bodies
	}
	write(p, 1, "a")
	write(p, 2, "b")
	p.Settle()
	before, _, _ := p.Head()
	durable := tails[2]
	write(p, 2, "c")
	p.Commit(0)
	c := p.Checkpoint()
	if at, _, _ := c.Head(); at != before || newest(c) != "a b " || newest(p) != "a c " {
		t.Errorf("the copy at %d of %d has %sof %s", at, before, newest(c), newest(p))
	}
	if k, _, _ := c.Get([]byte("k")); string(k) != "b" {
		t.Errorf("the copy has the row %s", k)
	}
	p.Sync()
	tails[2] = durable
	write(c, 2, "d")
	c.Settle()
	if at, _, _ := c.Head(); at != before+1 || newest(c) != "a d " || newest(p) != "a c " {
		t.Errorf("the copy goes on to %d with %sbeside %s", at, newest(c), newest(p))
	}
}
