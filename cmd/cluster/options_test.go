package cluster

import (
	"strings"
	"testing"

	"pixd/cmd/certificate"
	"pixd/cmd/engine"
)

// TestFlagsRefused checks that each setting that is not allowed is refused by its flag's name.
func TestFlagsRefused(t *testing.T) {
	good := func() (Flags, engine.Config) {
		f, c := Defaults(), engine.Defaults()
		f.Node, f.Listen, f.Peers = "a", "127.0.0.1:8090", "a=http://127.0.0.1:8090,b=http://127.0.0.1:8190"
		c.Scheme = "http://127.0.0.1:9"
		return f, c
	}
	f, c := good()
	if err := f.Check(&c); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Flags, *engine.Config){
		`--node "A"`:                     func(f *Flags, _ *engine.Config) { f.Node = "A" },
		`does not name this node, c`:     func(f *Flags, _ *engine.Config) { f.Node = "c" },
		`--cluster-listen is missing`:    func(f *Flags, _ *engine.Config) { f.Listen = "" },
		`--cluster-listen "x": HOST`:     func(f *Flags, _ *engine.Config) { f.Listen = "x" },
		`"127.0.0.1:0": HOST`:            func(f *Flags, _ *engine.Config) { f.Listen = "127.0.0.1:0" },
		`"127.0.0.1:65535": HOST`:        func(f *Flags, _ *engine.Config) { f.Listen = "127.0.0.1:65535" },
		`takes loopback addresses only`:  func(f *Flags, _ *engine.Config) { f.Listen = "10.0.0.1:8090" },
		`simulator in this process`:      func(_ *Flags, c *engine.Config) { c.Scheme = engine.InProcess },
		`--cluster-peers "": NAME=URL`:   func(f *Flags, _ *engine.Config) { f.Peers = "" },
		`node a is named twice`:          func(f *Flags, _ *engine.Config) { f.Peers = "a=http://h:1,a=http://h:2" },
		`http://h:1 is named twice`:      func(f *Flags, _ *engine.Config) { f.Peers = "a=http://h:1,b=http://h:1" },
		`a="http://h": http://HOST:PORT`: func(f *Flags, _ *engine.Config) { f.Peers = "a=http://h" },
		`a="ftp://h:1"`:                  func(f *Flags, _ *engine.Config) { f.Peers = "a=ftp://h:1" },
		`a="http://h:1/x"`:               func(f *Flags, _ *engine.Config) { f.Peers = "a=http://h:1/x" },
		`https:// goes with`:             func(f *Flags, _ *engine.Config) { f.Peers = "a=https://h:1" },
		`http:// without`:                func(f *Flags, _ *engine.Config) { f.TLS = certificate.Files{Cert: "c", Key: "k"} },
		`--log "x": embedded`:            func(f *Flags, _ *engine.Config) { f.Log = "x" },
		`a name and a password`:          func(f *Flags, _ *engine.Config) { f.Log = "http://root:secret@h:1" },
		`are for an etcd of its own`:     func(f *Flags, _ *engine.Config) { f.LogCA = "ca" },
		`--log-prefix is empty`:          func(f *Flags, _ *engine.Config) { f.LogPrefix = "" },
		`--snapshot-on "x"`:              func(f *Flags, _ *engine.Config) { f.SnapshotOn = "x" },
		`--reads "x"`:                    func(f *Flags, _ *engine.Config) { f.Reads = "x" },
		`--node NAME is missing`:         func(f *Flags, _ *engine.Config) { f.Node = "" },
	} {
		f, c := good()
		change(&f, &c)
		if err := f.Check(&c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	alone, c := Defaults(), engine.Defaults()
	if err := alone.Check(&c); err != nil {
		t.Error(err)
	}
}

func TestNextPort(t *testing.T) {
	for address, want := range map[string]string{"127.0.0.1:8090": "127.0.0.1:8091", "https://[::1]:9": "https://[::1]:10"} {
		if got := nextPort(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
