package wal

import (
	"fmt"
	"strconv"

	"github.com/goccy/go-json"
)

// The own values of a store whose journal is in a Log.
const (
	clusterName  = ownPrefix + "cluster" // the cluster's ID
	logOwnerName = ownPrefix + "owner"   // the Owner, as JSON
)

// levelSet is set by the linker, in tests of nodes with different binaries: the level that one has.
var levelSet string

// Level is the format of records and rows that this binary writes, and the newest that it knows.
func Level() int {
	if n, err := strconv.Atoi(levelSet); err == nil {
		return n
	}
	return formatVersion
}

// MayOwn reports whether this binary knows everything that the log may have.
func (s *Store) MayOwn() bool { return s.Owner().Level <= Level() }

// Owner is the node that may add batches to a Log. A batch that makes a node the owner has its
// Owner as a row, so that all nodes know it in the order of the log.
type Owner struct {
	Epoch uint64 `json:"epoch"`          // position of the batch that says so; each batch of the owner names it
	Name  string `json:"name"`           // the node; empty: it has handed the log over, and there is no owner
	Run   string `json:"run,omitempty"`  // of the node's processes, the one that is the owner
	Next  string `json:"next,omitempty"` // after a handover: the node that is to be the owner; empty: any
	Level int    `json:"level"`          // the newest format of records and rows that the log may have: a binary that does not know it follows, and never owns
}

func (o Owner) row() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("wal: owner %+v: %v", o, err)) // it has only numbers and texts
	}
	return b
}

func decodeOwner(b []byte) (o Owner, err error) {
	if err := json.Unmarshal(b, &o); err != nil {
		return o, fmt.Errorf("the log's owner cannot be decoded: %w", err)
	}
	return o, nil
}
