package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"pixd/wal"
	"pixd/wal/waltest"
)

// startServer starts an etcd with a port for clients and returns its URL.
func startServer(t *testing.T) string {
	t.Helper()
	o := options(t, 1)[0]
	o.fill()
	config, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	clients := []url.URL{{Scheme: "http", Host: waltest.FreePorts(t, 1, 1)[0]}}
	config.ListenClientUrls, config.AdvertiseClientUrls = clients, clients
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	return clients[0].String()
}

// TestDial runs the contract over connections to an etcd.
func TestDial(t *testing.T) {
	t.Parallel()
	o := Options{Endpoints: []string{startServer(t)}, Log: logger()}
	for i, c := range waltest.LogContract() {
		o.Prefix = fmt.Sprintf("%d/", i)
		t.Run(c.Name, func(t *testing.T) {
			c.Run(t, func() wal.Log {
				l, err := Dial(patient(t), o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				})
				return l
			})
		})
	}
}

// TestDialNobody checks that Dial ends where no etcd is.
func TestDialNobody(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if l, err := Dial(ctx, Options{Endpoints: []string{"http://" + waltest.FreePorts(t, 1, 1)[0]}}); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(l, err)
	}
}

func TestUsable(t *testing.T) {
	for version, want := range map[string]bool{"3.7.3": true, "3.5.3": true, "3.5.2": false, "3.4.40": false, "": false, "x": false} {
		if err := usable(version); (err == nil) != want {
			t.Errorf("version %q: %v", version, err)
		}
	}
}
