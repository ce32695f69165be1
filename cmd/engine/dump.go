package engine

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"pixd/actors/ledger"
	"pixd/actors/registry"
	"pixd/cmd/engine/recordjson"
	"pixd/wal"
)

// DumpOptions say which records Dump writes. DataDir alone stands for all of them.
type DumpOptions struct {
	DataDir string
	// Stream is the one stream whose records are written: an account's id, or the registry's
	// name; empty: all streams.
	Stream      string
	From, Until ledger.Millis  // records with From <= time < Until are written; 0: no bound
	Progress    func(Progress) // called often; may be nil
	FS          wal.FS         // the file system; nil: the disk
}

// Dump writes records of a data folder without an engine, one JSON object on each line, in the
// order in which they were written. It writes only records whose checksums hold, and stops at
// the first damage with an error that says where that is. An error of the writer is returned
// as it is.
func Dump(o DumpOptions, to io.Writer) (err error) {
	id, isAccount := ledger.ParseAccountID(o.Stream)
	if o.Stream != "" && o.Stream != recordjson.Registry && !isAccount {
		return fmt.Errorf("%q is no account's id such as %v, nor %s", o.Stream, ledger.AccountID(1), recordjson.Registry)
	}
	store, err := wal.Open(wal.Options{
		Dir: filepath.Join(o.DataDir, journalFolder), FS: o.FS, ReadOnly: true, Doubtful: true, Log: slog.New(slog.DiscardHandler),
		CacheBytes: 32 << 20, MemTableBytes: 8 << 20,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	d := newDumping(o, to)
	go d.print()
	if o.Stream == "" {
		err = d.end(d.all(store))
	} else {
		err = d.end(d.one(store, wal.Stream(id))) // the registry's stream is 0
	}
	if err == nil {
		err = store.Doubt()
	}
	return named(err)
}

// named adds the stream's name, by which operators know it, to an error about a damaged record.
func named(err error) error {
	var damage *wal.Damage
	if !errors.As(err, &damage) || damage.Position != 0 {
		return err
	}
	name := recordjson.Registry
	if damage.Stream != registry.Stream {
		name = ledger.AccountID(damage.Stream).String()
	}
	return fmt.Errorf("%s: %w", name, err)
}
