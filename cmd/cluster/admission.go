package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pixd/actors/pix"
	"pixd/cmd/machine"
	"pixd/wal"
	"pixd/wal/etcdlog"
)

// hello is what a node with an embedded member of etcd says of itself to another before there is a log.
type hello struct {
	Node    string   `json:"node"`
	Peers   string   `json:"peers"`
	Cluster string   `json:"cluster,omitempty"` // whose journal it has; empty: none's, or it does not say
	Log     string   `json:"log"`               // what it knows of the log
	Members []member `json:"members,omitempty"` // of etcd; with logFounded, as the next
	Nodes   []string `json:"nodes,omitempty"`   // those that have written their state into the log

	Clock pix.Millis `json:"clock,omitempty"` // the machine's wall clock; for an alert alone
}

// member is a member of etcd, as nodes tell of it.
type member struct {
	Name string `json:"name"` // empty: it was added and has not been started yet
	URL  string `json:"url"`
}

// What a node knows of the log.
const (
	logNone      = ""          // it has never had data of it
	logKept      = "kept"      // it has data, and no majority to ask what they are worth
	logUnfounded = "unfounded" // a majority says that there is no cluster yet
	logFounded   = "founded"
)

const helloPath = "/cluster/hello"

// upMember is the embedded member of etcd once it has found a majority.
type upMember struct {
	member *etcdlog.Member
	log    *etcdlog.Log
}

// hello returns what this node says of itself.
func (s *Served) hello() hello {
	h := hello{Node: s.flags.Node, Peers: peersText(s.peers), Cluster: s.ofCluster, Clock: machine.Clocks().Wall()}
	if n := s.node.Load(); n != nil {
		h.Cluster = n.cluster.ID
	}
	up := s.up.Load()
	if s.hadData || up != nil {
		h.Log = logKept
	}
	if up == nil {
		return h
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := up.log.Cluster(ctx); errors.Is(err, wal.ErrNoCluster) {
		h.Log = logUnfounded
		return h
	} else if err != nil {
		return h
	}
	members, err := up.member.Members(ctx)
	if err != nil {
		return h
	}
	nodes, err := up.log.Nodes(ctx)
	if err != nil {
		return h
	}
	h.Log = logFounded
	for _, p := range members {
		h.Members = append(h.Members, member{p.Name, p.URL})
	}
	for _, n := range nodes {
		h.Nodes = append(h.Nodes, n.Name)
	}
	return h
}

// hasLogData reports whether a folder has data of a member of etcd.
func hasLogData(dataDir string) bool {
	files, err := os.ReadDir(filepath.Join(memberDir(dataDir), "member", "wal"))
	return err == nil && len(files) > 0
}

// admit decides how a member of etcd begins that has no data: as one of new ones, or as one that was added
// to others. It waits until the others have said what they know. A member whose data were lost must not
// begin as if it had never had any: it has promised to keep what others rely on.
func (s *Served) admit(ctx context.Context) (peers map[string]string, join bool, err error) {
	peers = map[string]string{}
	for _, p := range s.peers {
		peers[p.name] = nextPort(p.url)
	}
	if s.hadData {
		return peers, false, s.stranger(s.askOthers(ctx))
	}
	for told := s.elapsed(); ; {
		var waits []string
		all := s.askOthers(ctx)
		if err := errors.Join(s.differs(all), s.stranger(all)); err != nil {
			return nil, false, err
		}
		for _, a := range all {
			switch {
			case a.err != nil:
				waits = append(waits, fmt.Sprintf("%s (%v)", a.name, a.err))
			case a.said.Log == logFounded:
				return s.among(peers, a.said)
			case a.said.Log == logKept:
				waits = append(waits, a.name+" (it has data of the log, and no majority yet)")
			}
		}
		if len(waits) == 0 {
			return peers, false, nil
		}
		if now := s.elapsed(); now-told >= tellEvery {
			told = now
			s.config.Log.Info("cluster: this node has no data of the log; waiting for what the others have", "nodes", strings.Join(waits, ", "))
		}
		if err := pause(ctx, lookEvery); err != nil {
			return nil, false, err
		}
	}
}

// among decides how a member begins whose cluster exists.
func (s *Served) among(peers map[string]string, said hello) (map[string]string, bool, error) {
	own := s.flags.Node
	i := slices.IndexFunc(said.Members, func(m member) bool { return m.URL == peers[own] })
	switch {
	case i < 0:
		return nil, false, fmt.Errorf("node %s is not a member of the cluster of node %s: `pixd cluster join` adds it", own, said.Node)
	case said.Members[i].Name == "" && s.ofItsOwn > 0: // its member would count for the majority, and never follow
		return nil, false, fmt.Errorf("this folder has a journal of its own, of %d batches, and node %s is to join the cluster of node %s: a node joins with an empty folder", s.ofItsOwn, own, said.Node)
	case said.Members[i].Name == "":
		members := map[string]string{own: peers[own]}
		for _, m := range said.Members {
			if m.Name != "" {
				members[m.Name] = m.URL
			}
		}
		return members, true, nil
	case said.Members[i].Name != own || slices.Contains(said.Nodes, own):
		return nil, false, fmt.Errorf("node %s is a member of the cluster of node %s, and this folder has not its data: `pixd cluster leave %s` and then `pixd cluster join` replace it", said.Members[i].Name, said.Node, said.Members[i].Name)
	}
	return peers, false, nil // the others have begun without it
}

// startMember starts the embedded member of etcd.
func (s *Served) startMember(ctx context.Context) error {
	f := &s.flags
	peers, join, err := s.admit(ctx)
	if err != nil {
		return err
	}
	s.member, err = etcdlog.Start(ctx, etcdlog.MemberOptions{
		Name: f.Node, Dir: memberDir(s.config.DataDir), Peers: peers, PeerListen: nextPort(f.Listen), Join: join,
		CertFile: f.TLS.Cert, KeyFile: f.TLS.Key, CAFile: f.CA, Prefix: f.LogPrefix, Log: s.config.Log,
	})
	if err != nil {
		return err
	}
	log := s.member.Log()
	s.log = log
	s.up.Store(&upMember{s.member, log})
	go s.awaitRemoval(s.member)
	return nil
}

// awaitRemoval ends the node where its member of etcd has ended by itself: it was removed while this node could not be reached.
func (s *Served) awaitRemoval(m *etcdlog.Member) {
	<-m.Done() // after Shutdown, too, when nobody reads what follows
	select {
	case s.ends <- fmt.Errorf("node %s is no member of the cluster any more: `pixd cluster leave` has removed it. To come back it joins as a new node, with an empty folder", s.flags.Node):
	default: // it ends for other reasons
	}
}
