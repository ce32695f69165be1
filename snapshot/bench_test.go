package snapshot

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// folder writes the files of a folder on a file system in memory: tables of records that
// compress to about a half.
func folder(b *testing.B) (FS, int64) {
	const tables, size = 4, 1 << 20
	fsys, all, noise := vfs.NewMem(), files{}, uint32(1)
	for n := range tables {
		text := make([]byte, size)
		for i := range text {
			noise = noise*1_664_525 + 1_013_904_223
			text[i] = byte(noise>>24) & 15
		}
		all[fmt.Sprintf("journal/store/%06d.sst", n)] = text
	}
	all.write(b, fsys, "/data")
	return fsys, tables * size
}

// BenchmarkCreate measures the making of a snapshot of a folder of 4 MiB, in memory.
func BenchmarkCreate(b *testing.B) {
	fsys, size := folder(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		path, err := Create(fsys, Contents{Folder: "/data"}, "/snaps", manifest(0, 7), nil)
		if err != nil || path != "/snaps/"+manifest(0, 7).Name() {
			b.Fatal(path, err)
		}
	}
}

// BenchmarkRestore measures what is done with such a snapshot: the reading of its manifest, the
// check of its checksum, and its unpacking.
func BenchmarkRestore(b *testing.B) {
	fsys, size := folder(b)
	path, err := Create(fsys, Contents{Folder: "/data"}, "/snaps", manifest(0, 7), nil)
	if err != nil {
		b.Fatal(err)
	}
	whole, err := Open(fsys, path)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"open", func() error { _, err := Open(fsys, path); return err }},
		{"check", func() error { return whole.Check(nil) }},
		{"unpack", func() error { return whole.Unpack("/new", nil) }},
	} {
		b.Run("do="+c.name, func(b *testing.B) {
			if c.name != "open" {
				b.SetBytes(size)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if n := whole.Manifest.Size(); n != size {
		b.Fatal(n)
	}
}
