package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system that snapshots and folders are on. It is Pebble's type under a name of
// this package, so that tests of other packages need not import Pebble.
type FS = vfs.FS

// Disk is the machine's file system.
var Disk FS = vfs.Default

// Step is called after some bytes were read or written. done of total bytes are finished. An
// error ends the work, which returns the same error and leaves nothing behind.
type Step func(done, total int64) error

// chunk is how many bytes are read or written between two calls of a Step.
const chunk = 128 << 10

const manifestName = "manifest.json"

// Contents are what Create packs.
type Contents struct {
	Folder string // its files must not change meanwhile
	// Sums are the SHA-256 of files, in hexadecimal digits, by their paths in the folder. Such a
	// file is read only to be packed, and its checksum is compared then. May be nil.
	Sums map[string]string
	// Base makes an increment: a file that the base names with the same size and checksum is not
	// packed. It must be in the folder of the snapshots. nil: every file is packed.
	Base *Snapshot
	// Room is called once, before anything is written, with the number of bytes that may be written at
	// most. Its error ends the work. May be nil.
	Room func(most int64) error
}

// Create writes a snapshot of a folder into the folder dir, and returns the snapshot's path. m
// is the manifest without its files, which Create adds. The snapshot has the mode 0600. It replaces
// one of the same name, unless another snapshot in dir needs that, or this one does: then its time
// is the next free second.
//
// A file is read for its checksum first, because the manifest comes first, and once more to be packed. After an
// error, nothing of the snapshot is left.
func Create(fsys FS, c Contents, dir string, m *Manifest, step Step) (string, error) {
	name, err := create(fsys, c, dir, m, step)
	if err != nil {
		return "", fmt.Errorf("snapshot: write %s: %w", fsys.PathJoin(dir, m.Name()), err)
	}
	return name, nil
}

func create(fsys FS, c Contents, dir string, m *Manifest, step Step) (string, error) {
	if err := makeFolder(fsys, dir); err != nil {
		return "", err
	}
	if c.Base != nil && fsys.PathDir(c.Base.Path) != path.Clean(dir) {
		return "", fmt.Errorf("the base %s is not in the folder", c.Base.Path)
	}
	if err := m.list(fsys, c, step); err != nil {
		return "", err
	}
	if err := m.spareNeeded(fsys, dir); err != nil {
		return "", err
	}
	if c.Room != nil {
		if err := c.Room(sizeOf(m.own())); err != nil {
			return "", err
		}
	}
	name := fsys.PathJoin(dir, m.Name())
	return name, write(fsys, c.Folder, name, m, step)
}

// write writes a snapshot under a temporary name and renames it.
func write(fsys FS, folder, name string, m *Manifest, step Step) error {
	temporary := name + unfinished
	file, err := createPrivate(fsys, temporary)
	if err != nil {
		return err
	}
	if err := errors.Join(pack(fsys, folder, m, m.own(), file, step), file.Close()); err != nil {
		return errors.Join(err, fsys.Remove(temporary))
	}
	made := &Snapshot{Path: name, Manifest: m, fs: fsys}
	err = made.gather(made.beside) // what it needs may have been removed meanwhile
	if err == nil {
		err = fsys.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, fsys.Remove(temporary))
	}
	return syncFolder(fsys, fsys.PathDir(name))
}

// createPrivate creates a file, in place of one that has the name. On the disk nobody but its
// owner can open it, from its creation on.
func createPrivate(fsys FS, name string) (vfs.File, error) {
	if fsys != vfs.Default {
		return fsys.Create(name, vfs.WriteCategoryUnspecified)
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := createNew(name); err != nil {
		return nil, err
	}
	return fsys.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
}

// createNew creates an empty file on the disk. It fails where the name exists, also as a link:
// somebody else may have made it.
func createNew(name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// list puts the folder's files and their checksums into the manifest.
func (m *Manifest) list(fsys FS, c Contents, step Step) error {
	names, total, err := walk(fsys, c.Folder, "")
	if err != nil {
		return err
	}
	p := &pace{step: step, total: 2 * total}
	for _, name := range names {
		f, err := c.file(fsys, name, p)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	if c.Base != nil {
		m.takeFrom(c.Base)
	}
	return nil
}

// file returns a file with its checksum.
func (c *Contents) file(fsys FS, name string, p *pace) (File, error) {
	path := fsys.PathJoin(c.Folder, name)
	if known := c.Sums[name]; known != "" {
		info, err := fsys.Stat(path)
		if err != nil {
			return File{}, err
		}
		return File{Name: name, Size: info.Size(), SHA256: known}, p.pass(info.Size())
	}
	sum := sha256.New()
	n, err := copyFile(fsys, path, io.MultiWriter(sum, p))
	return File{Name: name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// walk returns the paths of all files below a folder, in order, and their size together.
func walk(fsys FS, root, below string) (names []string, size int64, err error) {
	entries, err := fsys.List(fsys.PathJoin(root, below))
	if err != nil {
		return nil, 0, err
	}
	slices.Sort(entries)
	for _, e := range entries {
		name := path.Join(below, e)
		info, err := fsys.Stat(fsys.PathJoin(root, name))
		if err != nil {
			return nil, 0, err
		}
		if !info.IsDir() {
			names, size = append(names, name), size+info.Size()
			continue
		}
		deeper, n, err := walk(fsys, root, name)
		if err != nil {
			return nil, 0, err
		}
		names, size = append(names, deeper...), size+n
	}
	return names, size, nil
}

// makeFolder makes a folder, and the folders above it, where they are missing, and syncs what
// it has made.
func makeFolder(fsys FS, dir string) error {
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := fsys.PathDir(dir)
	if err := makeFolder(fsys, above); err != nil {
		return err
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncFolder(fsys, above)
}

func syncFolder(fsys FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
