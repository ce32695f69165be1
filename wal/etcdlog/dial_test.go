package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"pixd/wal"
	"pixd/wal/waltest"
)

// startServer starts an etcd with a port for clients and returns its URL. set changes its settings.
func startServer(t *testing.T, set func(*embed.Config)) string {
	t.Helper()
	o := options(t, 1)[0]
	o.fill()
	config, err := o.config(new(putBack))
	if err != nil {
		t.Fatal(err)
	}
	clients := []url.URL{{Scheme: "http", Host: waltest.FreePorts(t, 1, 1)[0]}}
	config.ListenClientUrls, config.AdvertiseClientUrls = clients, clients
	set(config)
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
	o := Options{Endpoints: []string{startServer(t, func(*embed.Config) {})}, Log: logger()}
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

// TestDialNarrow checks that an etcd which is set to take less than a log asks of it is refused, with the setting's name.
func TestDialNarrow(t *testing.T) {
	t.Parallel()
	for says, set := range map[string]func(*embed.Config){
		"fewer than 128 operations in one transaction; set its --max-txn-ops": func(c *embed.Config) { c.MaxTxnOps = readRevisions - 1 },
		"set its --max-request-bytes to 5242880":                              func(c *embed.Config) { c.MaxRequestBytes = 4 << 20 },
	} {
		l, err := Dial(patient(t), Options{Endpoints: []string{startServer(t, set)}, Log: logger()})
		if err == nil {
			err = l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

func TestUsable(t *testing.T) {
	for version, want := range map[string]bool{"3.7.3": true, "3.5.3": true, "3.5.2": false, "3.4.40": false, "": false, "x": false} {
		if err := usable(version); (err == nil) != want {
			t.Errorf("version %q: %v", version, err)
		}
	}
}
