package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	o := Options{Endpoints: []string{startServer(t, func(*embed.Config) {})}, Timeout: time.Minute, Log: logger()} // a busy machine takes its time
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

// TestDialSlow checks that an etcd to which a long request takes too long is not refused for that.
func TestDialSlow(t *testing.T) {
	t.Parallel()
	to, err := url.Parse(startServer(t, func(*embed.Config) {}))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Dial(patient(t), Options{Endpoints: []string{"http://" + stopsShort(t, to.Host)}, Timeout: time.Second, Log: logger()})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// stopsShort returns an address from which each connection gets on to another, with the first MiB of what is sent.
func stopsShort(t *testing.T, to string) string {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = port.Close() })
	go func() {
		for {
			in, err := port.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = errors.Join(in.Close(), out.Close()) })
			go func() { _, _ = io.CopyN(out, in, 1<<20) }()
			go func() { _, _ = io.Copy(in, out) }()
		}
	}()
	return port.Addr().String()
}

// TestDialWithoutLeader checks that a connection comes about to an etcd whose members elect one that leads: whoever uses
// it waits for that.
func TestDialWithoutLeader(t *testing.T) {
	t.Parallel()
	all := options(t, 2)
	var etcds []*embed.Etcd
	var at string
	for i := range all {
		all[i].fill()
		config, err := all[i].config(new(putBack))
		if err != nil {
			t.Fatal(err)
		}
		clients := []url.URL{{Scheme: "http", Host: waltest.FreePorts(t, 1, 1)[0]}}
		config.ListenClientUrls, config.AdvertiseClientUrls = clients, clients
		etcd, err := embed.StartEtcd(config)
		if err != nil {
			t.Fatal(err)
		}
		at, etcds = clients[0].String(), append(etcds, etcd)
	}
	t.Cleanup(etcds[1].Close)
	for _, etcd := range etcds {
		<-etcd.Server.ReadyNotify()
	}
	etcds[0].Close()
	for until := time.Now().Add(10 * time.Second); etcds[1].Server.Leader() != 0; {
		if time.Now().After(until) {
			t.Fatal("it has a leader")
		}
		time.Sleep(10 * time.Millisecond)
	}
	l, err := Dial(patient(t), Options{Endpoints: []string{at}, Timeout: time.Second, Log: logger()})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
