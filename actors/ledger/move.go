package ledger

// Move is what an operator counts of a record: money that was asked for, that moved, or that will not.
// The values are not stored.
type Move uint8

// The moves.
const (
	MovePayoutAsked    Move = iota + 1 // a payout was asked for and its money held, or it was taken over from the scheme
	MovePayoutRefused                  // it was refused before the merchant could see it
	MovePayoutSettled                  // also one that had failed before
	MovePayoutRejected                 // the scheme rejected it after it had accepted it
	MovePayoutFailed                   // it was refused, expired, declined or voided after the merchant saw it
	MovePayoutReturned                 // a settled payout was given back, in full or in part
	MovePaymentSettled                 // a payment came in
	MoveRefundAsked                    // a refund was asked for and its money held, or it was taken over from the scheme
	MoveRefundSettled                  // also one that had failed before
	MoveRefundFailed                   // the scheme refused or rejected it
	MoveCreditSettled                  // a TED or an internal credit
)

// moveNames are the kind of money and the outcome that each move stands for.
var moveNames = [...]struct{ kind, outcome string }{
	MovePayoutAsked: {"payout", "asked"}, MovePayoutRefused: {"payout", "refused"}, MovePayoutSettled: {"payout", "settled"},
	MovePayoutRejected: {"payout", "rejected"}, MovePayoutFailed: {"payout", "failed"}, MovePayoutReturned: {"payout", "returned"},
	MovePaymentSettled: {"payment", "settled"},
	MoveRefundAsked:    {"refund", "asked"}, MoveRefundSettled: {"refund", "settled"}, MoveRefundFailed: {"refund", "failed"},
	MoveCreditSettled: {"credit", "settled"},
}

// Moves is one more than the largest Move.
const Moves = len(moveNames)

// Names returns the kind of money that moves (payout, payment, refund or credit) and what became of it.
// Both are empty for 0.
func (m Move) Names() (kind, outcome string) { return moveNames[m].kind, moveNames[m].outcome }

// Move returns what a record of the kind counts as; 0: nothing.
func (k RecordKind) Move() Move { return k.row().move }
