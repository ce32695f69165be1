package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"pixd/actors/strictjson"
	"pixd/wal"
)

// state is what a node says of itself in the log. Others may ignore fields that they do not know.
type state struct {
	Run     string `json:"run"`     // names the process
	Beat    uint64 `json:"beat"`    // counts the renewals of the process
	URL     string `json:"url"`     // where other nodes reach it
	Applied uint64 `json:"applied"` // position of its newest batch
	Synced  uint64 `json:"synced"`  // position of the newest batch on its disk
	Role    string `json:"role"`
	Level   int    `json:"level"`           // see wal.Level
	Program string `json:"version"`         // of the program
	Wrong   string `json:"wrong,omitempty"` // why it follows no more
	Slow    bool   `json:"slow,omitempty"`  // its last renewals have all been slow: its member of etcd does better not to lead
}

// The roles of a node.
const (
	roleOwner   = "owner"
	roleStandby = "standby"
	roleJoining = "joining"
	roleGone    = "gone" // it has not renewed its state for longer than takeAfter
)

// seen is what this node knows of another, or of itself.
type seen struct {
	state
	wal.NodeVersion
	since    time.Duration // when its state was seen to change last
	runSince time.Duration // when its process was seen first
}

// seenNodes are the nodes as they were read last.
type seenNodes map[string]seen

// take takes a reading in. began is when the reading was begun: a state is no older than that.
func (s seenNodes) take(nodes []wal.NodeState, now time.Duration) (seenNodes, error) {
	next := make(seenNodes, len(nodes))
	for _, n := range nodes {
		old, known := s[n.Name]
		if known && old.Version >= n.Version { // an older one is a late reading
			next[n.Name] = old
			continue
		}
		is := seen{NodeVersion: n.NodeVersion, since: now}
		if err := strictjson.Decode(n.State, strictjson.Rules{Deepest: 8}, &is.state, true); err != nil {
			return nil, fmt.Errorf("cluster: state of node %s: %w", n.Name, err)
		}
		if is.runSince = now; known && old.Run == is.Run {
			is.runSince = old.runSince
		}
		next[n.Name] = is
	}
	return next, nil
}

// alive reports whether the node has renewed its state lately.
func (n seen) alive(now time.Duration) bool { return n.since != 0 && now-n.since < takeAfter }

// fresh reports whether the node has renewed its state a moment ago: one that has ended may be alive for 2 s.
func (n seen) fresh(now time.Duration) bool { return n.since != 0 && now-n.since < 2*renewEvery }

// rank is how many of the nodes that are alive come before the node in taking over a log. The order
// differs from log to log, so that a lost node's logs go to several others.
func (s seenNodes) rank(log uint16, self string, now time.Duration) int {
	mine := weight(log, self)
	n := 0
	for name, node := range s {
		if name != self && node.alive(now) && node.Wrong == "" && (weight(log, name) > mine || weight(log, name) == mine && name < self) {
			n++
		}
	}
	return n
}

func weight(log uint16, name string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", log, name)
	return h.Sum64()
}

// nodeName is what a node may be called.
var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// peer is a node and the URL at which the others reach it.
type peer struct{ name, url string }

// parsePeers reads --cluster-peers.
func parsePeers(text string) ([]peer, error) {
	var all []peer
	for one := range strings.SplitSeq(text, ",") {
		name, at, ok := strings.Cut(strings.TrimSpace(one), "=")
		u, err := url.Parse(at)
		switch {
		case !ok || !nodeName.MatchString(name):
			return nil, fmt.Errorf("--cluster-peers %q: NAME=URL, and a name has a-z, 0-9 and -, at most 32", one)
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.Path != "" || u.RawQuery != "" || u.User != nil:
			return nil, fmt.Errorf("--cluster-peers %s=%q: http://HOST:PORT or https://HOST:PORT", name, at)
		case slices.ContainsFunc(all, func(p peer) bool { return p.name == name }):
			return nil, fmt.Errorf("--cluster-peers: node %s is named twice", name)
		case slices.ContainsFunc(all, func(p peer) bool { return p.url == at }):
			return nil, fmt.Errorf("--cluster-peers: %s is named twice", at)
		}
		all = append(all, peer{name, at})
	}
	if len(all) == 0 {
		return nil, errors.New("--cluster-peers names no node")
	}
	slices.SortFunc(all, func(a, b peer) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// peersText is the list of nodes as they are compared.
func peersText(all []peer) string {
	var b strings.Builder
	for i, p := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.name + "=" + p.url)
	}
	return b.String()
}
