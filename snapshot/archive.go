package snapshot

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"
)

// pack writes the whole snapshot, the manifest and the files, and syncs it.
func pack(fsys FS, folder string, m *Manifest, files []File, file vfs.File, step Step) error {
	out := &oftenSynced{File: file}
	sum := sha256.New()
	all := io.MultiWriter(sum, out) // the sum first: a vfs.File may change the bytes that it is given
	z, err := zstd.NewWriter(all, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	if err := errors.Join(archive(fsys, folder, m, files, z, step), z.Close()); err != nil {
		return err
	}
	if _, err := all.Write(trailerHead()); err != nil {
		return err
	}
	if _, err := out.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return out.Sync()
}

// oftenSynced is a file that is synced after each few MiB. One long sync at the end would delay
// the syncs of the journal, on the same disk.
type oftenSynced struct {
	vfs.File
	unsynced int
}

const syncEvery = 4 << 20

// Write implements io.Writer.
func (f *oftenSynced) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if f.unsynced += n; err == nil && f.unsynced >= syncEvery {
		f.unsynced, err = 0, f.SyncData()
	}
	return n, err
}

// window is the size of the buffer in which zstd finds repeated bytes. The tables in a journal
// are compressed already; a larger window finds little more.
const window = 1 << 20

// archive writes the manifest and the files as a tar archive.
func archive(fsys FS, folder string, m *Manifest, files []File, to io.Writer, step Step) error {
	manifest, err := m.encode()
	if err != nil {
		return err
	}
	t := tar.NewWriter(to)
	if err := t.WriteHeader(m.header(manifestName, int64(len(manifest)))); err != nil {
		return err
	}
	if _, err := t.Write(manifest); err != nil {
		return err
	}
	total := 2 * m.Size()
	p := &pace{step: step, done: total - sizeOf(files), total: total}
	for _, f := range files {
		if err := t.WriteHeader(m.header(f.Name, f.Size)); err != nil {
			return err
		}
		sum := sha256.New()
		n, err := copyFile(fsys, fsys.PathJoin(folder, f.Name), io.MultiWriter(sum, t, p))
		if err != nil {
			return err
		}
		if n != f.Size {
			return fmt.Errorf("%s has changed from %d to %d bytes", f.Name, f.Size, n)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
			return fmt.Errorf("%s has changed: its SHA-256 was %s and is %s", f.Name, f.SHA256, got)
		}
	}
	return t.Close()
}

func (m *Manifest) header(name string, size int64) *tar.Header {
	return &tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: m.CreatedAt, Typeflag: tar.TypeReg}
}

// copyFile copies a file's bytes and returns their number.
func copyFile(fsys FS, name string, to io.Writer) (int64, error) {
	file, err := fsys.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return 0, err
	}
	// Neither side may hide the copy's buffer: the Step is called once for each buffer.
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{file}, make([]byte, chunk))
	return n, errors.Join(err, file.Close())
}

// pace counts the bytes that pass, and calls the step.
type pace struct {
	step        Step
	done, total int64
}

// Write implements io.Writer.
func (p *pace) Write(b []byte) (int, error) { return len(b), p.pass(int64(len(b))) }

// pass counts n bytes.
func (p *pace) pass(n int64) error {
	p.done += n
	if p.step == nil {
		return nil
	}
	return p.step(p.done, p.total)
}
