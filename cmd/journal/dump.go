package journal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/cmd/journal/recordjson"
	"pixd/wal"
)

// DumpOptions say which records Dump writes. DataDir alone stands for all of them.
type DumpOptions struct {
	DataDir string
	// Stream is the one stream whose records are written: an account's id, or the registry's
	// name; empty: all streams.
	Stream      string
	From, Until pix.Millis     // records with From <= time < Until are written; 0: no bound
	Progress    func(Progress) // called often; may be nil
	FS          wal.FS         // the file system; nil: the disk
}

// Dump writes records of a data folder without an engine, one JSON object on each line, in the
// order in which they were written. It writes only records whose checksums hold, and stops at
// the first damage with an error that says where that is. An error of the writer is returned
// as it is.
func Dump(o DumpOptions, to io.Writer) (err error) {
	stream, err := streamOf(o.Stream)
	if err != nil {
		return err
	}
	store, err := wal.Open(wal.Options{
		Dir: filepath.Join(o.DataDir, Folder), FS: o.FS, ReadOnly: true, Doubtful: true, Log: slog.New(slog.DiscardHandler),
		CacheBytes: 32 << 20, MemTableBytes: 8 << 20,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	d := newDumping(o, to)
	if o.Stream == "" {
		err = d.waitWritten(d.all(store))
	} else {
		err = d.waitWritten(d.one(store, stream))
	}
	if err == nil {
		err = store.Doubt()
	}
	return named(err)
}

// streamOf returns the stream that a name names; 0 where the name is empty.
func streamOf(name string) (wal.Stream, error) {
	for _, s := range []wal.Stream{registry.Stream, registry.ReservationStream, registry.OperatorStream} {
		if name == registry.StreamName(s) || name == "" {
			return s, nil
		}
	}
	if id, ok := pix.ParseAccountID(name); ok {
		return wal.Stream(id), nil
	}
	return 0, fmt.Errorf("%q is no account's id such as %v, nor registry, reservations or operators", name, pix.AccountID(1))
}

// named adds the stream's name, by which operators know it, to an error about a damaged record.
func named(err error) error {
	var damage *wal.Damage
	if !errors.As(err, &damage) || damage.Position != 0 {
		return err
	}
	return fmt.Errorf("%s: %w", recordjson.StreamName(damage.Stream), err)
}
