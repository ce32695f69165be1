// Package history answers lookups from rows alone, without restoring the account. Its
// results are durable: where a lookup read a row that is not durable yet, it returns only
// once that row is durable.
package history

import (
	"errors"
	"fmt"
	"time"

	"pixd/actors/fair"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Journal is the part of the journal that history uses; see wal.Store.
type Journal interface {
	Look(stream wal.Stream, read func(View) error) error
	Record(stream wal.Stream, seq uint64) (wal.Record, bool, error)
}

// View is the journal as it was at one moment; see wal.View.
type View interface {
	layout.Rows
	ScanBack(lo, hi []byte, visit layout.Visit) error // Scan from the last key to the first
	Last(stream wal.Stream) (seq uint64, err error)
	Records(stream wal.Stream, seqs []uint64, fn func(wal.Record) error) error
}

// store makes a Journal of a wal.Store.
type store struct{ *wal.Store }

func (s store) Look(stream wal.Stream, read func(View) error) error {
	return s.Store.Look(stream, func(v *wal.View) error { return read(v) })
}

// History answers lookups.
type History struct {
	journal  Journal
	scans    *fair.Pool[pix.AccountID] // places of reads that look at many rows
	scanTime time.Duration
	many     int // see manyInFlight
	life     lifeBounds
	known    transactionCache
}

// New makes a History over a store.
func New(s *wal.Store) *History { return Over(store{s}) }

// Over makes a History over any journal.
func Over(j Journal) *History {
	scans := fair.New[pix.AccountID](fair.Bounds{Places: scansAtOnce, Share: scanShare, Queue: scanQueue})
	return &History{journal: j, scans: scans, scanTime: scanTime, many: manyInFlight, life: lifeBounds{lifeRecords, lifeRows}}
}

// Transaction finds an account's transaction by its id or its transaction_id; nil where
// this account has no such transaction.
func (h *History) Transaction(a pix.AccountID, id string) (*ledger.Transaction, error) {
	return lookUp(h, a, func(v View) (*ledger.Transaction, error) {
		row, ok, err := h.find(v, id)
		if err != nil || !ok || row.Account != a {
			return nil, err
		}
		return h.shown(v, row)
	})
}

// lookUp returns what a read finds in a view of the store, and nothing with an error; see look.
func lookUp[T any](h *History, a pix.AccountID, read func(View) (T, error)) (T, error) {
	var found, nothing T
	err := h.look(a, func(v View) (err error) {
		found, err = read(v)
		return err
	})
	if err != nil {
		return nothing, err
	}
	return found, nil
}

// look runs one read over one view of the store; see wal.Store.Look. a is the account whose
// rows are read; 0 for lookups of operators, which read rows of any account.
func (h *History) look(a pix.AccountID, read func(View) error) error {
	err := h.journal.Look(wal.Stream(a), read)
	switch {
	case err == nil:
		return nil
	case isDamaged(err):
		return fmt.Errorf("history: %w: %w", layout.ErrDamaged, err)
	}
	return fmt.Errorf("history: %w", err)
}

func (h *History) find(v View, id string) (layout.IDRow, bool, error) {
	full, isUUID := pix.ParseTxID(id)
	short, isPublic := full.Short(), false
	if !isUUID {
		if short, isPublic = pix.ParsePublic(id); !isPublic {
			return layout.IDRow{}, false, nil
		}
	}
	row, ok, err := layout.Find(v, layout.IDKey(short), layout.DecodeIDRow)
	if err != nil || !ok {
		return row, false, err
	}
	if isUUID {
		return row, row.ID == full, nil
	}
	return row, row.ID.Public(row.Kind) == id, nil
}

// itemRow reads the row of an item, which must exist.
func itemRow(v View, a pix.AccountID, ordinal uint64) (layout.ItemRow, error) {
	row, ok, err := layout.Find(v, layout.ItemKey(a, ordinal), layout.DecodeItemRow)
	if err == nil && !ok {
		err = fmt.Errorf("item %d of %v has no row", ordinal, a)
	}
	return row, err
}

// item reads a transaction in the state of its newest record.
func (h *History) item(v View, row layout.IDRow) (*ledger.Transaction, error) {
	at, err := itemRow(v, row.Account, row.Ordinal)
	if err != nil {
		return nil, err
	}
	return h.transaction(row.Account, at.Seq)
}

// shown is item with what was refunded of the transaction.
func (h *History) shown(v View, row layout.IDRow) (*ledger.Transaction, error) {
	t, err := h.item(v, row)
	if err != nil {
		return nil, err
	}
	return withRefunds(v, row.Account, t)
}

// Record reads one record of an account; a missing record is an error.
func Record(j interface {
	Record(stream wal.Stream, seq uint64) (wal.Record, bool, error)
}, a pix.AccountID, seq uint64,
) (*ledger.Record, error) {
	w, ok, err := j.Record(wal.Stream(a), seq)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &wal.Damage{Stream: wal.Stream(a), Seq: seq, What: "is missing"}
	}
	return Decode(&w)
}

// Decode decodes a record of an account's stream.
func Decode(w *wal.Record) (*ledger.Record, error) {
	r := &ledger.Record{Account: pix.AccountID(w.Stream), Seq: w.Seq, Time: pix.Millis(w.Time), Kind: ledger.RecordKind(w.Kind)}
	if err := r.Decode(w.Body); err != nil {
		return nil, undecodable{err}
	}
	return r, nil
}

// undecodable is the error for a record that is as it was written and cannot be decoded.
type undecodable struct{ error }

func (u undecodable) Unwrap() error { return u.error }

// isDamaged reports whether an error is about one record, or about rows that lie beside it, and not about a read that may
// succeed when it is tried again.
func isDamaged(err error) bool { return wal.IsDamage(err) || errors.As(err, new(undecodable)) }
