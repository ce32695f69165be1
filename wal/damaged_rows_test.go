package wal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestScanOfDamagedRows checks that a scan which meets a damaged block of rows fails, in both directions: else rows would
// be missing without a word.
func TestScanOfDamagedRows(t *testing.T) {
	body, fs := incompressible(), vfs.NewMem()
	s := mustOpen(t, Options{Dir: harnessDir, FS: fs})
	var bad []byte
	for i := range 8 {
		v := body()
		if i == 4 {
			bad = v
		}
		if err := s.WriteRows(Local, Op{Kind: OpSet, Key: fmt.Appendf(nil, "a%d", i), Value: v}); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	names, _ := fs.List(harnessDir + "/" + storeName)
	found := false
	for _, n := range names {
		name := harnessDir + "/" + storeName + "/" + n
		data, err := readFile(fs, name)
		if err != nil || !strings.HasSuffix(n, ".sst") {
			continue
		}
		if at := bytes.Index(data, bad[100:200]); at >= 0 {
			data[at], found = data[at]^1, true
			if err := writeFile(fs, name, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !found {
		t.Fatal("no table has the row")
	}
	s = mustOpen(t, Options{Dir: harnessDir, FS: fs, ReadOnly: true})
	defer closeStore(t, s)
	v := s.View()
	for name, scan := range map[string]func(lo, hi []byte, fn func(k, v []byte) (bool, error)) error{
		"store": s.Scan, "store, back": s.ScanBack, "view": v.Scan, "view, back": v.ScanBack,
	} {
		n := 0
		if err := scan([]byte("a"), []byte("b"), func(_, _ []byte) (bool, error) { n++; return true, nil }); err == nil {
			t.Errorf("%s: %d rows of 8, and no error", name, n)
		}
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

// aDisk is a disk of which a part is kept for root.
type aDisk struct{ FS }

// GetDiskUsage implements FS.
func (aDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: 5, TotalBytes: 100, UsedBytes: 90}, nil
}

// TestFree checks that the free space is what this process can write.
func TestFree(t *testing.T) {
	s := mustOpen(t, Options{Dir: harnessDir, FS: aDisk{vfs.NewMem()}})
	defer closeStore(t, s)
	if n, err := s.Free(); n != 5 || err != nil {
		t.Error(n, err)
	}
}
