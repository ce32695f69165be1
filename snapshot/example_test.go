package snapshot_test

import (
	"fmt"
	"math/big"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/snapshot"
)

// A folder is packed into one file, checked, and unpacked into another folder.
func Example() {
	disk := vfs.NewMem()
	write(disk, "journal", "store", "a million records")
	none := func(_, _ int64) error { return nil }
	m := &snapshot.Manifest{
		Format: snapshot.Format, CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Engine: "example",
		Logs:    []snapshot.Log{{Position: 1_000_000, Time: time.Date(2026, 3, 1, 11, 59, 59, 0, time.UTC), Sum: "0123456789abcdef"}},
		Balance: big.NewInt(0), Pending: big.NewInt(0), MEDHeld: big.NewInt(0),
	}
	name, err := snapshot.Create(disk, snapshot.Contents{Folder: "journal"}, "backup", m, none)
	fmt.Println(name, err)

	s, err := snapshot.Open(disk, name)
	if err != nil {
		panic(err)
	}
	fmt.Println("whole:", s.Check(none) == nil)
	target, err := snapshot.NewTarget(disk, "restored")
	if err != nil {
		panic(err)
	}
	if err := s.Unpack(target.Folder(), none); err != nil {
		panic(err)
	}
	fmt.Println("restored:", target.Finish(name) == nil)
	files, err := disk.List("restored")
	fmt.Println(files, err)
	// Output:
	// backup/pixd-20260301T120000Z-1000000.snap <nil>
	// whole: true
	// restored: true
	// [store] <nil>
}

func write(disk snapshot.FS, folder, name, text string) {
	if err := disk.MkdirAll(folder, 0o700); err != nil {
		panic(err)
	}
	f, err := disk.Create(disk.PathJoin(folder, name), vfs.WriteCategoryUnspecified)
	if err != nil {
		panic(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
}
