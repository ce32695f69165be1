package journal

import (
	"fmt"

	"pixd/actors/account"
	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/sorted"
	"pixd/wal"
)

// deriver derives accounts and rows from the records of its share of the streams.
type deriver struct {
	store    *wal.Store
	sorter   *sorted.Sorter
	registry *registry.Machine

	reservations registry.Reservations
	operators    *registry.Desk

	accounts map[pix.AccountID]*accountCheck
	rows     []layout.Row

	*belt
	at numberedRecord // the record at which the work has failed
}

// accountCheck is an account as its records read so far make it, with its stored head row. The two
// are compared when the records have reached the head row's sequence.
type accountCheck struct {
	head    ledger.Account
	stated  []byte
	at      uint64 // sequence of the record that the head row names; 0: there is no head row
	threads threads
}

// copyRecord copies a record for the deriver.
func (d *deriver) copyRecord(r numberedRecord) error {
	d.next.add(r)
	d.sendFull()
	return d.goesOn()
}

// derive derives the records of a chunk.
func (d *deriver) derive(c *chunk) error {
	for i := range c.records {
		if err := d.record(&c.records[i]); err != nil {
			d.at = c.records[i]
			return err
		}
	}
	return nil
}

func (d *deriver) record(n *numberedRecord) error {
	if registry.Owns(n.Stream) {
		return d.entry(n)
	}
	a, err := d.account(pix.AccountID(n.Stream))
	if err != nil {
		return err
	}
	r, err := history.Decode(&n.Record)
	if err != nil {
		return err
	}
	if err := a.checkNext(d.store, r, n.Sum); err != nil {
		return err
	}
	d.rows = ledger.Project(d.rows[:0], r)
	return d.keep(n)
}

// checkNext checks that an account's next record follows from the records before it.
func (a *accountCheck) checkNext(store *wal.Store, r *ledger.Record, sum uint64) error {
	if err := a.head.Apply(r); err != nil {
		return err
	}
	if err := a.threads.follow(store, r); err != nil {
		return err
	}
	return a.compare(sum)
}

// entry derives the rows of a record of the registry.
func (d *deriver) entry(n *numberedRecord) error {
	r, err := registry.Decode(&n.Record)
	if err != nil {
		return err
	}
	switch n.Stream {
	case registry.ReservationStream:
		err = d.reservations.Apply(r)
		d.reservations.Durable(r.Seq)
	case registry.OperatorStream:
		err = d.operators.Apply(r)
	default:
		err = d.registry.Apply(r)
	}
	if err != nil {
		return err
	}
	d.rows = append(d.rows[:0], registry.Project(r)...)
	return d.keep(n)
}

// keep adds the record's rows to the sorter.
func (d *deriver) keep(n *numberedRecord) error {
	for i := range d.rows {
		row := sorted.Row{
			Key: d.rows[i].Key, Value: d.rows[i].Value, Deleted: d.rows[i].Value == nil,
			Order: n.order, Stream: uint64(n.Stream), Seq: n.Seq,
		}
		if err := d.sorter.Add(&row); err != nil {
			return err
		}
	}
	return nil
}

func (d *deriver) account(id pix.AccountID) (*accountCheck, error) {
	if a := d.accounts[id]; a != nil {
		return a, nil
	}
	a := &accountCheck{head: ledger.Account{ID: id}}
	row, ok, err := d.store.Get(layout.HeadKey(id))
	if err != nil {
		return nil, err
	}
	if ok {
		if a.at, ok = account.HeadRowAt(row); !ok {
			return nil, fmt.Errorf("head row of %v: %d bytes that name no record", id, len(row))
		}
		a.stated = row
	}
	d.accounts[id] = a
	return a, nil
}

// compare compares the stored head row with the records, at the record that the row names.
func (a *accountCheck) compare(sum uint64) error {
	if a.at == 0 || a.head.Seq != a.at {
		return nil
	}
	if want := account.HeadRow(&a.head, sum); string(want.Value) != string(a.stated) {
		return fmt.Errorf("head row of %v at record %d is not what the records make", a.head.ID, a.at)
	}
	a.stated = nil
	return nil
}
