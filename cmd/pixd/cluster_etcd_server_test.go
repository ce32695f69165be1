package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	etcdversion "go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"pixd/wal/waltest"
)

// etcdVariable has, in the environment of this test's program, the settings of the etcd that it is to be,
// in JSON.
const etcdVariable = "PIXD_TEST_ETCD"

// etcdServer is an etcd of its own, in a process.
type etcdServer struct {
	Dir           string
	Peer          string   // the URL for other members, which there are none of
	Clients       []string // the URLs for clients
	Cert, Key, CA string   // for connections of clients, who must show a certificate; empty: without
	Version       string   // what it says that it is; empty: what it is
	p             *process
}

// newEtcd starts an etcd with two ports for clients, who must have a certificate of an authority; nil: none.
func newEtcd(t *testing.T, by *authority, is string) *etcdServer {
	t.Helper()
	ports := waltest.FreePorts(t, 3, 1)
	e := &etcdServer{Dir: filepath.Join(t.TempDir(), "etcd"), Peer: "http://" + ports[0], Clients: []string{"http://" + ports[1], "http://" + ports[2]}, Version: is}
	if by != nil {
		e.Cert, e.Key = by.sign("127.0.0.1")
		e.CA = by.file
		e.Clients = []string{"https://" + ports[1], "https://" + ports[2]}
	}
	e.start(t)
	return e
}

func (e *etcdServer) start(t *testing.T) {
	t.Helper()
	settings, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), etcdVariable+"="+string(settings))
	e.p = (&process{t: t, cmd: c, ready: make(chan struct{}), exited: make(chan error, 1)}).begin().awaitReady()
}

// log is the flag that names the etcd.
func (e *etcdServer) log() string { return strings.Join(e.Clients, ",") }

// copies copies the etcd's folder as a volume's snapshot does: at one moment, while it runs.
func (e *etcdServer) copies(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := e.p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	err := os.CopyFS(to, os.DirFS(e.Dir))
	_ = e.p.cmd.Process.Signal(syscall.SIGCONT)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// restores ends the etcd, and starts it with a copy of its folder.
func (e *etcdServer) restores(t *testing.T, from string) {
	t.Helper()
	e.p.end(syscall.SIGKILL)
	if err := os.RemoveAll(e.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(e.Dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	e.start(t)
}

// playEtcd is an etcd until it gets SIGTERM.
func playEtcd() {
	var e etcdServer
	err := json.Unmarshal([]byte(os.Getenv(etcdVariable)), &e)
	if err == nil {
		err = e.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (e *etcdServer) run() error {
	if e.Version != "" {
		etcdversion.Version = e.Version
	}
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.MaxRequestBytes = e.Dir, "error", 5<<20
	peers, err := urls(e.Peer)
	if err != nil {
		return err
	}
	c.ListenPeerUrls, c.AdvertisePeerUrls = peers, peers
	c.InitialCluster = c.Name + "=" + e.Peer
	if c.ListenClientUrls, err = urls(e.Clients...); err != nil {
		return err
	}
	c.AdvertiseClientUrls = c.ListenClientUrls
	if e.CA != "" {
		c.ClientTLSInfo = transport.TLSInfo{CertFile: e.Cert, KeyFile: e.Key, TrustedCAFile: e.CA, ClientCertAuth: true}
	}
	server, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer server.Close()
	<-server.Server.ReadyNotify()
	fmt.Fprintln(os.Stderr, "msg=ready simulator=etcd") // as process looks for
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGTERM)
	select {
	case <-over:
		return nil
	case err := <-server.Err():
		return err
	}
}

func urls(texts ...string) (all []url.URL, err error) {
	for _, text := range texts {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, *u)
	}
	return all, nil
}
