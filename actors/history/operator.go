package history

import (
	"cmp"
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// The lookups for operators, which find transactions of all accounts.

// Anyone finds a transaction of any account by its id, its transaction_id or its end-to-end
// id; nil where there is no such transaction. Of several transactions under one end-to-end
// id it returns one that moved money or, if none did, the first.
func (h *History) Anyone(id string) (*ledger.Owned, error) {
	return lookUp(h, 0, func(v View) (*ledger.Owned, error) { return h.anyone(v, id) })
}

func (h *History) anyone(v View, id string) (*ledger.Owned, error) {
	row, ok, err := h.find(v, id)
	if err != nil {
		return nil, err
	}
	if ok {
		tx, err := h.shown(v, row)
		return &ledger.Owned{Account: row.Account, Tx: tx}, err
	}
	o, err := h.underEndToEnd(v, 0, id)
	if err != nil || o == nil {
		return nil, err
	}
	o.Tx, err = withRefunds(v, o.Account, o.Tx)
	return o, err
}

// isReturnID tells whether id may be the id of a refund or of a received return: such ids are
// as long as an end-to-end id and begin with D. No payout has such an id.
func isReturnID(id string) bool { return len(id) == 32 && id[0] == 'D' }

// underEndToEnd finds a transaction by an end-to-end id that it has, or had before the id
// was renewed. It considers payouts, their repeats, refunds, and received payments and returns.
//
// Only transactions of account only count; 0: of any account, and where there is none, one that the
// merchant never saw because it was refused: an alert may be about it.
func (h *History) underEndToEnd(v View, only pix.AccountID, e2e string) (*ledger.Owned, error) {
	if !pix.ValidEndToEnd(e2e) && !isReturnID(e2e) {
		return nil, nil
	}
	var best, refused *ledger.Owned
	consider := func(a pix.AccountID, tx *ledger.Transaction) {
		if tx == nil || only != 0 && a != only || tx.EndToEnd != e2e && !slices.Contains(tx.Payout.Former, e2e) {
			return
		}
		if best == nil || !best.Tx.Status.MovedMoney() && tx.Status.MovedMoney() {
			best = &ledger.Owned{Account: a, Tx: tx}
		}
	}
	for _, key := range layout.EndToEndKeys(e2e) {
		row, ok, err := layout.Find(v, key, layout.DecodeEndToEndRow)
		if err != nil {
			return nil, err
		}
		if !ok || only != 0 && row.Account != only {
			continue
		}
		for _, m := range append([]layout.Member{{ID: row.ID, Seq: row.Seq}}, row.Members...) {
			tx, err := h.shownByID(v, m.ID)
			if err != nil {
				return nil, err
			}
			consider(row.Account, tx)
			if tx != nil || only != 0 || refused != nil {
				continue
			}
			if refused, err = h.refusedUnseen(row.Account, m, e2e); err != nil {
				return nil, err
			}
		}
	}
	if best != nil && best.Tx.Status.MovedMoney() {
		return best, nil
	}
	err := h.received(v, only, e2e, consider)
	return cmp.Or(best, refused), err
}

// shownByID reads a transaction by its id; nil for a payout that the merchant never saw.
func (h *History) shownByID(v View, id pix.TxID) (*ledger.Transaction, error) {
	row, ok, err := layout.Find(v, layout.IDKey(id.Short()), layout.DecodeIDRow)
	if err != nil || !ok || row.ID != id {
		return nil, err
	}
	return h.item(v, row)
}

// refusedUnseen reads a payout under an end-to-end id that was refused before its merchant could see it;
// nil for any other.
func (h *History) refusedUnseen(a pix.AccountID, m layout.Member, e2e string) (*ledger.Owned, error) {
	tx, err := h.transaction(a, m.Seq)
	if err != nil || tx.ID != m.ID || tx.Status != pix.StatusRefused || tx.EndToEnd != e2e {
		return nil, err
	}
	return &ledger.Owned{Account: a, Tx: tx}, nil
}

// received considers the payments and returns that were received under an end-to-end id, by
// account only; 0: by any account.
func (h *History) received(v View, only pix.AccountID, e2e string, consider func(pix.AccountID, *ledger.Transaction)) error {
	read := func(k, b []byte) (bool, error) {
		a, err := layout.DecodeReceivedKey(k)
		if err != nil {
			return false, err
		}
		row, err := layout.DecodeReceivedRow(e2e, b)
		if err != nil {
			return false, err
		}
		tx, err := h.transaction(a, row.Seq)
		if err != nil {
			return false, err
		}
		consider(a, tx)
		return true, nil
	}
	if only == 0 {
		lo, hi := layout.ReceivedRange(e2e)
		return v.Scan(lo, hi, read)
	}
	key := layout.ReceivedKey(e2e, only)
	b, ok, err := v.Get(key)
	if ok {
		_, err = read(key, b)
	}
	return err
}

// InFlight lists payouts in flight, sorted by account and then by id: of account a, or of
// all accounts where a is 0. If statuses are given, only payouts in one of them are listed.
// The list begins after the key after, which an earlier call returned as Next; Next is nil
// at the end. One call lists at most limit payouts and reads at most tried rows.
func (h *History) InFlight(a pix.AccountID, statuses []pix.TxStatus, after []byte, limit int) (layout.Listed[ledger.Owned], error) {
	lo, hi := layout.OpenRange()
	if a != 0 {
		lo, hi = layout.OpenOf(a)
	}
	return pageOf(h, lo, hi, after, limit, func(k, b []byte) (ledger.Owned, bool, error) {
		o, err := h.decodeOpen(k, b)
		return o, err == nil && o.Tx.Kind == pix.TxPayout && (len(statuses) == 0 || slices.Contains(statuses, o.Tx.Status)), err
	})
}

// FinalPayouts lists payouts with the given final status, in the same way as InFlight, sorted by
// account and then the oldest first.
func (h *History) FinalPayouts(a pix.AccountID, status pix.TxStatus, after []byte, limit int) (layout.Listed[ledger.Owned], error) {
	lo, hi := layout.ItemsOf(a)
	return pageOf(h, lo, hi, after, limit, func(k, b []byte) (ledger.Owned, bool, error) {
		row, err := layout.DecodeItemRow(b)
		if err != nil || row.Kind != pix.TxPayout || row.Status != status {
			return ledger.Owned{}, false, err
		}
		a := layout.ItemOwner(k)
		r, err := Record(h.journal, a, row.Seq)
		if err == nil && r.Tx == nil {
			err = errNoTransaction(a, row.Seq)
		}
		if err != nil {
			return ledger.Owned{}, false, err
		}
		return ledger.Owned{Account: a, Tx: r.Tx}, true, nil
	})
}

// tried is the most rows that one call reads. The limit exists because only few of the rows
// may have the wanted status.
const tried = 10_000

// pageOf is page in a view of its own.
func pageOf[T any](h *History, lo, hi, after []byte, limit int, read func(k, b []byte) (T, bool, error)) (layout.Listed[T], error) {
	return lookUp(h, 0, func(v View) (layout.Listed[T], error) { return page(v, lo, hi, after, limit, read) })
}

// page reads the rows between lo and hi that come after the key after, and collects those
// for which read returns true. One damaged record does not make the whole list fail.
func page[T any](v View, lo, hi, after []byte, limit int, read func(k, b []byte) (T, bool, error)) (l layout.Listed[T], err error) {
	if len(after) > 0 && string(after) >= string(lo) {
		lo = slices.Concat(after, []byte{0})
	}
	var last []byte
	n := 0
	err = v.Scan(lo, hi, func(k, b []byte) (bool, error) {
		if n++; len(l.Entries) == limit || n > tried {
			l.Next = last
			return false, nil
		}
		last = slices.Clone(k)
		o, wanted, err := read(k, b)
		switch {
		case isDamaged(err):
			l.Damaged++
			return true, nil
		case wanted:
			l.Entries = append(l.Entries, o)
		}
		return err == nil, err
	})
	return l, err
}

func (h *History) decodeOpen(k, b []byte) (ledger.Owned, error) {
	a, id, err := layout.DecodeOpenKey(k)
	if err != nil {
		return ledger.Owned{}, err
	}
	seq, err := layout.DecodeSeqRow(b)
	if err != nil {
		return ledger.Owned{}, err
	}
	r, err := Record(h.journal, a, seq)
	if err == nil && (r.Tx == nil || r.Tx.ID != id) {
		err = &wal.Damage{Stream: wal.Stream(a), Seq: seq, What: fmt.Sprintf("is not about transaction %v, which is in flight", id)}
	}
	if err != nil {
		return ledger.Owned{}, err
	}
	return ledger.Owned{Account: a, Tx: r.Tx}, nil
}
