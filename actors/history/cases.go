package history

import (
	"fmt"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// Case finds an account's special-return case by its id; nil where this account has no such
// case. What the money covers of it is as of now.
func (h *History) Case(a pix.AccountID, id string) (*ledger.Case, error) {
	return lookUp(h, a, func(v View) (*ledger.Case, error) {
		row, ok, err := caseRow(v, id)
		if err != nil || !ok || row.Account != a {
			return nil, err
		}
		return h.caseAt(v, a, row.Ordinal)
	})
}

// AnyCase finds a special-return case of any account by its id; nil where there is none.
func (h *History) AnyCase(id string) (*ledger.OwnedCase, error) {
	return lookUp(h, 0, func(v View) (*ledger.OwnedCase, error) {
		row, ok, err := caseRow(v, id)
		if err != nil || !ok {
			return nil, err
		}
		k, err := h.caseAt(v, row.Account, row.Ordinal)
		return &ledger.OwnedCase{Account: row.Account, Case: k}, err
	})
}

// Cases returns one page of an account's special-return cases, the newest first. page counts
// from 1. If status is not 0, only cases in that status count; layout.ErrTooLong: finding them
// takes too long.
func (h *History) Cases(a pix.AccountID, status pix.CaseStatus, page, perPage int) ([]*ledger.Case, error) {
	read := func(limit *scanLimit) ([]*ledger.Case, error) {
		return lookUp(h, a, func(v View) ([]*ledger.Case, error) {
			ordinals, err := pageOfCases(v, a, status, page, perPage, limit)
			if err != nil {
				return nil, err
			}
			return h.casesAt(v, a, ordinals)
		})
	}
	if status == 0 {
		return read(&scanLimit{})
	}
	return limited(h, a, read)
}

// pageOfCases returns the ordinals of the cases on a page.
func pageOfCases(v View, a pix.AccountID, status pix.CaseStatus, page, perPage int, limit *scanLimit) (ordinals []uint64, err error) {
	lo, hi := layout.CasesOf(a)
	skip := uint64(page-1) * uint64(perPage)
	if skip/uint64(perPage) != uint64(page-1) {
		return nil, nil // the page lies beyond every list
	}
	if status == 0 { // ordinals have no gaps, so the page's first case is found by counting
		err := v.ScanBack(lo, hi, func(k, _ []byte) (bool, error) {
			newest, err := layout.CaseOrdinal(k)
			if skip = min(skip, newest); err == nil {
				hi = layout.CaseKey(a, newest-skip+1)
			}
			return false, err
		})
		if err != nil {
			return nil, err
		}
		skip = 0
	}
	err = v.ScanBack(lo, hi, func(k, b []byte) (bool, error) {
		if err := limit.over(); err != nil {
			return false, err
		}
		row, err := layout.DecodeCaseRow(b)
		if err != nil || status != 0 && row.Status != status {
			return err == nil, err
		}
		if skip > 0 {
			skip--
			return true, nil
		}
		ordinal, err := layout.CaseOrdinal(k)
		ordinals = append(ordinals, ordinal)
		return err == nil && len(ordinals) < perPage, err
	})
	return ordinals, err
}

// CaseRecord returns a case as its newest record has it: what the account's money covers of it is not
// worked out.
func (h *History) CaseRecord(a pix.AccountID, ordinal uint64) (k *ledger.Case, err error) {
	err = h.look(a, func(v View) error {
		k, err = h.caseRecord(v, a, ordinal)
		return err
	})
	return k, err
}

// AllCases lists the special-return cases of all accounts, the oldest first. If status is not
// 0, it lists only cases in that status. The list begins after the key after, which an earlier
// call returned as Next; Next is nil at the end. One call lists at most limit cases and reads
// at most tried rows.
func (h *History) AllCases(status pix.CaseStatus, after []byte, limit int) (layout.Listed[ledger.OwnedCase], error) {
	return lookUp(h, 0, func(v View) (layout.Listed[ledger.OwnedCase], error) {
		lo, hi := layout.AllCases()
		l, err := page(v, lo, hi, after, limit, func(_, b []byte) (o ledger.OwnedCase, wanted bool, err error) {
			row, err := layout.DecodeCaseIDRow(b)
			if err != nil || status != 0 && row.Status != status {
				return o, false, err
			}
			o.Account = row.Account
			o.Case, err = h.caseRecord(v, row.Account, row.Ordinal)
			return o, err == nil, err
		})
		if err == nil {
			err = h.coverAll(v, &l)
		}
		return l, err
	})
}

// coverAll works out what the accounts' money covers of each case that is listed.
func (h *History) coverAll(v View, l *layout.Listed[ledger.OwnedCase]) error {
	of := map[pix.AccountID][]*ledger.Case{}
	for _, o := range l.Entries {
		of[o.Account] = append(of[o.Account], o.Case)
	}
	for a, cases := range of {
		err := h.cover(v, a, cases)
		switch {
		case isDamaged(err):
			l.Damaged += len(cases)
			l.Entries = slices.DeleteFunc(l.Entries, func(o ledger.OwnedCase) bool { return o.Account == a })
		case err != nil:
			return err
		}
	}
	return nil
}

func caseRow(v View, id string) (layout.CaseIDRow, bool, error) {
	parsed, ok := pix.ParseCaseID(id)
	if !ok {
		return layout.CaseIDRow{}, false, nil
	}
	return layout.Find(v, layout.CaseIDKey(parsed), layout.DecodeCaseIDRow)
}

func (h *History) caseAt(v View, a pix.AccountID, ordinal uint64) (*ledger.Case, error) {
	all, err := h.casesAt(v, a, []uint64{ordinal})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// casesAt reads cases by their ordinals, and works out what the account's money covers of
// each now.
func (h *History) casesAt(v View, a pix.AccountID, ordinals []uint64) ([]*ledger.Case, error) {
	all := make([]*ledger.Case, 0, len(ordinals))
	for _, ordinal := range ordinals {
		k, err := h.caseRecord(v, a, ordinal)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, h.cover(v, a, all)
}

func (h *History) caseRecord(v View, a pix.AccountID, ordinal uint64) (*ledger.Case, error) {
	row, ok, err := layout.Find(v, layout.CaseKey(a, ordinal), layout.DecodeCaseRow)
	if err == nil && !ok {
		err = fmt.Errorf("case %d of %v has no row", ordinal, a)
	}
	if err != nil {
		return nil, err
	}
	r, err := Record(h.journal, a, row.Seq)
	if err != nil {
		return nil, err
	}
	if r.Case == nil || r.Case.Ordinal != ordinal {
		return nil, &wal.Damage{Stream: wal.Stream(a), Seq: row.Seq, What: fmt.Sprintf("is not about case %d", ordinal)}
	}
	return r.Case, nil
}

// cover sets what the account's money covers of each of its given cases: the oldest case of
// the account is covered first, each from what is left. It reads other cases only where there
// is too little money for all of them.
func (h *History) cover(v View, a pix.AccountID, cases []*ledger.Case) error {
	held := map[uint64]*ledger.Case{}
	for _, k := range cases {
		if k.Covered = 0; k.Held > 0 {
			held[k.Ordinal] = k
		}
	}
	if len(held) == 0 {
		return nil
	}
	seq, err := v.Last(wal.Stream(a))
	if err != nil {
		return err
	}
	newest, err := Record(h.journal, a, seq)
	if err != nil {
		return err
	}
	left := newest.Totals.Balance - newest.Totals.Held
	if left >= newest.Totals.MEDHeld {
		for _, k := range held {
			k.Covered = k.Held
		}
		return nil
	}
	missing := len(held)
	lo, hi := layout.HoldingsOf(a)
	return v.Scan(lo, hi, func(key, b []byte) (bool, error) {
		if left <= 0 || missing == 0 {
			return false, nil
		}
		row, err := layout.DecodeHolding(key, b)
		if err != nil {
			return false, err
		}
		if k := held[row.Ordinal]; k != nil {
			k.Covered = min(left, k.Held)
			missing--
		}
		left -= row.Held
		return true, nil
	})
}
