package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/cmd/engine"
	"pixd/cmd/journal"
	"pixd/wal/waltest"
)

// TestCopyFromAFrozenNode checks that a copy is not waited for without end where a node is frozen: its machine's kernel takes the
// connection, and nobody answers, neither the request nor the handshake of TLS.
func TestCopyFromAFrozenNode(t *testing.T) {
	for scheme, c := range map[string]*tls.Config{"http": nil, "https": {InsecureSkipVerify: true}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err = fetchFiles(ctx, scheme+"://"+l.Addr().String(), c, t.TempDir(), 0, 100*time.Millisecond)
		if ctx.Err() != nil || !errors.Is(err, errIdle) {
			t.Errorf("%s: %v", scheme, err)
		}
		cancel()
		_ = l.Close()
	}
}

// TestCopiesFromWhomTheLogKnows checks that a node whose list has only nodes that are gone copies the journal from one that has
// joined since, before it has read any states itself.
func TestCopiesFromWhomTheLogKnows(t *testing.T) {
	from, into := filled(t, "the owner's"), t.TempDir()
	store, tape := aStore(t, from, true), waltest.NewTape()
	url := serveCopies(t, func(ctx *fasthttp.RequestCtx) {
		if err := sendCheckpoint(ctx, store, from, func() {}); err != nil {
			t.Error(err)
		}
	})
	joined := aNode(t, tape, "d", t.TempDir())
	joined.self.URL = url
	if err := joined.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := "http://127.0.0.1:1"
	s := &Served{
		config: engine.Config{Log: slog.New(slog.DiscardHandler), DataDir: into}, flags: Flags{Node: "a"},
		peers: []peer{{"a", gone}, {"b", gone}}, log: tape.Log(),
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.fetch(ctx); err != nil {
		t.Fatal(err)
	}
	if at, _, _ := aStore(t, into, true).Head(); at != 1 {
		t.Errorf("the copy ends at batch %d", at)
	}
}

// TestCopyOutlastsAFailedRename checks that a try which follows one that could not put its copy in the journal's place leaves that
// copy as the journal where no other node gives one, and the journal that was moved aside where there is no copy.
func TestCopyOutlastsAFailedRename(t *testing.T) {
	for want, left := range map[string][]string{takenFolder: {takenFolder, oldFolder}, oldFolder: {oldFolder}} {
		dir := t.TempDir()
		for _, folder := range left {
			if err := os.Rename(filepath.Join(filled(t, folder), journal.Folder), filepath.Join(dir, folder)); err != nil {
				t.Fatal(err)
			}
		}
		if err := fetchCheckpoint(t.Context(), "http://127.0.0.1:1", nil, dir, 0); err == nil {
			t.Error("copied from nobody")
		}
		if !exists(filepath.Join(dir, journal.Folder)) {
			t.Errorf("%s: neither the journal nor the copy is left", want)
			continue
		}
		_, _, sum := aStore(t, dir, true).Head()
		if _, _, is := aStore(t, filled(t, want), true).Head(); is != sum {
			t.Errorf("the journal is not that of %s", want)
		}
	}
}
