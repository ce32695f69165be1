package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pixd/actors/layout"
	"pixd/cmd/certificate"
	"pixd/cmd/journal"
	"pixd/cmd/machine"
	"pixd/wal"
	"pixd/wal/etcdlog"
)

// openLog connects to the log, and starts the embedded member where there is one.
func (s *Served) openLog(ctx context.Context) error {
	f := &s.flags
	if f.Log == Embedded {
		return s.startMember(ctx)
	}
	t, own, err := logTLS(f)
	if err != nil {
		return err
	}
	s.certs[4] = own
	log, err := etcdlog.Dial(ctx, etcdlog.Options{Endpoints: splitList(f.Log), TLS: t, Prefix: f.LogPrefix, Log: s.config.Log})
	if err != nil {
		return err // s.log stays nil
	}
	s.log = log
	return nil
}

// logTLS returns how this node meets an etcd over TLS (nil: without it), and the certificate that it shows there
// (nil: none).
func logTLS(f *Flags) (t *tls.Config, own *certificate.Certificate, err error) {
	if f.LogCA != "" {
		if t, err = certificate.Trusting("log-ca", f.LogCA); err != nil {
			return nil, nil, err
		}
	}
	if t == nil && strings.Contains(f.Log, "https://") {
		t = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if f.LogTLS.Cert == "" {
		return t, nil, nil
	}
	if own, err = certificate.Read("log", f.LogTLS); err != nil {
		return nil, nil, err
	}
	if t == nil {
		t = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own.Config().GetCertificate(nil) }
	return t, own, nil
}

// begin opens the journal, agrees with the other nodes on what the cluster is, and copies the journal
// from one of them where this node cannot follow with its own.
func (s *Served) begin(ctx context.Context) error {
	for copied := false; ; copied = true {
		n, err := s.openNode(ctx)
		for errors.Is(err, errUnanswered) && ctx.Err() == nil {
			s.config.Log.Warn("cluster: beginning anew", "error", err)
			if err := pause(ctx, lookEvery); err != nil {
				return err
			}
			n, err = s.openNode(ctx)
		}
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
		OnFailure: s.failed, Log: c.Log, Shared: true, AroundSync: s.meters.AroundSync, AroundCommit: s.meters.AroundCommit,
	})
	if err != nil {
		return nil, err
	}
	n := &node{
		self: state{Run: newRun(), URL: urlOf(s.peers, s.flags.Node), Level: wal.Level(), Program: s.build.Version}, name: s.flags.Node, role: roleJoining,
		log: s.log, store: store, elapsed: s.elapsed, slog: c.Log, lease: newLease(s.elapsed), meet: s.meet, member: s.member != nil,
	}
	if former := s.node.Load(); former != nil { // it renews nothing any more
		n.earlier = former.version
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	if err := n.isStranger(ctx, hard); err != nil {
		return nil, err
	}
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
	if err := n.longEnough(ctx, agreed); err != nil {
		return nil, err
	}
	return n, s.newMaker(n)
}

// fetch copies the journal from another node that is there. Each call begins with another of them: what
// one of them has may not be enough.
func (s *Served) fetch(ctx context.Context) error {
	told := time.Time{}
	for {
		var errs []error
		s.fetched++
		for i, from := 0, s.sources(ctx); i < len(from); i++ {
			p := from[(i+s.fetched)%len(from)]
			s.config.Log.Info("cluster: copying the journal", "from", p.name)
			err := fetchCheckpoint(ctx, p.url, s.clientTLS, s.config.DataDir, uint64(max(s.config.MinFreeDisk, 0)))
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		err := cmp.Or(errors.Join(errs...), errors.New("no other node is there"))
		if time.Since(told) > tellEvery {
			told = time.Now()
			s.config.Log.Warn("cluster: the journal cannot be copied from another node; trying on", "error", err)
		}
		wait := time.Second
		if errors.Is(err, errNoRoom) {
			wait = roomEvery
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// sources are the nodes from which the journal may be copied: the others of this node's list, and those that the log has, as
// the list may be older than the cluster's nodes, or than their URLs. Where the log does not answer, it is the list alone.
func (s *Served) sources(ctx context.Context) []peer {
	all := slices.Clone(s.peers)
	if s.log != nil {
		ctx, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		states, err := s.log.Glance(ctx)
		known, err1 := seenNodes{}.take(states, 1)
		if err := errors.Join(err, err1); err != nil {
			s.config.Log.Debug("cluster: states of nodes not read", "error", err)
		}
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if p := (peer{name, known[name].URL}); !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return slices.DeleteFunc(all, func(p peer) bool { return p.name == s.flags.Node })
}

// roomEvery is the time between two looks for room for a copy of the journal: the other node has made its copy by then.
const roomEvery = 10 * time.Second

// newRun names a process, or a cluster.
func newRun() string { return fmt.Sprintf("%x", machine.Secret(8)) }

// failed ends the process: what this node has answered is in the log.
func (s *Served) failed(err error) {
	if s.config.OnFailure != nil {
		s.config.OnFailure(err)
	}
}
