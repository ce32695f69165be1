// Package history is the read side: every lookup, from rows alone and without
// waking the account. What it returns is durable: a look that saw something
// still on its way to the disk waits until that is there.
package history

import (
	"fmt"

	"pixd/actors/ledger"
	"pixd/wal"
)

// Journal is what history needs of the journal.
type Journal interface {
	View() *wal.View
	Record(stream wal.Stream, seq uint64) (wal.Record, bool, error)
	Durable() wal.Ticket
	Append(*wal.Entry) wal.Ticket
}

// History answers lookups.
type History struct{ journal Journal }

// New reads from a journal.
func New(j Journal) *History { return &History{j} }

// Transaction is an account's transaction by its id or its transaction_id; nil
// where the account has none such, whoever else may have.
func (h *History) Transaction(a ledger.AccountID, id string) (*ledger.Transaction, error) {
	var t *ledger.Transaction
	err := h.over(func(v *wal.View) error {
		row, ok, err := h.find(v, id)
		if err != nil || !ok || row.Account != a {
			return err
		}
		t, err = h.item(v, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// over runs one read over one view, and returns once all that the view may have
// shown is durable.
func (h *History) over(read func(*wal.View) error) error {
	v := h.journal.View()
	defer func() { _ = v.Close() }()
	if err := read(v); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if v.Ticket() > h.journal.Durable() {
		done := make(released, 1)
		h.journal.Append(&wal.Entry{Out: []wal.Out{done}})
		if err := <-done; err != nil {
			return fmt.Errorf("history: wait for the disk: %w", err)
		}
	}
	return nil
}

type released chan error

// Release implements wal.Out.
func (r released) Release(err error) { r <- err }

func (h *History) find(v *wal.View, id string) (ledger.IDRow, bool, error) {
	full, isUUID := ledger.ParseTxID(id)
	short, isPublic := full.Short(), false
	if !isUUID {
		if short, isPublic = ledger.ParsePublic(id); !isPublic {
			return ledger.IDRow{}, false, nil
		}
	}
	value, ok, err := v.Get(ledger.IDKey(short))
	if err != nil || !ok {
		return ledger.IDRow{}, false, err
	}
	row, err := ledger.DecodeIDRow(value)
	if err != nil {
		return row, false, err
	}
	if isUUID {
		return row, row.ID == full, nil
	}
	return row, row.ID.Public(row.Kind) == id, nil
}

// item is the newest record's word on an item.
func (h *History) item(v *wal.View, row ledger.IDRow) (*ledger.Transaction, error) {
	value, ok, err := v.Get(ledger.ItemKey(row.Account, row.Ordinal))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("item %d of %v has no row", row.Ordinal, row.Account)
	}
	at, err := ledger.DecodeItemRow(value)
	if err != nil {
		return nil, err
	}
	r, err := Record(h.journal, row.Account, at.Seq)
	if err != nil {
		return nil, err
	}
	return r.Tx, nil
}

// Record is one record of an account; a missing one is an error.
func Record(j interface {
	Record(stream wal.Stream, seq uint64) (wal.Record, bool, error)
}, a ledger.AccountID, seq uint64,
) (*ledger.Record, error) {
	w, ok, err := j.Record(wal.Stream(a), seq)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &wal.Damage{Stream: wal.Stream(a), Seq: seq, What: "is missing"}
	}
	r := &ledger.Record{Account: a, Seq: w.Seq, Time: ledger.Millis(w.Time), Kind: ledger.RecordKind(w.Kind)}
	return r, r.Decode(w.Body)
}
