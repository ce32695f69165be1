package recordjson

import (
	"fmt"
	"strconv"

	"pixd/actors/ledger"
)

// The names of values that have no name elsewhere; docs/formats.md has the same names.
var (
	txKinds = [...]string{
		ledger.TxCharge: "charge", ledger.TxReceipt: "receipt", ledger.TxPayout: "payout", ledger.TxRefund: "refund",
		ledger.TxReturn: "return", ledger.TxTED: "ted", ledger.TxInternal: "internal",
	}
	dueKinds = [...]string{
		ledger.DueTransfer: "transfer", ledger.DueSending: "sending", ledger.DueQueued: "queued",
		ledger.DueApproval: "approval", ledger.DueDoubt: "doubt", ledger.DueCase: "case",
	}
	buckets              = [...]string{ledger.BucketClient: "client", ledger.BucketInstitution: "institution", ledger.BucketShared: "institution"}
	approvals            = [...]string{ledger.Approved: "approved", ledger.Declined: "declined"}
	styles               = [...]string{1: "camelCase"}
	subscriptionStatuses = [...]string{
		ledger.SubscriptionActive: "active", ledger.SubscriptionStopped: "stopped", ledger.SubscriptionRemoved: "removed",
	}
)

// word writes a value by its name in a table, unless it is 0.
func word[T ~uint8](l *line, name string, v T, names []string) {
	switch {
	case v == 0:
	case int(v) < len(names):
		l.text(name, names[v])
	default:
		l.count(name, uint64(v))
	}
}

// The last values that have names of their own.
const (
	lastStatus     = ledger.StatusSending
	lastEvent      = ledger.EventCaseClosed
	lastCaseStatus = ledger.CaseCancelled
	lastResult     = ledger.Disagreed
	lastKeyType    = ledger.KeyEVP
)

// spoken is a value that knows its name.
type spoken interface {
	~uint8
	fmt.Stringer
}

// said writes a value by the name that it knows, unless it is 0.
func said[T spoken](l *line, name string, v, last T) {
	if v != 0 {
		l.text(name, nameOf(v, last))
	}
}

// nameOf returns the name of a value up to last; the number of a later one.
func nameOf[T spoken](v, last T) string {
	if v > last {
		return strconv.Itoa(int(v))
	}
	return v.String()
}
