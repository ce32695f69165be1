package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/snapshot"
)

// serveCopies serves checkpoints of a folder's journal.
func serveCopies(t *testing.T, handle fasthttp.RequestHandler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &fasthttp.Server{Handler: handle}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return "http://" + l.Addr().String()
}

// TestCheckpointCopied checks that a copy from another node is its journal, replaces the folder's own,
// and leaves nothing behind on either side.
func TestCheckpointCopied(t *testing.T) {
	from, into := filled(t, "the owner's"), filled(t, "old")
	store := aStore(t, from, true)
	over := make(chan bool, 1)
	url := serveCopies(t, func(ctx *fasthttp.RequestCtx) {
		if err := sendCheckpoint(ctx, store, from, func() { over <- true }); err != nil {
			t.Error(err)
		}
	})
	if err := fetchCheckpoint(t.Context(), url, nil, into, 0); err != nil {
		t.Fatal(err)
	}
	<-over
	copied := aStore(t, into, true)
	_, _, want := store.Head()
	if _, _, got := copied.Head(); got != want {
		t.Errorf("the copy ends with the sum %x, the original with %x", got, want)
	}
	if _, err := copied.Verify(nil, nil); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{from, into} {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(names) != 1 || filepath.Base(names[0]) != journal.Folder {
			t.Error(dir, names, err)
		}
	}
}

// TestCheckpointCut checks that a copy that breaks off changes nothing.
func TestCheckpointCut(t *testing.T) {
	var whole bytes.Buffer
	w := tar.NewWriter(&whole)
	for _, h := range []*tar.Header{{Name: "anchor", Mode: 0o600, Size: 4}, {Name: "store/1", Mode: 0o600, Size: 4}, {Name: "x", Mode: 0o600, Size: 4}} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("text")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{whole.Bytes()[:600], whole.Bytes()[:1024], whole.Bytes()[:1600], whole.Bytes(), nil} {
		into := filled(t, "old")
		url := serveCopies(t, func(ctx *fasthttp.RequestCtx) {
			if part == nil {
				ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
			}
			ctx.SetBody(part)
		})
		err := fetchCheckpoint(t.Context(), url, nil, into, 0)
		if err == nil {
			t.Errorf("%d bytes of %d are taken for a copy", len(part), whole.Len())
			continue
		}
		if s := aStore(t, into, true); s == nil {
			t.Error("the old journal is gone")
		} else if _, err := s.Verify(nil, nil); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(into, takenFolder)); err == nil {
			t.Error("a part of a copy was left")
		}
	}
}

