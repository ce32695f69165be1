package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"pixd/actors/layout"
	"pixd/actors/strictjson"
	"pixd/cmd/certificate"
	"pixd/cmd/journal"
	"pixd/cmd/machine"
	"pixd/wal"
	"pixd/wal/etcdlog"
)

// openLog connects to the log, and starts the embedded member where there is one.
func (s *Served) openLog(ctx context.Context) (err error) {
	f := &s.flags
	if f.Log == Embedded {
		peers := make(map[string]string, len(s.peers))
		for _, p := range s.peers {
			peers[p.name] = nextPort(p.url)
		}
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		join, err := s.firstStart(ctx, stop)
		if err != nil {
			return err
		}
		s.member, err = etcdlog.Start(ctx, etcdlog.MemberOptions{
			Name: f.Node, Dir: memberDir(s.config.DataDir), Join: join, Peers: peers, PeerListen: nextPort(f.Listen),
			CertFile: f.TLS.Cert, KeyFile: f.TLS.Key, CAFile: f.CA, Prefix: f.LogPrefix, Log: s.config.Log,
		})
		if err != nil {
			if why := context.Cause(ctx); why != nil && !errors.Is(why, context.Canceled) {
				return why
			}
			return err
		}
		s.log = s.member.Log()
		return nil
	}
	t, err := logTLS(f)
	if err != nil {
		return err
	}
	s.log, err = etcdlog.Dial(ctx, etcdlog.Options{Endpoints: splitList(f.Log), TLS: t, Prefix: f.LogPrefix, Log: s.config.Log})
	return err
}

func logTLS(f *Flags) (*tls.Config, error) {
	t, err := certificate.Trusting("log-ca", f.LogCA)
	if err != nil || f.LogTLS.Cert == "" {
		return t, err
	}
	own, err := certificate.Read("log", f.LogTLS)
	if err != nil {
		return nil, err
	}
	if t == nil {
		t = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own.Config().GetCertificate(nil) }
	return t, nil
}

// hello is what a node says of itself to another before there is a log.
type hello struct {
	Node    string `json:"node"`
	Peers   string `json:"peers"`
	Cluster string `json:"cluster"` // empty: it is starting
}

const helloPath = "/cluster/hello"

// firstStart looks after the first start of an embedded member, and reports whether the cluster exists
// already, so that the member joins it. It refuses a folder whose journal is a cluster's and whose
// member is gone: a member that has forgotten what it has agreed to must not come back under its name.
func (s *Served) firstStart(ctx context.Context, stop context.CancelCauseFunc) (join bool, err error) {
	if _, err := os.Stat(memberDir(s.config.DataDir)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if id, err := s.clusterOf(); err != nil || id != "" {
		return false, errors.Join(err, fmt.Errorf("this folder is of cluster %s, and its folder etcd is gone: pixd cluster leave and join replace the node, with an empty folder; docs/cluster.md says how to go on where all have lost theirs", id))
	}
	client := s.nodeClient()
	for _, p := range s.peers {
		if p.name == s.flags.Node {
			continue
		}
		if said, err := ask(ctx, client, p.url); err == nil && said.Cluster != "" {
			return true, nil
		}
	}
	go s.comparePeers(ctx, stop)
	return false, nil
}

// clusterOf returns the ID of the cluster whose journal is in the data folder; empty: none's.
func (s *Served) clusterOf() (string, error) {
	dir := filepath.Join(s.config.DataDir, journal.Folder)
	if _, err := os.Stat(dir); err != nil {
		return "", nil //nolint:nilerr // there is no journal; whatever else is wrong with the folder is met when it is made
	}
	store, err := wal.Open(wal.Options{Dir: dir, ReadOnly: true, Log: s.config.Log})
	if err != nil {
		return "", err
	}
	id, err := store.Cluster()
	return id, errors.Join(err, store.Close())
}

// nodeClient asks other nodes.
func (s *Served) nodeClient() *http.Client {
	return &http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: s.clientTLS, DisableKeepAlives: true}}
}

