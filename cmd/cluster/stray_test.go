package cluster

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/cmd/engine"
	"pixd/wal"
	"pixd/wal/waltest"
)

// TestStrayIsNotTheNewest checks that what a node with another journal says of itself makes no other node look behind, while it joins
// or follows no more.
func TestStrayIsNotTheNewest(t *testing.T) {
	for name, role := range map[string]string{"joining": roleJoining, "wrong": roleStandby} {
		synctest.Test(t, func(t *testing.T) {
			tape := waltest.NewTape()
			a := aNode(t, tape, "a", t.TempDir())
			_, err := a.log.Found(t.Context(), wal.Cluster{ID: "c"})
			b := aNode(t, tape, "b", t.TempDir())
			b.become(roleStandby)
			stray := aNode(t, tape, "d", filled(t, "its own"))
			stray.become(role)
			if name == "wrong" {
				stray.isWrongBy(errors.New("its sum differs"))
			}
			if err := errors.Join(err, stray.renew(t.Context())); err != nil {
				t.Fatal(err)
			}
			for range 100 { // in which it has ended, and b goes on
				if err := errors.Join(b.renew(t.Context()), a.lookOnce(t.Context())); err != nil {
					t.Fatal(err)
				}
				time.Sleep(lookEvery)
			}
			if err := a.mayTake("b"); err != nil && name != "wrong" { // which may have what the log has lost
				t.Error(name, err)
			}
			for _, is := range a.status().Nodes {
				if is.LagBatches > 0 || is.LagSeconds > 0 {
					t.Errorf("%s: node %s is behind by %d batches, %.1f s", name, is.Node, is.LagBatches, is.LagSeconds)
				}
			}
		})
	}
}

// TestStrayWritesNothing checks that a node whose folder is refused has not written its state into the log.
func TestStrayWritesNothing(t *testing.T) {
	tape := waltest.NewTape()
	log := tape.Log()
	if _, err := log.Found(t.Context(), wal.Cluster{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s := &Served{
		config: engine.Config{DataDir: filled(t, "its own"), ISPB: agreedISPB, Log: slog.New(slog.DiscardHandler)}, flags: Flags{Node: "d"},
		peers: []peer{{"d", "http://d:1"}}, log: log, meters: newMeters(), elapsed: func() time.Duration { return time.Since(began) + time.Second },
	}
	if _, err := s.openNode(t.Context()); err == nil || !strings.Contains(err.Error(), "a journal of its own") {
		t.Error(err)
	}
	if all, err := log.Nodes(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("the log has the states %v: %v", all, err)
	}
}

// TestStrayIsNotAdmitted checks that the member of etcd of a node that was added does not begin over a folder with a journal of
// its own, and does over an empty one.
func TestStrayIsNotAdmitted(t *testing.T) {
	own := peer{"d", "http://127.0.0.1:1"}
	url := serveCopies(t, func(ctx *fasthttp.RequestCtx) {
		answerJSON(ctx, hello{Node: "a", Log: logFounded, Members: []member{{Name: "a", URL: "http://a:2"}, {URL: nextPort(own.url)}}})
	})
	for dir, why := range map[string]string{t.TempDir(): "", filled(t, "its own"): "a journal of its own, of 1 batches"} {
		s := &Served{config: engine.Config{DataDir: dir, Log: slog.New(slog.DiscardHandler)}, flags: Flags{Node: "d"}, peers: []peer{{"a", url}, own}}
		if err := s.readFolder(); err != nil {
			t.Fatal(err)
		}
		s.elapsed = func() time.Duration { return time.Second }
		_, join, err := s.admit(t.Context())
		if join != (why == "") || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("it joins: %v, %v", join, err)
		}
	}
}
