package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"pixd/httpapi/admin"
	"pixd/httpapi/control"
	"pixd/wal/etcdlog"
)

// membersFor is how long adding or removing a node may take.
const membersFor = 10 * time.Second

// Leave implements admin.Cluster. A node that was added and has never started has no name in etcd: it is named by the
// HOST:PORT of the URL with which it was added.
func (s *Served) Leave(name string) (admin.ClusterStatus, error) {
	n := s.node.Load()
	if n == nil {
		return admin.ClusterStatus{}, control.Refuse(fasthttp.StatusServiceUnavailable, "this node is still starting")
	}
	ctx, cancel := context.WithTimeout(context.Background(), membersFor)
	defer cancel()
	n.mu.Lock()
	is, known := n.seen[name]
	alive := name == n.name || known && is.alive(n.elapsed())
	n.mu.Unlock()
	leaves := etcdlog.Peer{Name: name}
	if !alive && !known {
		var err error
		if leaves, err = s.unseen(ctx, name); err != nil {
			return admin.ClusterStatus{}, err
		}
		alive = s.askEach(ctx, []peer{{name, formerPort(leaves.URL)}})[0].err == nil
	}
	if alive {
		return admin.ClusterStatus{}, control.Refuse(fasthttp.StatusConflict, "node %s runs: stop it first", name)
	}
	if s.member != nil {
		if err := s.member.RemoveMember(ctx, leaves); err != nil {
			return admin.ClusterStatus{}, fmt.Errorf("cluster: remove node %s: %w", name, err)
		}
	}
	if err := s.log.Leave(ctx, name); err != nil {
		return admin.ClusterStatus{}, err
	}
	if err := n.lookOnce(ctx); err != nil {
		return admin.ClusterStatus{}, err
	}
	return s.Status(), nil
}

// unseen returns the member of etcd of a node that has never written its state: it was added and not started, or it ended
// before that.
func (s *Served) unseen(ctx context.Context, name string) (etcdlog.Peer, error) {
	if s.member != nil && name != "" {
		all, err := s.member.Members(ctx)
		if err != nil {
			return etcdlog.Peer{}, err
		}
		for _, p := range all {
			if p.Name == name || p.Name == "" && hostOf(p) == name {
				return p, nil
			}
		}
	}
	return etcdlog.Peer{}, control.Missing("no node %q", name)
}

// hostOf returns the HOST:PORT of the URL with which the node of a member of etcd was added.
func hostOf(p etcdlog.Peer) string {
	u, err := url.Parse(formerPort(p.URL))
	if err != nil {
		return ""
	}
	return u.Host
}

// Join implements admin.Cluster.
func (s *Served) Join(name, url string) (admin.ClusterStatus, error) {
	if err := s.mayJoin(name, url); err != nil {
		return admin.ClusterStatus{}, err
	}
	if s.member == nil {
		return s.Status(), nil // an etcd of its own knows nothing of our nodes
	}
	ctx, cancel := context.WithTimeout(context.Background(), membersFor)
	defer cancel()
	if all, err := s.member.Members(ctx); err == nil { // else AddMember says what is wrong
		for _, p := range all {
			if p.Name == "" && p.URL != nextPort(url) {
				return admin.ClusterStatus{}, control.Refuse(fasthttp.StatusConflict, "node %s was not added: the node at %s was, and has not started yet: start it, or remove it with pixd cluster leave %s", name, hostOf(p), hostOf(p))
			}
		}
	}
	if err := s.member.AddMember(ctx, name, nextPort(url)); err != nil {
		return admin.ClusterStatus{}, notAdded(name, err)
	}
	return s.Status(), nil
}

// mayJoin returns a Problem for a name or a URL with which no node could start in this cluster. One that was added with it would
// keep others from being added.
func (s *Served) mayJoin(name, at string) error {
	one, err := parsePeers(name + "=" + at)
	if err != nil || !nodeName.MatchString(name) || len(one) != 1 {
		return control.Bad("node and url: NAME and http://HOST:PORT or https://HOST:PORT")
	}
	u, err := url.Parse(at)
	if err != nil {
		return control.Bad("url %q: %v", at, err)
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 || port == 65535 { // its etcd has the next one
		return control.Bad("url %q: a port from 1 to 65534", at)
	}
	if secure := s.clientTLS != nil; (u.Scheme == "https") != secure {
		return control.Bad("url %q: https:// goes with --cluster-cert, --cluster-key and --cluster-ca, and http:// without, as this node has it", at)
	}
	return nil
}

// notAdded is the answer where a member was not added, or may not have been.
func notAdded(name string, err error) error {
	if errors.Is(err, etcdlog.ErrMayBeAdded) {
		return control.Refuse(fasthttp.StatusServiceUnavailable, "node %s: %v; pixd cluster status shows it once it was, and to add it again does no harm", name, err)
	}
	return control.Refuse(fasthttp.StatusConflict, "node %s was not added: %v", name, err)
}
