package engine

import (
	"fmt"
	"time"

	"pixd/actors/history"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// journalFolder is the journal's folder in a data folder.
const journalFolder = "journal"

// headEvery is the number of records between two head rows of an account. It is a hard
// setting: it must not change once there is data.
const headEvery = 256

// hardHeadInterval is the name under which the store keeps headEvery.
const hardHeadInterval = "head-interval"

// hard returns the settings that are fixed for ever when a store is made.
func hard(ispb string) map[string]string {
	return map[string]string{
		"journal": "pixd-1", "ispb": ispb, hardHeadInterval: fmt.Sprint(headEvery),
	}
}

// rows reads records and rows from the store for accounts.
type rows struct{ *wal.Store }

// Record implements account.Rows.
func (r rows) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(r.Store, a, seq)
}

// written receives an entry's result once the entry is durable.
type written chan error

// Release implements wal.Out.
func (w written) Release(err error) { w <- err }

// shared and local say who needs rows that come without records: every copy of the journal,
// or only this machine. Every machine drops expired rows for itself, so a drop is local.
const (
	shared = true
	local  = false
)

// write writes rows and returns when they are durable. A journal that has failed never
// reports entries as durable; write then returns the failure.
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
	metaSecret = "e2e-secret" // name of the secret from which end-to-end ids are computed; made once
)

// endToEndSecret returns the store's secret for end-to-end ids. The first start makes it.
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
