package journal

import (
	"bytes"
	"errors"
	"slices"

	"pixd/actors/account"
	"pixd/actors/alerts"
	"pixd/actors/layout"
	"pixd/actors/pix"
	"pixd/actors/sorted"
	"pixd/wal"
)

// mendedAtOnce is how many changes of rows are written at once.
const mendedAtOnce = 1000

// mend makes the rows of a journal from which records were cut off what the records that are left
// make of them, and removes the alerts that were raised after the instant. What is derived from no
// record stays where its record stays: the status of a delivery says what the receiver has got.
func mend(at wal.Options, until pix.Millis, o VerifyOptions) error {
	return withVerification(at, o, func(v *verification) error {
		v.stage("records")
		if err := v.records(); err != nil {
			return err
		}
		v.stage("rows")
		derived, err := v.derived()
		if err != nil {
			return err
		}
		m := &mending{comparison: v.comparison(derived), v: v}
		for _, step := range []func() error{m.rows, m.heads, func() error { return m.alerts(until) }, m.write} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// mending compares the derived rows with the stored ones, as a verification does, and changes those
// that differ.
type mending struct {
	*comparison
	v   *verification
	ops []wal.Op
}

// rows mends every row but the head rows of accounts.
func (m *mending) rows() error {
	m.next()
	err := m.v.eachRow(func(key, value []byte) error {
		if err := m.missing(key); err != nil {
			return err
		}
		return m.row(key, value)
	})
	if err == nil {
		err = m.missing(nil)
	}
	return errors.Join(err, m.derived.Err())
}

// missing sets the derived rows whose keys come before key and that must be stored. A nil key stands for
// the end.
func (m *mending) missing(key []byte) error {
	for ; m.more && (key == nil || bytes.Compare(m.derived.Row().Key, key) < 0); m.next() {
		d := m.derived.Row()
		if d.Deleted || m.dropped(d.Key) {
			continue
		}
		known, err := m.delivered(d)
		if err == nil && !known {
			err = m.change(wal.OpSet, d.Key, d.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row mends a stored row.
func (m *mending) row(key, value []byte) error {
	if id, ok := layout.HeadOwner(key); ok && m.account(id) {
		return nil
	}
	if layout.IsDelivery(key) {
		t, _, _, err := layout.DecodeDeliveryKey(key)
		if err != nil {
			return err
		}
		s, err := layout.DecodeDeliveryStatus(value)
		if err != nil {
			return err
		}
		return m.ofRecord(key, t.Account, s.Record)
	}
	d := m.derived.Row()
	if !m.more || !bytes.Equal(d.Key, key) {
		return m.underived(key, value)
	}
	defer m.next()
	if d.Deleted {
		return m.change(wal.OpDelete, key, nil)
	}
	if bytes.Equal(d.Value, value) {
		return nil
	}
	return m.replace(d)
}

// replace sets a row that is stored. One that is set once must be deleted first.
func (m *mending) replace(d *sorted.Row) error {
	if err := m.change(wal.OpDelete, d.Key, nil); err != nil {
		return err
	}
	return m.change(wal.OpSet, d.Key, d.Value)
}

// underived deletes a stored row that no record makes, unless it waits for a later attempt to deliver an
// event of a record that is left.
func (m *mending) underived(key, value []byte) error {
	if !layout.IsPending(key) {
		return m.change(wal.OpDelete, key, nil)
	}
	p, err := layout.DecodePending(key, value)
	if err != nil {
		return err
	}
	return m.ofRecord(key, p.Account, p.Record)
}

// ofRecord deletes a row of a delivery if its record was cut off.
func (m *mending) ofRecord(key []byte, of pix.AccountID, record uint64) error {
	if a := m.v.accountOf(of); a != nil && record <= a.head.Seq {
		return nil
	}
	return m.change(wal.OpDelete, key, nil)
}

// heads sets the head row of each account whose stored one is of a record that was cut off.
func (m *mending) heads() error {
	for _, d := range m.v.derivers {
		for id, a := range d.accounts {
			if a.at <= a.head.Seq {
				continue
			}
			_, sum, err := m.store.Last(wal.Stream(id))
			if err != nil {
				return err
			}
			row := account.HeadRow(&a.head, sum)
			if err := m.change(wal.OpSet, row.Key, row.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// alerts deletes the alerts that were raised after an instant.
func (m *mending) alerts(until pix.Millis) error {
	lo, hi := alerts.Range(until + 1)
	return m.store.Scan(lo, hi, func(k, _ []byte) (bool, error) {
		return true, m.change(wal.OpDelete, k, nil)
	})
}

// change notes a change, and writes when there are enough.
func (m *mending) change(kind wal.OpKind, key, value []byte) error {
	m.ops = append(m.ops, wal.Op{Kind: kind, Key: slices.Clone(key), Value: slices.Clone(value)})
	if len(m.ops) < mendedAtOnce {
		return nil
	}
	return m.write()
}

// write writes the changes. They are local, so that they take no position: the journal ends where it
// was cut.
func (m *mending) write() error {
	if len(m.ops) == 0 {
		return nil
	}
	err := m.store.WriteRows(wal.Local, m.ops...)
	m.ops = m.ops[:0]
	return err
}
