package cluster

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/cmd/journal"
	"pixd/snapshot"
	"pixd/wal"
)

// checkpointPath is where a node gives its journal to one that joins.
const checkpointPath = "/cluster/checkpoint"

// The folders beside the journal that a copy needs. See settleCopies for what a process that was killed leaves in them.
const (
	sentFolder  = "journal.sent"
	takenFolder = "journal.taken"
	oldFolder   = "journal.old"
)

// sendCheckpoint answers with a copy of the journal, as a tar of the folder's files. One copy is made
// at a time: over is called once this one is not needed any more.
func sendCheckpoint(ctx *fasthttp.RequestCtx, store *wal.Store, dataDir string, over func()) (err error) {
	dir := filepath.Join(dataDir, sentFolder)
	defer func() {
		if err != nil {
			over()
		}
	}()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cluster: copy for another node: %w", err)
	}
	if _, _, _, err := store.Checkpoint(dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	size, err := sizeOf(dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	ctx.Response.Header.Set(sizeHeader, strconv.FormatInt(size, 10))
	ctx.SetContentType("application/x-tar")
	conn := ctx.Conn()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		t := tar.NewWriter(patient{w, conn})
		err := t.AddFS(os.DirFS(dir))
		if err == nil { // else the other side knows that it has not everything
			err = t.WriteHeader(&tar.Header{Name: lastEntry, Mode: 0o600})
		}
		_ = errors.Join(err, t.Close(), w.Flush())
		_ = os.RemoveAll(dir)
		over()
	})
	return nil
}

// sizeHeader is the header of a copy that says how many bytes its files have.
const sizeHeader = "Pixd-Copy-Bytes"

// sizeOf returns how many bytes the files of a folder have.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		is, err := d.Info()
		if err == nil {
			bytes += is.Size()
		}
		return err
	})
	return bytes, err
}

// pieceWithin is how long one piece of a copy may take, and what comes before the first. The copy as a whole may take as long as
// it does.
const pieceWithin = time.Minute

// connectWithin is how long it may take to connect to the node that gives a copy, and then to agree on TLS with it: the
// kernel of a machine takes connections also for a process that is frozen.
const connectWithin = 10 * time.Second

// errIdle says that a node which was asked for a copy has sent nothing for too long.
var errIdle = errors.New("it has sent nothing for too long")

// patient writes a copy's pieces: each has time of its own, in place of the one that the answer has.
type patient struct {
	w    io.Writer
	conn net.Conn
}

// Write implements io.Writer.
func (p patient) Write(b []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(time.Now().Add(pieceWithin)); err != nil {
		return 0, err
	}
	return p.w.Write(b)
}

// impatient reads a copy's pieces, and is cancelled where one does not come in time.
type impatient struct {
	r      io.Reader
	idle   *time.Timer
	within time.Duration
}

// Read implements io.Reader.
func (i impatient) Read(b []byte) (int, error) {
	n, err := i.r.Read(b)
	i.idle.Reset(i.within)
	return n, err
}

// fetchCheckpoint replaces the folder's journal with a copy of another node's. The journal that was
// there is kept beside it until the copy is whole, and stays where the copy ends before it does: the next start would take
// the folder for one that was put back to an earlier state. spare is how many bytes of the disk must stay free; errNoRoom:
// fewer would.
func fetchCheckpoint(ctx context.Context, from string, t *tls.Config, dataDir string, spare uint64) error {
	dir, into, old := filepath.Join(dataDir, takenFolder), filepath.Join(dataDir, journal.Folder), filepath.Join(dataDir, oldFolder)
	if err := settleJournal(dataDir); err != nil { // a former try may have failed between its two renames
		return err
	}
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(old)); err != nil {
		return err
	}
	err := fetchFiles(ctx, from, t, dir, spare, pieceWithin)
	if err == nil {
		err = notShorter(dir, into)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cluster: copy of the journal from %s: %w", from, err), os.RemoveAll(dir))
	}
	if err := os.Rename(into, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(dir, into); err != nil {
		return err
	}
	return errors.Join(syncFolder(dataDir), os.RemoveAll(old))
}

// settleCopies ends, before the journal is opened, what a process that was killed has left of copies.
func settleCopies(dataDir string) error {
	if err := settleJournal(dataDir); err != nil {
		return err
	}
	var errs []error
	for _, folder := range []string{takenFolder, oldFolder, sentFolder} {
		errs = append(errs, os.RemoveAll(filepath.Join(dataDir, folder)))
	}
	return errors.Join(errs...)
}

// settleJournal puts a journal in its place where the one that was there is moved aside: the copy that was to take its place is
// whole then.
func settleJournal(dataDir string) error {
	taken, into, old := filepath.Join(dataDir, takenFolder), filepath.Join(dataDir, journal.Folder), filepath.Join(dataDir, oldFolder)
	if !exists(old) || exists(into) {
		return nil
	}
	if !exists(taken) {
		taken = old
	}
	return errors.Join(os.Rename(taken, into), syncFolder(dataDir))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// notShorter returns an error where a copy of a journal ends before another journal does.
func notShorter(dir, than string) error {
	end, err := wal.EndOf(dir)
	own, err1 := wal.EndOf(than)
	if err := errors.Join(err, err1); err != nil || end >= own {
		return err
	}
	return fmt.Errorf("it ends at batch %d, and this node's at %d", end, own)
}

// errNoRoom says that a copy of the journal would fill the disk.
var errNoRoom = errors.New("the disk has too little room for a copy of the journal beside the journal")

// roomFor returns errNoRoom where fewer than spare bytes of a folder's disk would be free beside a copy; nil: its size is
// not known, because a node of an older version does not say it.
func roomFor(size, dir string, spare uint64) error {
	if size == "" {
		return nil
	}
	bytes, err := strconv.ParseUint(size, 10, 63)
	if err != nil {
		return fmt.Errorf("%s: %w", sizeHeader, err)
	}
	free, err := snapshot.Free(snapshot.Disk, dir)
	if err != nil {
		return err
	}
	if free < bytes || free-bytes < spare {
		return fmt.Errorf("%w: it has %d bytes, %d are free, and --min-free-disk is %d", errNoRoom, bytes, free, spare)
	}
	return nil
}

// fetchFiles copies the files of another node's journal into a folder. within is how long it waits for each piece.
func fetchFiles(ctx context.Context, from string, t *tls.Config, dir string, spare uint64, within time.Duration) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(within, func() { cancel(errIdle) })
	defer idle.Stop()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errIdle) {
			err = errIdle
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from+checkpointPath, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: t, DialContext: (&net.Dialer{Timeout: connectWithin}).DialContext, TLSHandshakeTimeout: connectWithin, DisableKeepAlives: true,
	}}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", answer.Status)
	}
	if err := roomFor(answer.Header.Get(sizeHeader), filepath.Dir(dir), spare); err != nil {
		return err
	}
	return unpack(tar.NewReader(impatient{answer.Body, idle, within}), dir)
}

// lastEntry is the name of a copy's last entry. A tar that is cut between two of its blocks looks whole.
const lastEntry = "end"

// unpack writes the files of a tar, and syncs them.
func unpack(t *tar.Reader, dir string) error {
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if h.Name == lastEntry {
			return syncFolder(dir)
		}
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%q is no name of a file in the folder", h.Name)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := writeFile(filepath.Join(dir, h.Name), t); err != nil {
			return err
		}
	}
}

func writeFile(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Sync(), file.Close(), syncFolder(filepath.Dir(path)))
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
