package engine

import (
	"fmt"

	"pixd/actors/history"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/cmd/machine"
	"pixd/wal"
)

// rows reads records and rows from the store for accounts.
type rows struct{ *wal.Store }

// Record implements account.Rows.
func (r rows) Record(a pix.AccountID, seq uint64) (*ledger.Record, error) {
	return history.Record(r.Store, a, seq)
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
	b = machine.Secret(32)
	if err := s.WriteRows(wal.Shared, wal.Op{Kind: wal.OpSet, Key: wal.MetaKey(metaSecret), Value: b}); err != nil {
		return nil, fmt.Errorf("write the end-to-end secret: %w", err)
	}
	return b, nil
}
