package cluster

import (
	"context"
	"fmt"
	"net/url"
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
	if _, err := parsePeers(name + "=" + url); err != nil {
		return admin.ClusterStatus{}, control.Bad("node and url: NAME and http://HOST:PORT or https://HOST:PORT")
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
		return admin.ClusterStatus{}, control.Refuse(fasthttp.StatusConflict, "node %s was not added: %v", name, err)
	}
	return s.Status(), nil
}
