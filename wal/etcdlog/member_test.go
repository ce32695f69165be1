package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"pixd/wal"
)

// freePorts returns n addresses whose ports were free a moment ago, below the ports that the system
// gives to connections.
func freePorts(t testing.TB, n int) (addresses []string) {
	t.Helper()
	for len(addresses) < n {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

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
	for i, address := range freePorts(t, n) {
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

func TestSmoke(t *testing.T) {
	began := time.Now()
	m := start(t, options(t, 1))[0]
	t.Log("started", time.Since(began))
	ctx := t.Context()
	l := m.Log()
	if _, err := l.Found(ctx, wal.Cluster{ID: "x", Base: 7}); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := l.Append(ctx, 1, uint64(7+i), []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("stop")
	n := uint64(7)
	err := l.Follow(ctx, 1, 7, func(p uint64, _ []byte) error {
		if n++; p != n {
			t.Fatal(p, n)
		}
		if n == 307 {
			return stop
		}
		return nil
	})
	t.Log(n, err, time.Since(began))
	t.Log(l.Size(ctx))
	t.Log(l.Nodes(ctx))
	t.Log(m.Members(ctx))
	began = time.Now()
	m.Close()
	t.Log("closed", time.Since(began))
}

func TestLead(t *testing.T) {
	began := time.Now()
	ms := start(t, options(t, 3))
	t.Log("started", time.Since(began))
	for _, m := range ms {
		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := m.Lead(ctx)
		cancel()
		t.Log(err, m.Leads(), time.Since(began))
	}
}
