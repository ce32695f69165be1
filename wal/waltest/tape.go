package waltest

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"sync"

	"pixd/wal"
)

// tapeSize is how many bytes a Tape says that it may have. It does not keep to it.
const tapeSize = 8 << 30

// The errors of a Reel besides those of wal.Log. After both it is not known whether the call has had
// an effect.
var (
	ErrNoAnswer = errors.New("waltest: there was no answer")
	errClosed   = errors.New("waltest: the connection is closed")
)

// Tape is what several wal.Log share, in memory: each node of a test gets a Reel of its own from Log,
// with faults that the test chooses. A Tape has no goroutine, and nothing happens on it but within
// calls, so that a simulation in one goroutine repeats exactly; only Follow waits, and Poll is for
// those who cannot.
type Tape struct {
	mu      sync.Mutex
	changed chan struct{} // closed and made anew with each change
	cluster *wal.Cluster
	logs    map[uint16]*track
	nodes   map[string]tapeNode
	version uint64   // of the newest writing of any node
	late    []func() // calls that have not arrived yet
}

// track is one log's batches behind those that were trimmed.
type track struct {
	trimmed uint64
	batches [][]byte
}

// tapeNode is a node's newest writing.
type tapeNode struct {
	version uint64
	state   []byte
	deposed bool
}

// NewTape makes an empty tape.
func NewTape() *Tape {
	return &Tape{changed: make(chan struct{}), logs: map[uint16]*track{}, nodes: map[string]tapeNode{}}
}

// Log returns another connection to the tape.
func (t *Tape) Log() *Reel { return &Reel{tape: t} }

// Arrive carries out the calls that were Delayed or Doubled, in the order in which they were made,
// and returns how many there were.
func (t *Tape) Arrive() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := t.late
	t.late = nil
	for _, call := range calls {
		call()
	}
	t.wake()
	return len(calls)
}

// wake makes followers look again.
func (t *Tape) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// track returns a log's batches, and the position before the first that is left.
func (t *Tape) track(log uint16) (*track, uint64) {
	l := t.logs[log]
	if l == nil {
		l = &track{}
		t.logs[log] = l
	}
	return l, t.cluster.Base + l.trimmed
}

func (t *Tape) found(c wal.Cluster) wal.Cluster {
	if t.cluster == nil {
		c.Hard = maps.Clone(c.Hard)
		t.cluster = &c
	}
	return t.agreed()
}

func (t *Tape) agreed() wal.Cluster {
	c := *t.cluster
	c.Hard = maps.Clone(c.Hard)
	return c
}

func (t *Tape) take(log uint16, after uint64, deposed wal.NodeVersion, batch []byte) error {
	if t.cluster == nil {
		return wal.ErrNoCluster
	}
	l, before := t.track(log)
	end := before + uint64(len(l.batches))
	if n := len(l.batches); end == after+1 && n > 0 && bytes.Equal(l.batches[n-1], batch) {
		return nil
	}
	node := t.nodes[deposed.Name]
	if end != after || node.version != deposed.Version {
		return wal.ErrMoved
	}
	l.batches = append(l.batches, batch)
	if deposed.Name != "" {
		t.version++
		t.nodes[deposed.Name] = tapeNode{t.version, node.state, true}
	}
	return nil
}

func (t *Tape) node(self wal.NodeVersion, state []byte) (wal.NodeVersion, error) {
	node := t.nodes[self.Name]
	if node.version != self.Version {
		if node.version > 0 && !node.deposed && bytes.Equal(node.state, state) {
			return wal.NodeVersion{Name: self.Name, Version: node.version}, nil
		}
		return wal.NodeVersion{}, wal.ErrMoved
	}
	t.version++
	t.nodes[self.Name] = tapeNode{t.version, state, false}
	return wal.NodeVersion{Name: self.Name, Version: t.version}, nil
}

func (t *Tape) states() (all []wal.NodeState) {
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[name]
		all = append(all, wal.NodeState{NodeVersion: wal.NodeVersion{Name: name, Version: n.version}, State: bytes.Clone(n.state)})
	}
	return all
}

func (t *Tape) trim(log uint16, upto uint64) error {
	if t.cluster == nil {
		return wal.ErrNoCluster
	}
	l, before := t.track(log)
	if upto > before && len(l.batches) > 0 {
		n := min(upto-before, uint64(len(l.batches))-1)
		l.trimmed, l.batches = l.trimmed+n, slices.Clone(l.batches[n:])
	}
	return nil
}
