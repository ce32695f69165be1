package etcdlog

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"pixd/wal/waltest"
)

// TestOneOfSeveral checks that an etcd of which one member does not answer is used, and that the smallest of the members'
// quotas counts.
func TestOneOfSeveral(t *testing.T) {
	t.Parallel()
	quota := func(n int64) func(*embed.Config) { return func(c *embed.Config) { c.QuotaBackendBytes = n } }
	servers := []string{startServer(t, quota(1<<30)), startServer(t, quota(3<<30)), "http://" + waltest.FreePorts(t, 1, 1)[0]}
	l, err := Dial(patient(t), Options{Endpoints: servers, Log: logger()})
	if err != nil {
		t.Fatal(err)
	}
	if bytes, most, err := l.Size(patient(t)); bytes == 0 || most != 1<<30 || err != nil {
		t.Errorf("%d bytes of %d: %v", bytes, most, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestSizeBesideSilentMember checks that a member which takes connections and says nothing does not use up the time in which
// the others could answer.
func TestSizeBesideSilentMember(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	servers := []string{"http://" + silent.Addr().String(), startServer(t, func(*embed.Config) {})}
	l, err := Dial(patient(t), Options{Endpoints: servers, Log: logger()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if bytes, most, err := l.Size(ctx); bytes == 0 || most == 0 || err != nil {
		t.Errorf("%d bytes of %d: %v", bytes, most, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestFailedStartFreesThePort checks that a member that found no majority before its start was ended leaves its port.
func TestFailedStartFreesThePort(t *testing.T) {
	t.Parallel()
	o := options(t, 2)[0]
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if m, err := Start(ctx, o); err == nil {
		m.Close()
		t.Fatal("it has started")
	}
	u, err := url.Parse(o.Peers[o.Name])
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		l, err := net.Listen("tcp", u.Host)
		if err == nil {
			_ = l.Close()
			return
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
}
