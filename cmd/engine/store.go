package engine

import (
	"fmt"
	"time"

	"pixd/actors/history"
	"pixd/actors/ledger"
	"pixd/wal"
)

// journalFolder is the journal's place in a data folder.
const journalFolder = "journal"

// headEvery is the interval of head rows, in records. It is a hard setting:
// once data exist it may not change.
const headEvery = 256

// hardHeadInterval names it in the store.
const hardHeadInterval = "head-interval"

// hard are the settings that a store keeps for ever.
func hard(ispb string) map[string]string {
	return map[string]string{
		"journal": "pixd-1", "ispb": ispb, hardHeadInterval: fmt.Sprint(headEvery),
	}
}

// rows reads the store for accounts.
type rows struct{ *wal.Store }

// Record implements account.Rows.
func (r rows) Record(a ledger.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(r.Store, a, seq)
}

// written is told that an entry is durable.
type written chan error

// Release implements wal.Out.
func (w written) Release(err error) { w <- err }

// Whether rows without records are part of what every copy of the journal needs, or this
// machine's alone: what expires is dropped by each machine for itself.
const (
	shared = true
	local  = false
)

// write writes rows and returns when they are durable. A journal that has failed
// releases nobody: then it is the failure that is waited for.
func write(s *wal.Store, shared bool, ops ...wal.Op) error {
	w := make(written, 1)
	s.Append(&wal.Entry{Ops: ops, Shared: shared, Out: []wal.Out{w}})
	for {
		select {
		case err := <-w:
			return err
		case <-time.After(100 * time.Millisecond):
			if err := s.Err(); err != nil {
				return err
			}
		}
	}
}

const (
	metaSecret = "e2e-secret" // keys the derived end-to-end ids; made once
)

// endToEndSecret is the store's own; made at the first start.
func endToEndSecret(s *wal.Store) ([]byte, error) {
	b, ok, err := s.Get(wal.MetaKey(metaSecret))
	if err != nil {
		return nil, fmt.Errorf("read the end-to-end secret: %w", err)
	}
	if ok {
		return b, nil
	}
	b = secret(32)
	if err := write(s, shared, wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaSecret), Value: b}); err != nil {
		return nil, fmt.Errorf("write the end-to-end secret: %w", err)
	}
	return b, nil
}
