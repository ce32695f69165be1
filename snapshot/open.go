package snapshot

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"
)

// Snapshot is a snapshot's file whose manifest was read.
type Snapshot struct {
	Path     string
	Size     int64 // of the file, in bytes
	Manifest *Manifest

	fs      FS
	holders []*Snapshot // of an increment: those that Manifest.Needs names, in that order
}

// longestManifest is the largest size, in bytes, of a manifest that is read.
const longestManifest = 64 << 20

// Open reads the manifest of the snapshot in a file. It refuses a file without the checksum at
// its end, which is not whole; a file that is no snapshot; one that a newer version of pixd
// made; and one that has another name than its manifest says. It opens the snapshots that an
// increment needs, in the same folder, and refuses an increment if one of them is missing or does not
// have the files that are taken from it. Only Check and Unpack find damage beyond the manifests.
func Open(fsys FS, name string) (*Snapshot, error) {
	s := &Snapshot{Path: name, fs: fsys}
	err := s.readFile()
	if err == nil {
		err = s.gather(s.beside)
	}
	if err != nil {
		return nil, s.wrap(err)
	}
	return s, nil
}

func (s *Snapshot) wrap(err error) error { return fmt.Errorf("snapshot: %s: %w", s.Path, err) }

func (s *Snapshot) readFile() error {
	info, err := s.fs.Stat(s.Path)
	if err != nil {
		return err
	}
	if s.Size = info.Size(); info.IsDir() {
		return errors.New("it is a folder")
	}
	file, err := s.fs.Open(s.Path)
	if err != nil {
		return err
	}
	_, err = s.trailer(file)
	if err == nil {
		err = s.readManifest(file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if base, own := s.fs.PathBase(s.Path), s.Manifest.Name(); base != own {
		return fmt.Errorf("it was renamed: by its manifest it is %s", own)
	}
	return nil
}

func (s *Snapshot) readManifest(file vfs.File) error {
	return s.read(file, func(t *tar.Reader) error {
		h, err := t.Next()
		if err != nil {
			return damage(err)
		}
		if h.Name != manifestName || h.Typeflag != tar.TypeReg || h.Size > longestManifest {
			return fmt.Errorf("it is no snapshot: its first entry is %q", h.Name)
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return damage(err)
		}
		s.Manifest, err = decodeManifest(b)
		return err
	})
}

// read calls fn with the archive in the file.
func (s *Snapshot) read(file vfs.File, fn func(*tar.Reader) error) error {
	z, err := zstd.NewReader(io.NewSectionReader(file, 0, s.Size), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return err
	}
	defer z.Close()
	return fn(tar.NewReader(z))
}

func damage(err error) error { return fmt.Errorf("it is damaged or no snapshot: %w", err) }

// A skippable zstd frame at the file's end has the checksum of everything before it. Programs
// that unpack zstd pass over such a frame.
const (
	skippable   = 0x184D2A5E
	trailerSize = 4 + 4 + sha256.Size
)

func trailerHead() []byte {
	b := binary.LittleEndian.AppendUint32(nil, skippable)
	return binary.LittleEndian.AppendUint32(b, sha256.Size)
}

// trailer returns the checksum at the file's end.
func (s *Snapshot) trailer(file vfs.File) ([]byte, error) {
	b := make([]byte, trailerSize)
	if s.Size < trailerSize {
		return nil, fmt.Errorf("it is no snapshot: it has %d bytes", s.Size)
	}
	if _, err := file.ReadAt(b, s.Size-trailerSize); err != nil {
		return nil, err
	}
	if head := trailerHead(); !bytes.Equal(b[:len(head)], head) {
		return nil, errors.New("it does not end with a checksum: it is not whole, or no snapshot")
	}
	return b[len(trailerHead()):], nil
}

// Check compares the file with the checksum at its end. It does not read the snapshots that an
// increment needs: Unpack compares each file that it takes from them.
func (s *Snapshot) Check(step Step) error {
	if err := s.check(step); err != nil {
		return s.wrap(err)
	}
	return nil
}

func (s *Snapshot) check(step Step) (err error) {
	file, err := s.fs.Open(s.Path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	want, err := s.trailer(file)
	if err != nil {
		return err
	}
	sum := sha256.New()
	p := &pace{step: step, total: s.Size - sha256.Size}
	all := struct{ io.Reader }{io.NewSectionReader(file, 0, p.total)}
	if _, err := io.CopyBuffer(io.MultiWriter(sum, p), all, make([]byte, chunk)); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return errors.New("it is damaged: the checksum at its end is of other bytes")
	}
	return nil
}

// Unpack writes the snapshot's files into a folder, which it makes, and syncs them. Those of an
// increment come from the snapshots that it needs, too. It stops at the first file that is not
// what the manifest says.
func (s *Snapshot) Unpack(folder string, step Step) error {
	if err := s.unpack(folder, step); err != nil {
		return s.wrap(err)
	}
	return nil
}

func (s *Snapshot) unpack(folder string, step Step) error {
	p := &pace{step: step, total: s.Manifest.Size()}
	folders := map[string]bool{folder: true}
	for _, f := range s.Manifest.Files {
		folders[s.fs.PathDir(s.fs.PathJoin(folder, f.Name))] = true
	}
	for dir := range folders {
		if err := s.fs.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := s.extract(s.Manifest.own(), folder, p); err != nil {
		return err
	}
	for _, other := range s.holders {
		if err := other.extract(s.Manifest.in(other.Manifest.Name()), folder, p); err != nil {
			return fmt.Errorf("%s: %w", other.Path, err)
		}
	}
	return s.syncAll(folders)
}

// extract writes those of the snapshot's own files that are wanted into a folder.
func (s *Snapshot) extract(wanted []File, folder string, p *pace) (err error) {
	want := map[string]bool{}
	for _, f := range wanted {
		want[f.Name] = true
	}
	file, err := s.fs.Open(s.Path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return s.read(file, func(t *tar.Reader) error {
		if _, err := t.Next(); err != nil { // the manifest
			return damage(err)
		}
		for _, f := range s.Manifest.own() {
			if len(want) == 0 {
				return nil // what follows is for others
			}
			if err := nextFile(t, f); err != nil {
				return err
			}
			if !want[f.Name] {
				continue
			}
			delete(want, f.Name)
			if err := s.unpackFile(t, f, s.fs.PathJoin(folder, f.Name), p); err != nil {
				return err
			}
		}
		if _, err := t.Next(); !errors.Is(err, io.EOF) {
			return errors.New("it is damaged: there are files that its manifest does not name")
		}
		return nil
	})
}

// nextFile goes to the archive's next entry, which must be a file's.
func nextFile(t *tar.Reader, f File) error {
	h, err := t.Next()
	if err != nil {
		return damage(err)
	}
	if h.Name != f.Name || h.Size != f.Size || h.Typeflag != tar.TypeReg {
		return fmt.Errorf("it is damaged: %q of %d bytes is where %q of %d bytes should be", h.Name, h.Size, f.Name, f.Size)
	}
	return nil
}

func (s *Snapshot) unpackFile(t *tar.Reader, f File, to string, p *pace) error {
	file, err := createPrivate(s.fs, to)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyBuffer(io.MultiWriter(sum, p, file), struct{ io.Reader }{t}, make([]byte, chunk)); err != nil {
		return errors.Join(err, file.Close())
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return errors.Join(fmt.Errorf("it is damaged: the SHA-256 of %s is %s, and its manifest says %s", f.Name, got, f.SHA256), file.Close())
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncAll syncs folders whose files were written.
func (s *Snapshot) syncAll(folders map[string]bool) error {
	for dir := range folders {
		if err := syncFolder(s.fs, dir); err != nil {
			return err
		}
	}
	return nil
}
