package ledger

import "errors"

// Filter selects transactions of a list. The zero value selects all.
type Filter struct {
	Status    FilterStatus
	Type      FilterType
	Direction FilterDirection
	From      Millis // the first instant; 0: no bound
	Until     Millis // the first instant that is too late; 0: no bound
}

// Page is a part of a list: the page with that number, from 1, of pages with Size entries.
type Page struct{ Number, Size int }

// ErrTooLong says that a list could not be read in the time that one read may take.
var ErrTooLong = errors.New("the list takes too long to read")

// FilterStatus is a status as merchants filter by it.
type FilterStatus uint8

// The statuses of the contract's filter.
const (
	AnyStatus        FilterStatus = iota
	FilterSettled                 // money moved: completed or settled
	FilterRejected                // the scheme rejected a payout
	FilterFailed                  // a payout or refund failed
	FilterProcessing              // a payout or refund in flight
	FilterActive                  // an open charge
)

func (f FilterStatus) has(s TxStatus) bool {
	switch f {
	case AnyStatus:
		return true
	case FilterSettled:
		return s.MovedMoney()
	case FilterRejected:
		return s == StatusRejected
	case FilterFailed:
		return s == StatusFailed
	case FilterProcessing:
		return s.InFlight()
	}
	return s == StatusActive
}

// FilterType is the type of a transaction as merchants see it.
type FilterType uint8

// The types.
const (
	AnyType FilterType = iota
	FilterPIX
	FilterTED
	FilterInternal
)

func (f FilterType) has(k TxKind) bool {
	switch f {
	case AnyType:
		return true
	case FilterTED:
		return k == TxTED
	case FilterInternal:
		return k == TxInternal
	}
	return k != TxTED && k != TxInternal
}

// FilterDirection is the direction in which money moves.
type FilterDirection uint8

// The directions.
const (
	AnyDirection FilterDirection = iota
	FilterInbound
	FilterOutbound
)

// ByTime tells whether the filter selects by time alone, so that the pages of a sorted list
// can be found by counting.
func (f *Filter) ByTime() bool {
	return f.Status == AnyStatus && f.Type == AnyType && f.Direction == AnyDirection
}

// Has tells whether the filter selects a transaction in that status and of that kind. It does
// not look at the time.
func (f *Filter) Has(s TxStatus, k TxKind) bool {
	return f.Status.has(s) && f.Type.has(k) && (f.Direction == AnyDirection || k.Outbound() == (f.Direction == FilterOutbound))
}
