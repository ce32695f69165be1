package layout

import (
	"errors"

	"pixd/actors/pix"
)

// Filter selects transactions of a list. The zero value selects all.
type Filter struct {
	Status    FilterStatus
	Type      FilterType
	Direction FilterDirection
	From      pix.Millis // the first instant; 0: no bound
	Until     pix.Millis // the first instant that is too late; 0: no bound
	Original  string     // id or transaction_id of the transaction that those selected give back; empty: any or none
}

// ByTime tells whether the filter selects by time alone, so that the pages of a sorted list
// can be found by counting.
func (f *Filter) ByTime() bool {
	return f.Status == AnyStatus && f.Type == AnyType && f.Direction == AnyDirection && f.Original == ""
}

// Has tells whether the filter selects a transaction in that status and of that kind. It does
// not look at the time, nor at what the transaction gives back.
func (f *Filter) Has(s pix.TxStatus, k pix.TxKind) bool {
	return f.Status.has(s) && f.Type.has(k) && (f.Direction == AnyDirection || k.Outbound() == (f.Direction == FilterOutbound))
}

// Page is a part of a list: the page with that number, from 1, of pages with Size entries.
type Page struct{ Number, Size int }

// Listed is a page of a list that operators read, of one account's entries or of all accounts'.
type Listed[T any] struct {
	Entries []T
	Next    []byte // key behind which the next page begins; nil: this is the last page
	Damaged int    // entries that are left out because a record of theirs is damaged; some may not belong to the list
}

// ErrDamaged says that what was looked up is damaged, or that its record is.
var ErrDamaged = errors.New("damaged")

// ErrTooLong says that a list could not be read in the time that one read may take.
var ErrTooLong = errors.New("the list takes too long to read")

// FilterStatus is a status as merchants filter by it.
type FilterStatus uint8

func (f FilterStatus) has(s pix.TxStatus) bool {
	switch f {
	case AnyStatus:
		return true
	case FilterSettled:
		return s.MovedMoney()
	case FilterRejected:
		return s == pix.StatusRejected
	case FilterFailed:
		return s == pix.StatusFailed
	case FilterProcessing:
		return s.InFlight()
	}
	return s == pix.StatusActive
}

// The statuses of the contract's filter.
const (
	AnyStatus        FilterStatus = iota
	FilterSettled                 // money moved: completed or settled
	FilterRejected                // the scheme rejected a payout
	FilterFailed                  // a payout or refund failed
	FilterProcessing              // a payout or refund in flight
	FilterActive                  // an open charge
)

// FilterType is the type of a transaction as merchants see it.
type FilterType uint8

func (f FilterType) has(k pix.TxKind) bool {
	switch f {
	case AnyType:
		return true
	case FilterTED:
		return k == pix.TxTED
	case FilterInternal:
		return k == pix.TxInternal
	}
	return k != pix.TxTED && k != pix.TxInternal
}

// The types.
const (
	AnyType FilterType = iota
	FilterPIX
	FilterTED
	FilterInternal
)

// FilterDirection is the direction in which money moves.
type FilterDirection uint8

// The directions.
const (
	AnyDirection FilterDirection = iota
	FilterInbound
	FilterOutbound
)
