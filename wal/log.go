package wal

import (
	"context"
	"errors"
)

// Log is the batches of one journal, in order, on several machines at once: a batch is in the log
// as soon as a majority of them has it on disk. One node at a time adds batches, the owner; the
// others follow. The number of a log is 0 as long as there is one.
//
// A position is the number of a batch in the journal, from 1. A log begins behind the base of its
// Cluster: its first batch has the position Base+1. Every error but those named here means that it
// is not known whether the call has had an effect; the same call may then be made again.
type Log interface {
	// Cluster returns what the cluster's nodes agree on; ErrNoCluster before Found.
	Cluster(ctx context.Context) (Cluster, error)

	// Found makes c what the nodes agree on, unless they agreed on something before, and returns
	// what they agree on.
	Found(ctx context.Context, c Cluster) (Cluster, error)

	// Append adds a batch behind the batch at position after. Nil: the batch is durable on a
	// majority; also where an earlier call with the same bytes had added it already and it is the
	// newest. ErrMoved: the log ends elsewhere, with another batch; this call adds nothing, but an
	// earlier one with the same bytes may have, if the log goes on behind after.
	Append(ctx context.Context, log uint16, after uint64, batch []byte) error

	// Take is Append of a batch that makes another node the log's owner. In the same step it gives
	// deposed a new version, so that it can renew itself no more. ErrMoved: the log ends elsewhere,
	// or deposed has another version by now; nothing is changed. Nil also where the batch is the
	// newest already; deposed is not changed again then. A zero deposed names no node.
	Take(ctx context.Context, log uint16, after uint64, deposed NodeVersion, batch []byte) error

	// Follow calls fn with each batch behind position after, in order and each once, until ctx
	// ends or fn returns an error, which it returns. It waits for batches to come. The bytes are
	// fn's. ErrTrimmed: the log no longer has the batch after+1. ErrShort: the log ends before
	// after.
	Follow(ctx context.Context, log uint16, after uint64, fn func(position uint64, batch []byte) error) error

	// End returns the position of the log's newest batch, as a majority knows it: every Append
	// that has returned nil before the call counts.
	End(ctx context.Context, log uint16) (position uint64, err error)

	// Node writes the state of a node and returns the version that it has then. ErrMoved: the
	// node's version is no longer self.Version, and its state is not state. Version 0 is that of a
	// node that has never been written. No two calls for one node may have the same state.
	Node(ctx context.Context, self NodeVersion, state []byte) (NodeVersion, error)

	// Nodes returns all nodes sorted by name, as a majority knows them. A node that was deposed has
	// the state that it wrote last.
	Nodes(ctx context.Context) ([]NodeState, error)

	// Glance returns all nodes by name, as the part of the log on this machine knows them, which may
	// be late. It costs little, and needs no majority.
	Glance(ctx context.Context) ([]NodeState, error)

	// Leave removes a node's state; nothing happens where there is none.
	Leave(ctx context.Context, name string) error

	// Trim removes the batches up to a position, whose followers have them on their disks. It may
	// remove fewer, and never the newest.
	Trim(ctx context.Context, log uint16, upto uint64) error

	// Size returns how many bytes of the log's database are in use, and how many it may have at most.
	Size(ctx context.Context) (bytes, most int64, err error)

	// Close ends the connection. Calls that are under way fail.
	Close() error
}

// Cluster is what the nodes that share a journal agree on, for ever.
type Cluster struct {
	ID      string            `json:"id"`       // chosen at random when the cluster was founded
	Base    uint64            `json:"base"`     // position of the newest batch before the cluster
	BaseSum uint64            `json:"base_sum"` // its sum
	Hard    map[string]string `json:"hard"`     // the settings whose values may never change
}

// NodeVersion names one writing of a node's state. Each writing has a larger version than those
// before it.
type NodeVersion struct {
	Name    string // a-z, 0-9 and -, at most 32 bytes
	Version uint64
}

// NodeState is what a node has written about itself.
type NodeState struct {
	NodeVersion
	State []byte
}

// The errors of a Log that are answers.
var (
	ErrMoved     = errors.New("the log, or the node, is not where the caller takes it to be")
	ErrTrimmed   = errors.New("the log no longer has the batches asked for")
	ErrShort     = errors.New("the log is shorter than what this node has of it")
	ErrNoCluster = errors.New("no cluster was founded in this log")
)