// comparePeers asks the other nodes for their lists of nodes, and ends the start where one differs:
// members of etcd with different lists never find together.
func (s *Served) comparePeers(ctx context.Context, stop context.CancelCauseFunc) {
	client := s.nodeClient()
	for pause(ctx, lookEvery) == nil {
		for _, p := range s.peers {
			if p.name == s.flags.Node {
				continue
			}
			if said, err := ask(ctx, client, p.url); err == nil && said.Cluster == "" && (said.Node != p.name || said.Peers != peersText(s.peers)) {
				stop(fmt.Errorf("--cluster-peers differs: node %s at %s has %s, and this one has %s", said.Node, p.url, said.Peers, peersText(s.peers)))
				return
			}
		}
	}
}

func ask(ctx context.Context, client *http.Client, url string) (said hello, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+helloPath, nil)
	if err != nil {
		return said, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return said, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return said, err
	}
	return said, strictjson.Decode(body, strictjson.Rules{Deepest: 8}, &said, true)
}

// begin opens the journal, agrees with the other nodes on what the cluster is, and copies the journal
// from one of them where this node cannot follow with its own.
func (s *Served) begin(ctx context.Context) error {
	for copied := false; ; copied = true {
		n, err := s.openNode(ctx)
		if err == nil {
			s.node.Store(n)
			return nil
		}
		if !errors.Is(err, errEmpty) || copied {
			return err
		}
		if err := s.fetch(ctx); err != nil {
			return err
		}
	}
}

// openNode opens the journal and joins the cluster with it. errEmpty: it must be copied first.
func (s *Served) openNode(ctx context.Context) (_ *node, err error) {
	c := &s.config
	hard := journal.HardSettings(c.ISPB)
	store, err := wal.Open(wal.Options{
		Starting: ctx, Dir: filepath.Join(c.DataDir, journal.Folder), Hard: hard, SetOnce: layout.SetOnce,
		OnFailure: s.failed, Log: c.Log, Shared: true,
	})
	if err != nil {
		return nil, err
	}
	n := &node{
		self: state{Run: newRun(), URL: urlOf(s.peers, s.flags.Node), Level: wal.Level(), Program: s.build.Version}, name: s.flags.Node, role: roleJoining,
		log: s.log, store: store, elapsed: s.elapsed, slog: c.Log, lease: newLease(s.elapsed),
	}
	if former := s.node.Load(); former != nil { // it renews nothing any more
		n.earlier = former.version
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	if err := n.register(ctx); err != nil {
		return nil, err
	}
	agreed, err := n.agree(ctx, s.peers, wal.Cluster{ID: newRun(), Hard: hard})
	if err != nil {
		return nil, err
	}
	if err := fits(store, agreed, hard); err != nil {
		return nil, err
	}
	n.cluster = agreed
	return n, errors.Join(n.longEnough(ctx, agreed), s.newMaker(n))
}

// fetch copies the journal from another node that is there.
func (s *Served) fetch(ctx context.Context) error {
	told := time.Time{}
	for {
		err := errors.New("no other node is there")
		for _, p := range s.peers {
			if p.name == s.flags.Node {
				continue
			}
			s.config.Log.Info("cluster: copying the journal", "from", p.name)
			if err = fetchCheckpoint(ctx, p.url, s.clientTLS, s.config.DataDir); err == nil {
				return nil
			}
		}
		if time.Since(told) > tellEvery {
			told = time.Now()
			s.config.Log.Warn("cluster: the journal cannot be copied from another node; trying on", "error", err)
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// newRun names a process, or a cluster.
func newRun() string { return fmt.Sprintf("%x", machine.Secret(8)) }

// failed ends the process: what this node has answered is in the log.
func (s *Served) failed(err error) {
	if s.config.OnFailure != nil {
		s.config.OnFailure(err)
	}
}
