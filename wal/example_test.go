package wal_test

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/wal"
)

// reply is told what became of an entry.
type reply chan error

// Release implements wal.Out.
func (r reply) Release(err error) { r <- err }

// A record and its row are appended as one entry; the answer leaves when both are durable. After a
// restart the record is read back, verified against the one before it.
func Example() {
	options := wal.Options{Dir: "journal", FS: vfs.NewMem()}
	store, err := wal.Open(options)
	if err != nil {
		panic(err)
	}
	const stream = wal.Stream(7)
	body := []byte("100.00 BRL arrived")
	sealed := wal.Seal(0, wal.Record{Stream: stream, Seq: 1, Kind: 3, Time: 1_772_366_400_000, Body: body})
	answered := make(reply, 1)
	store.Append(&wal.Entry{
		Stream: stream, Expect: 0, Records: []wal.Sealed{sealed},
		Ops: []wal.Op{{Kind: wal.OpSet, Key: []byte("balance/7"), Value: []byte("100.00")}},
		Out: []wal.Out{answered},
	})
	fmt.Println("durable:", <-answered == nil)
	if err := store.Close(); err != nil {
		panic(err)
	}

	if store, err = wal.Open(options); err != nil {
		panic(err)
	}
	err = store.Read(stream, 1, 0, func(r wal.Record) error {
		fmt.Printf("record %d: %s\n", r.Seq, r.Body)
		return nil
	})
	balance, _, _ := store.Get([]byte("balance/7"))
	fmt.Printf("row: %s %v\n", balance, err)
	if err := store.Close(); err != nil {
		panic(err)
	}
	// Output:
	// durable: true
	// record 1: 100.00 BRL arrived
	// row: 100.00 <nil>
}
