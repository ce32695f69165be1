package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"pixd/cmd/certificate"
	"pixd/cmd/engine"
)

// Flags are the settings of a node, beside those of its engine.
type Flags struct {
	Node   string // this node's name; empty: there is no cluster
	Listen string // address for other nodes; an embedded member of etcd listens on the next port
	Peers  string // NAME=URL of each node, separated by commas
	TLS    certificate.Files
	CA     string

	Log       string // "embedded", or the URLs of an etcd, separated by commas
	LogTLS    certificate.Files
	LogCA     string
	LogPrefix string

	SnapshotOn string // which node makes snapshots: OnStandby, OnOwner or OnAny
	Reads      string // how a read proves that this node is the owner: ReadsLease or ReadsQuorum
}

// Embedded is the value of --log for a member of etcd in this process.
const Embedded = "embedded"

// Defaults returns the settings of flags that are not given.
func Defaults() Flags {
	return Flags{Log: Embedded, LogPrefix: "pixd/", SnapshotOn: OnStandby, Reads: ReadsLease}
}

// Check returns an error for the first setting that is not allowed. c are the engine's settings.
func (f *Flags) Check(c *engine.Config) error {
	if f.Node == "" {
		return f.checkAlone()
	}
	peers, err := parsePeers(f.Peers)
	if err != nil {
		return err
	}
	switch {
	case !nodeName.MatchString(f.Node):
		return fmt.Errorf("--node %q: a-z, 0-9 and -, at most 32", f.Node)
	case urlOf(peers, f.Node) == "":
		return fmt.Errorf("--cluster-peers does not name this node, %s", f.Node)
	case f.Listen == "":
		return errors.New("--cluster-listen is missing: the other nodes reach this one there")
	case c.Scheme == engine.InProcess:
		return errors.New("--node: the simulator in this process is of one node alone: run pixd sim, and give its URL to --scheme")
	case f.LogPrefix == "":
		return errors.New("--log-prefix is empty")
	}
	return errors.Join(f.checkListen(), f.checkTLS(peers), f.checkLog(), f.checkSnapshotOn(), f.checkReads())
}

func (f *Flags) checkAlone() error {
	if *f != Defaults() {
		return errors.New("the flags --cluster-…, --log…, --reads and --snapshot-on are for a node of several: --node NAME is missing")
	}
	return nil
}

func (f *Flags) checkListen() error {
	_, port, err := net.SplitHostPort(f.Listen)
	if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n == 0 || n == 65535 {
		return fmt.Errorf("--cluster-listen %q: HOST:PORT, with a port from 1 to 65534", f.Listen)
	}
	return nil
}

// checkTLS returns an error where other machines could reach this node, or it them, without
// certificates on both sides.
func (f *Flags) checkTLS(peers []peer) error {
	secure := f.TLS != certificate.Files{}
	if !secure && !loopback(f.Listen) {
		return fmt.Errorf("--cluster-listen %s: without --cluster-cert, --cluster-key and --cluster-ca it takes loopback addresses only", f.Listen)
	}
	for _, p := range peers {
		if u, _ := url.Parse(p.url); (u.Scheme == "https") != secure {
			return fmt.Errorf("--cluster-peers %s=%s: https:// goes with --cluster-cert, --cluster-key and --cluster-ca, and http:// without", p.name, p.url)
		}
	}
	return nil
}

func (f *Flags) checkLog() error {
	if f.Log == Embedded {
		if (f.LogTLS != certificate.Files{}) || f.LogCA != "" {
			return errors.New("--log-cert, --log-key and --log-ca are for an etcd of its own: --log URL")
		}
		return nil
	}
	for one := range strings.SplitSeq(f.Log, ",") {
		switch u, err := url.Parse(one); {
		case err == nil && u.User != nil: // it would be in the log
			return errors.New("--log: an etcd is not asked with a name and a password; --log-cert and --log-key are for that")
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return fmt.Errorf("--log %q: %s, or http://HOST:PORT or https://HOST:PORT, separated by commas", one, Embedded)
		}
	}
	return f.LogTLS.Check("log")
}

func urlOf(peers []peer, name string) string {
	for _, p := range peers {
		if p.name == name {
			return p.url
		}
	}
	return ""
}

// nextPort returns the address, or the URL, with the port that follows its own.
func nextPort(address string) string { return otherPort(address, 1) }

// formerPort returns the address with the port before.
func formerPort(address string) string { return otherPort(address, -1) }

func otherPort(address string, by int) string {
	i := strings.LastIndexByte(address, ':')
	port, _ := strconv.Atoi(address[i+1:])
	return address[:i+1] + strconv.Itoa(port+by)
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// memberDir is the folder of the embedded member of etcd.
func memberDir(dataDir string) string { return filepath.Join(dataDir, "etcd") }