// TestCheckpointNames checks that a copy writes nothing outside its folder.
func TestCheckpointNames(t *testing.T) {
	for _, name := range []string{"../x", "/etc/x", "a/../../x"} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		if err := unpack(tar.NewReader(&b), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no name of a file in the folder") && !strings.Contains(err.Error(), "insecure") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckpointShorter checks that a copy which ends before the folder's own journal does not replace it.
func TestCheckpointShorter(t *testing.T) {
	from, into := t.TempDir(), filled(t, "old")
	store := aStore(t, from, true)
	url := serveCopies(t, func(ctx *fasthttp.RequestCtx) {
		if err := sendCheckpoint(ctx, store, from, func() {}); err != nil {
			t.Error(err)
		}
	})
	if err := fetchCheckpoint(t.Context(), url, nil, into, 0); err == nil || !strings.Contains(err.Error(), "it ends at batch 0, and this node's at 1") {
		t.Error(err)
	}
	if at, _, _ := aStore(t, into, true).Head(); at != 1 {
		t.Errorf("the folder's journal ends at %d", at)
	}
	names, err := filepath.Glob(filepath.Join(into, "*"))
	if err != nil || len(names) != 1 {
		t.Error(names, err)
	}
}

// TestCheckpointNeedsRoom checks that a copy which would leave too little of the disk is refused before anything of it is
// written, and one of a node that does not say how large it is is taken.
func TestCheckpointNeedsRoom(t *testing.T) {
	from, into := filled(t, "the owner's"), filled(t, "old")
	store := aStore(t, from, true)
	url := serveCopies(t, func(ctx *fasthttp.RequestCtx) {
		if err := sendCheckpoint(ctx, store, from, func() {}); err != nil {
			t.Error(err)
		}
	})
	is, err := snapshot.Disk.GetDiskUsage(into)
	if err != nil {
		t.Fatal(err)
	}
	if err := fetchCheckpoint(t.Context(), url, nil, into, is.TotalBytes); !errors.Is(err, errNoRoom) || !strings.Contains(err.Error(), "--min-free-disk is ") {
		t.Error(err)
	}
	if at, _, _ := aStore(t, into, true).Head(); at != 1 || exists(filepath.Join(into, takenFolder)) {
		t.Errorf("the folder's journal ends at %d, and something of a copy is there: %v", at, exists(filepath.Join(into, takenFolder)))
	}
	for size, room := range map[string]bool{"": true, "0": true, "1": true, fmt.Sprint(is.TotalBytes): false, "9223372036854775807": false, "x": false, "-1": false} {
		if err := roomFor(size, into, 0); (err == nil) != room {
			t.Errorf("size %q: %v", size, err)
		}
	}
	written, err := sizeOf(filepath.Join(into, journal.Folder))
	if err != nil || written < 1000 {
		t.Errorf("%d bytes: %v", written, err)
	}
}

// TestCopiesSettled checks what a start makes of the folders that a killed process has left: the journal is never missing
// where there was one, and nothing else stays.
func TestCopiesSettled(t *testing.T) {
	for name, c := range map[string]struct {
		there []string
		want  string // which becomes the journal
	}{
		"a copy is under way":        {[]string{journal.Folder, takenFolder, sentFolder}, journal.Folder},
		"the first copy of all":      {[]string{takenFolder}, ""},
		"the journal is moved aside": {[]string{takenFolder, oldFolder}, takenFolder},
		"the copy is in its place":   {[]string{journal.Folder, oldFolder}, journal.Folder},
		"the journal alone is there": {[]string{oldFolder}, oldFolder},
		"nothing":                    {nil, ""},
	} {
		dir := t.TempDir()
		for _, folder := range c.there {
			if err := errors.Join(os.Mkdir(filepath.Join(dir, folder), 0o700), os.WriteFile(filepath.Join(dir, folder, "is"), []byte(folder), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := settleCopies(dir); err != nil {
			t.Error(name, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, journal.Folder, "is"))
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: the journal is %q, expected %q; %v", name, got, c.want, err)
		}
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(names) > 1 {
			t.Error(name, names, err)
		}
	}
}

// TestFetchWithoutRoom checks that a node which has no room for a copy says so, whatever else is wrong with other nodes, and
// does not have it made anew again and again.
func TestFetchWithoutRoom(t *testing.T) {
	t.Parallel()
	from, into := filled(t, "the owner's"), filled(t, "old")
	store := aStore(t, from, true)
	var copies atomic.Int64
	url := serveCopies(t, func(ctx *fasthttp.RequestCtx) {
		copies.Add(1)
		if err := sendCheckpoint(ctx, store, from, func() {}); err != nil {
			t.Error(err)
		}
	})
	is, err := snapshot.Disk.GetDiskUsage(into)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	s := &Served{flags: Flags{Node: "a"}, peers: []peer{{"a", "http://127.0.0.1:1"}, {"b", url}, {"c", "http://127.0.0.1:1"}}, config: engine.Config{
		DataDir: into, MinFreeDisk: int64(is.TotalBytes), Log: slog.New(slog.NewTextHandler(&said, nil)),
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := s.fetch(ctx); err == nil {
		t.Error("copied")
	}
	if n := copies.Load(); n != 1 {
		t.Errorf("%d copies were made", n)
	}
	if text := said.String(); !strings.Contains(text, errNoRoom.Error()) || !strings.Contains(text, "connection refused") || strings.Contains(text, "it ends at batch") {
		t.Error(text)
	}
}

// TestSecondStartBesideCopy checks that a second process with the folder of one that copies the journal leaves the copy alone.
func TestSecondStartBesideCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, takenFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	l := listens(t, "127.0.0.1:0") // it has the port
	defer func() { _ = l.Close() }()
	c, f := engine.Defaults(), Defaults()
	c.AdminToken, c.ISPB, c.SchemeSecret, c.DataDir, c.Scheme = "token", agreedISPB, schemeSecret, dir, "http://127.0.0.1:1"
	c.Listen, c.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	c.Log, c.OnFailure = slog.New(slog.DiscardHandler), func(err error) { t.Error(err) }
	f.Node, f.Listen, f.Peers = "a", l.Addr().String(), "a=http://"+l.Addr().String()
	if s, err := Serve(t.Context(), c, f, engine.Build{}); err == nil {
		_ = s.Shutdown()
		t.Error("two processes have one port")
	}
	if !exists(filepath.Join(dir, takenFolder)) {
		t.Error("the copy is gone")
	}
}
