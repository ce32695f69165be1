package etcdlog

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// logger shows the messages of a test in which PIXD_TEST_LOG is set.
func logger() *slog.Logger {
	if os.Getenv("PIXD_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(io.Writer(os.Stderr), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// options returns the options of members whose names are a, b and so on.
func options(t testing.TB, n int) (all []MemberOptions) {
	t.Helper()
	peers := map[string]string{}
	for i, address := range waltest.FreePorts(t, n, 1) {
		peers[string(rune('a'+i))] = "http://" + address
	}
	for i := range n {
		all = append(all, MemberOptions{
			Name: string(rune('a' + i)), Dir: t.TempDir(), Peers: peers, Log: logger(),
			Heartbeat: 20 * time.Millisecond, Election: 200 * time.Millisecond,
		})
	}
	return all
}

// start starts members at the same time.
func start(t testing.TB, all []MemberOptions) []*Member {
	t.Helper()
	members, errs := make([]*Member, len(all)), make(chan error, len(all))
	for i, o := range all {
		go func() {
			m, err := Start(context.Background(), o)
			members[i] = m
			errs <- err
		}()
	}
	for range all {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, m := range members {
			m.Close()
		}
	})
	return members
}
