package account

import (
	"errors"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// SettingsOf reads an account's settings as they are now, from the head row and the records
// after it, without bringing the account into memory. It says how many records it read. nil: the
// account has no record yet, or what it read is damaged.
func SettingsOf(id pix.AccountID, t tailReader) (s *ledger.Settings, read int, err error) {
	row, ok, err := t.Get(layout.HeadKey(id))
	if err != nil {
		return nil, 0, err
	}
	from, sum := uint64(1), uint64(0)
	if ok {
		head, at, err := DecodeHeadRow(id, row)
		if err != nil {
			return nil, 0, nil //nolint:nilerr // the row is damaged
		}
		s, from, sum = &head.Settings, head.Seq+1, at
	}
	err = t.Read(wal.Stream(id), from, sum, func(w wal.Record) error {
		read++
		if kind := ledger.RecordKind(w.Kind); kind != ledger.AccountOpened && kind != ledger.SettingsChanged {
			return nil
		}
		r := ledger.Record{Account: id, Seq: w.Seq, Time: pix.Millis(w.Time), Kind: ledger.RecordKind(w.Kind)}
		if err := r.Decode(w.Body); err != nil {
			return &wal.Damage{Stream: w.Stream, Seq: w.Seq, What: "cannot be decoded", Err: err}
		}
		s = r.Settings
		return nil
	})
	if damage := (*wal.Damage)(nil); errors.As(err, &damage) {
		return nil, read, nil
	}
	return s, read, err
}
