package wal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system a store lives on. It is Pebble's, named here so that a
// caller's test can pass one that loses power without importing Pebble.
type FS = vfs.FS

// Stream numbers one chain of records. 0 is the registry's.
type Stream uint64

// Ticket is the order of submission. The first entry's is 1; 0 is before all.
type Ticket uint64

// OpKind says what an Op does.
type OpKind uint8

// The kinds of Op.
const (
	OpSet         OpKind = iota + 1 // Key becomes Value
	OpDelete                        // Key is removed; Value is ignored
	OpDeleteRange                   // every row in [Key, Value) is removed
)

// Op is one change of a row.
type Op struct {
	Kind       OpKind
	Key, Value []byte
}

// Out is called when a reply, or whatever else it stands for, may leave the process. Release(nil) means
// durable; an error for which errors.Is(err, ErrSequence) holds means that the
// entry was refused and nothing of it was written (if the stream's newest record
// cannot be read, the error is also the *Damage). Release is called on the
// writer's goroutine (or, for a parked read that finds everything durable, on
// the goroutine of its Append) and must not block.
type Out interface{ Release(err error) }

// ErrSequence refuses an entry whose stream does not stand where the entry
// expects it. The caller reloads the stream.
var ErrSequence = errors.New("wal: stream is not where the entry expects it")

// Entry is one unit of work: all of it is written, or nothing.
type Entry struct {
	Stream  Stream
	Expect  uint64   // sequence of the stream's newest record before Records; checked only with Records
	Records []Sealed // contiguous from Expect+1, chained
	Ops     []Op     // applied in order, after the records; may be without Records
	Shared  bool     // for Ops without Records: every copy of the journal needs them, and the batch takes a position; false: they are local to this machine
	Forget  bool     // the stream is passivated: the writer forgets its sequence and checksum
	Out     []Out    // released in order, after everything before and this entry are durable
}

// Parked reports whether the entry writes nothing: its Outs only wait for the entries before it.
func (e *Entry) Parked() bool {
	return len(e.Records) == 0 && len(e.Ops) == 0 && !e.Forget
}

// size is how many bytes the entry adds to a batch.
func (e *Entry) size() int {
	n := 0
	for i := range e.Records {
		n += recordKeyLen + len(e.Records[i].Value)
	}
	for i := range e.Ops {
		n += len(e.Ops[i].Key) + len(e.Ops[i].Value)
	}
	return n
}

// Check panics on an entry that is malformed: only a mistake in our own code makes one.
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

// rowsEnd is the smallest key after all rows of callers.
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

// MetaKey is the key of a named value that is not derived from records. Use it
// in an Op and with Get. It panics on an empty name and on the names that
// begin with "hard/" or "wal/", which are the journal's own.
func MetaKey(name string) []byte {
	if name == "" || reservedMeta(name) {
		panic(fmt.Sprintf("wal: meta name %q is not a caller's", name))
	}
	return metaKey(name)
}

// PrefixEnd is the smallest key after all keys that begin with prefix, for the
// upper bound of a Scan. It is nil, no bound, for a prefix of 0xff alone.
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
