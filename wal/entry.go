package wal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system that a store is on. It is Pebble's type under a name of this
// package, so that a caller's test can pass a file system that simulates power failures
// without importing Pebble.
type FS = vfs.FS

// Stream is the number of a stream: one chain of records. Stream 0 is the registry's.
type Stream uint64

// Ticket is the number of an entry in the order of submission, from 1; 0 is before all
// entries.
type Ticket uint64

// OpKind says what an Op does.
type OpKind uint8

// The kinds of Op.
const (
	OpSet         OpKind = iota + 1 // Key gets the value Value
	OpDelete                        // Key is deleted; Value is ignored
	OpDeleteRange                   // every row with a key in [Key, Value) is deleted
)

// Op is one change of a row.
type Op struct {
	Kind       OpKind
	Key, Value []byte
}

// Out is something that waits until an entry is durable, such as a reply. Release(nil)
// means that the entry is durable. An error for which errors.Is(err, ErrSequence) is true
// means that the entry was refused and nothing of it was written (if the stream's newest
// record cannot be read, the error is also the *Damage). Release is called on the writer's
// goroutine, or on the goroutine of Append for an entry that writes nothing when everything
// is durable already. It must not block.
type Out interface{ Release(err error) }

// ErrSequence refuses an entry whose Expect is not the sequence of its stream's newest
// record. The caller must read the stream again.
var ErrSequence = errors.New("wal: stream is not where the entry expects it")

// Entry is one unit of work: either all of it is written, or nothing.
type Entry struct {
	Stream  Stream
	Expect  uint64   // sequence of the stream's newest record before Records; not checked without Records
	Records []Sealed // records with sequences from Expect+1 without gaps, each sealed against the one before
	Ops     []Op     // changes of rows, applied in order after the records; may be set without Records
	Shared  bool     // only for Ops without Records. true: every copy of the journal needs these rows, so the batch takes a position; false: the rows are local to this machine
	Forget  bool     // the stream's account was passivated: the writer forgets the stream's sequence and checksum
	Lazy    bool     // no client waits for the entry: it is written together with the next entry that is not lazy, or 2 ms later
	Out     []Out    // released in order, once this entry and every entry before it are durable
}

// Parked reports whether the entry writes nothing: its Outs only wait for the entries before it.
func (e *Entry) Parked() bool {
	return len(e.Records) == 0 && len(e.Ops) == 0 && !e.Forget
}

// size returns how many bytes the entry adds to a batch.
func (e *Entry) size() int {
	n := 0
	for i := range e.Records {
		n += segmentKeyLen + len(e.Records[i].Value)
	}
	for i := range e.Ops {
		n += len(e.Ops[i].Key) + len(e.Ops[i].Value)
	}
	return n
}

// Check panics on a malformed entry, which only a bug of the caller can make.
func (e *Entry) Check() {
	for i := range e.Ops {
		e.Ops[i].check()
	}
	for i := range e.Records {
		if len(e.Records[i].Value) < recordOverhead {
			panic(fmt.Sprintf("wal: append: stream %d: record %d was not made by Seal", e.Stream, e.Records[i].Seq))
		}
	}
}

// mostShared is the size in bytes of the largest entry that fits into one request to a Log's etcd.
const mostShared = 4 << 20

// checkShared panics on an entry that no Log takes: the journal's writer would try it for ever.
func (e *Entry) checkShared() {
	if n := e.size(); n > mostShared {
		panic(fmt.Sprintf("wal: append: stream %d: an entry of %d bytes; %d is the most for a journal that nodes share", e.Stream, n, mostShared))
	}
}

// rowsEnd is the smallest key after all keys that a caller's rows may have.
var rowsEnd = []byte{'z' + 1}

func (o *Op) check() {
	switch o.Kind {
	case OpSet, OpDelete:
		if !isRow(o.Key) && !isFreeMeta(o.Key) {
			panic(fmt.Sprintf("wal: append: key %q is not a caller's", o.Key))
		}
	case OpDeleteRange:
		if !isRow(o.Key) || bytes.Compare(o.Key, o.Value) > 0 || bytes.Compare(o.Value, rowsEnd) > 0 {
			panic(fmt.Sprintf("wal: append: range [%q, %q) is not a caller's", o.Key, o.Value))
		}
	default:
		panic(fmt.Sprintf("wal: append: unknown op kind %d", o.Kind))
	}
}

func isRow(key []byte) bool { return len(key) > 0 && key[0] >= 'a' && key[0] <= 'z' }

func isFreeMeta(key []byte) bool {
	return len(key) > 1 && key[0] == metaPrefix && !reservedMeta(string(key[1:]))
}

func reservedMeta(name string) bool {
	return strings.HasPrefix(name, hardPrefix) || strings.HasPrefix(name, ownPrefix)
}

// MetaKey is the key of a named value that is not derived from records. The key may be used
// in an Op and with Get. MetaKey panics on an empty name and on names that begin with
// "hard/" or "wal/", which are the journal's own.
func MetaKey(name string) []byte {
	if name == "" || reservedMeta(name) {
		panic(fmt.Sprintf("wal: meta name %q is not a caller's", name))
	}
	return metaKey(name)
}

// PrefixEnd is the smallest key after all keys that begin with prefix, for use as the upper
// bound of a Scan. It is nil (no bound) where every byte of prefix is 0xff.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := bytes.Clone(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}
