package recordjson

import (
	"reflect"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// fieldNames are the names of the fields that are not their names in Go in snake_case: of a field of
// one type, or of every field with a name. docs/formats.md explains all names.
var fieldNames = map[string]string{
	"EndToEnd":         "end_to_end_id",
	"OriginalEndToEnd": "original_end_to_end_id",
	"OwnEndToEnd":      "own_end_to_end_id",
	"Seq":              "sequence",

	"ledger.Body.Tx":                  "transaction",
	"ledger.Body.Stored":              "answer",
	"ledger.Body.Moved":               "moved_row",
	"ledger.Body.Row":                 "end_to_end_row",
	"ledger.Body.DueWasKind":          "due_kind_was",
	"ledger.Body.Prev":                "previous",
	"ledger.Body.Sums":                "refund_sums",
	"ledger.Case.AnalysisAt":          "analysis_due_at",
	"ledger.Case.Awaits":              "awaits_operator",
	"ledger.Case.EndToEnd":            "original_end_to_end_id",
	"ledger.Case.Infraction":          "infraction_id",
	"ledger.Case.Unsure":              "unsure_until",
	"ledger.CaseShare.Case":           "case_id",
	"ledger.Claim.Bucket":             "day",
	"ledger.PayoutPart.Former":        "former_end_to_end_ids",
	"ledger.PayoutPart.QueueEnds":     "queue_ends_at",
	"ledger.PayoutPart.Released":      "released_at",
	"ledger.RefundPart.Code":          "return_code",
	"ledger.RefundPart.Counts":        "counts_towards",
	"ledger.PayoutPart.Bucket":        "directory_limit",
	"ledger.RefundPart.Case":          "case_id",
	"ledger.Settings.AuthorizedCNPJs": "authorized_cnpjs",
	"ledger.Settings.RepeatWindow":    "repeat_window_ms",
	"ledger.TransferPart.LateAt":      "settled_late_at",
	"ledger.TransferPart.Limited":     "refused_for_now",
	"layout.EndToEndRow.Members":      "shared_by",
	"registry.Account.Opening":        "settings",
	"registry.APIKey.SecretHash":      "secret_sha256",
	"registry.APIKey.Whitelist":       "ip_whitelist",
	"registry.Record.EndToEnd":        "reservation",
	"registry.Operator.TokenHash":     "token_sha256",
	"registry.FirstApproval.Payout":   "id",
}

// The names of values that have no name elsewhere; docs/formats.md has the same names.
var (
	txKinds = []string{
		pix.TxCharge: "charge", pix.TxReceipt: "receipt", pix.TxPayout: "payout", pix.TxRefund: "refund",
		pix.TxReturn: "return", pix.TxTED: "ted", pix.TxInternal: "internal",
	}
	dueKinds = []string{
		layout.DueTransfer: "transfer", layout.DueSending: "sending", layout.DueQueued: "queued",
		layout.DueApproval: "approval", layout.DueDoubt: "doubt", layout.DueCase: "case",
	}
	buckets              = []string{pix.BucketClient: "client", pix.BucketInstitution: "institution", pix.BucketShared: "institution"}
	approvals            = []string{ledger.Approved: "approved", ledger.Declined: "declined"}
	styles               = []string{1: "camelCase"}
	subscriptionStatuses = []string{
		ledger.SubscriptionActive: "active", ledger.SubscriptionStopped: "stopped", ledger.SubscriptionRemoved: "removed",
	}
)

// words writes a value by its name in a table, a later one as a number.
func words(names []string) writer {
	return func(l *line, name string, v reflect.Value) {
		if n := v.Uint(); n < uint64(len(names)) {
			l.text(name, names[n])
		} else {
			l.unsigned(name, n)
		}
	}
}
