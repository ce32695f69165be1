package recordjson

import (
	"fmt"
	"strconv"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// The names of values that have no name elsewhere; docs/formats.md has the same names.
var (
	txKinds = [...]string{
		pix.TxCharge: "charge", pix.TxReceipt: "receipt", pix.TxPayout: "payout", pix.TxRefund: "refund",
		pix.TxReturn: "return", pix.TxTED: "ted", pix.TxInternal: "internal",
	}
	dueKinds = [...]string{
		layout.DueTransfer: "transfer", layout.DueSending: "sending", layout.DueQueued: "queued",
		layout.DueApproval: "approval", layout.DueDoubt: "doubt", layout.DueCase: "case",
	}
	buckets              = [...]string{pix.BucketClient: "client", pix.BucketInstitution: "institution", pix.BucketShared: "institution"}
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
		l.add(name, names[v])
	default:
		l.add(name, uint64(v))
	}
}

// The last values that have names of their own.
const (
	lastStatus     = pix.StatusSending
	lastEvent      = pix.EventCaseClosed
	lastCaseStatus = pix.CaseCancelled
	lastResult     = pix.Disagreed
	lastKeyType    = pix.KeyEVP
)

// spoken is a value that knows its name.
type spoken interface {
	~uint8
	fmt.Stringer
}

// said writes a value by the name that it knows, unless it is 0.
func said[T spoken](l *line, name string, v, last T) {
	if v != 0 {
		l.add(name, nameOf(v, last))
	}
}

// nameOf returns the name of a value up to last; the number of a later one.
func nameOf[T spoken](v, last T) string {
	if v > last {
		return strconv.Itoa(int(v))
	}
	return v.String()
}
