package wal

// Journal takes entries. Store is its body; tests have others.
type Journal interface {
	// Append queues an entry and returns its ticket at once. The entry's Outs are released, in the
	// order of the tickets, once it is durable, or with an error if it was not written.
	Append(e *Entry) Ticket
}

// Tail is what a machine is restored from: its rows, and the records of its stream.
type Tail interface {
	// Get returns the value of a key; false where the key does not exist.
	Get(key []byte) (value []byte, ok bool, err error)
	// Read calls fn for the records of a stream from sequence from on, verified against prev, the
	// checksum of the record before; an error of fn ends it.
	Read(stream Stream, from, prev uint64, fn func(Record) error) error
	// Last returns sequence and checksum of a stream's newest record; 0 and 0 where it has none.
	Last(stream Stream) (seq, sum uint64, err error)
}
