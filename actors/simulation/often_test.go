package simulation

import (
	"fmt"
	"strings"
	"testing"
)

// common lists the events that must happen at least eight times in 300 lives.
const common = `
alert: late_settlement
alert: med_refund_failed
alert: med_undecided
alert: med_unrefunded
alert: quarantine
alert: refund_unanswered
alert: withdrawn too late
answered: replay
asked: a defence past its time by a doubted clock
asked: again what was voided
asked: another amount under a reference
asked: another body under a key
asked: available less the fee, and 0
asked: available less the fee, and 1
asked: ledger.ChangeSettings
asked: ledger.CloseCase
asked: ledger.DecideApproval
asked: ledger.DefendCase
asked: ledger.KeepAnswer
asked: ledger.ReadAccount
asked: ledger.Recall
asked: ledger.RequestRefund
asked: other fees and another window
asked: twice at once
asked: what is left of a payment, and 0
asked: what is left of a payment, and 1
clock: a difference accepted
claims: dropped
clock: accepted by an operator
clock: differs from the scheme's
crash: a bit flipped
crash: between a claim and its opening
crash: in the middle of a call
crash: restarted under a wrong clock
crash: the clock was set right
crash: the disk failed
crash: the power is cut
fault: acknowledgement lost
fault: answer lost
fault: clock jumps
fault: disk slow
fault: entry refused
fault: key gone
fault: notice doubled
fault: notice late
fault: notice lost
fault: notice of another id
fault: notice of another minute
fault: notice of another's return
fault: notice that a refund is a duplicate of itself
fault: panic in an account
fault: refund called a duplicate of itself
fault: refund doubled
fault: refund late
fault: refund refused
fault: refund refused for now
fault: report of another payment
fault: submission doubled
fault: submission late
fault: submission limited
fault: submission refused
fault: the scheme restarts
fault: unreachable
goal: clear
goal: pay
goal: resume
goal: retry
goal: send
goal: void
meeting: a case closed by its deadline
meeting: a case closed by the analyst
meeting: a case covered in part
meeting: a case holds more than before
meeting: a charge completed
meeting: a duplicate
meeting: a payment that names a charge and does not complete it
meeting: a refund for a case
meeting: a late refund reduced a case
meeting: a refund for a case too old
meeting: agreed, and other cases or refunds have the money
meeting: an agreed case holds more than before
meeting: an equal request after a duplicate of nothing known
meeting: an equal request after a late settlement
meeting: an id renewed
met: a child overtaken by a notice, and a panic
met: a case under a slow clock
met: a due row of a quarantined account
met: a key after nearly a day
met: a late copy of a payment's notice
met: a quarantined account with much in flight
met: a refund arrives after it failed in doubt
met: a payment given back
met: a payment given back whose key has an owner again
met: a payment reported more than once
met: a return of what is on its way back
met: a submission arrives after its void
met: an equal request under a wrong clock
met: an id that the scheme has of something unknown
met: an own id and an equal derived one at once
met: an own id on a foreign suffix
met: an own id that was renewed
met: cases and too little money
met: equal approvals after 11 h
met: more equal payouts than may be under way
met: refused again and again, and then paid
money: all that was available is held
record: account.opened
record: answer.kept
record: case.closed
record: case.defended
record: case.opened
record: case.reduced
record: case.refunded
record: case.refunding
record: case.released
record: case.restored
record: case.waits
record: case.withdrawn
record: charge.created
record: credited
record: payment.received
record: payout.accepted
record: payout.approved
record: payout.failed
record: payout.held
record: payout.pending
record: payout.queued
record: payout.refused
record: payout.rejected
record: payout.rejected_after_void
record: payout.requeued
record: payout.returned
record: payout.sending
record: payout.sent
record: payout.settled
record: payout.settled_late
record: refund.accepted
record: refund.failed
record: refund.held
record: refund.sent
record: refund.settled
record: refund.settled_late
record: return.received
record: settings.changed
record: subscription.dropped
record: subscription.ended
record: subscription.made
refused: an id of another's
refused: case_over
refused: case_result
refused: ceiling_exceeded
refused: cnpj_out_blocked
refused: cnpj_out_document_required
refused: dict_bucket_exhausted
refused: dict_key_not_found
refused: dict_lookup_failed
refused: dict_rate_limited
refused: funds_under_med_hold
refused: inactive
refused: insufficient_balance
refused: not_pending
refused: over_refund
refused: provider_rejected
refused: safe_balance
refused: same_institution_transfer
refused: unknown_original
refused: unknown_subscription
registry: a PIX key removed
registry: a key changed
registry: a key made
registry: a key of another's
restored: answers given again
restored: at the end of the life
restored: crashes in an acceptance
restored: deliveries held
restored: held deliveries put back in line
restored: lives
restored: notices about the gap
restored: payments of the gap are missing
restored: settled in the gap, and here too
restored: snapshots under a doubted clock
restored: snapshots with rows that are not durable
restored: snapshots with work in flight
start: other flags
told: a list
webhook: 410
webhook: a late answer
webhook: a subscription ended
webhook: an attempt lost
webhook: an attempt's result lost
webhook: dead after its last attempt
webhook: delivered
webhook: delivered by a later attempt
webhook: ended before it was due
webhook: ended with its subscription
webhook: no answer in time
webhook: put back in line
webhook: put back in line after it was delivered
`

// TestNothingIsRare checks that each event in common happens often enough in 300 lives.
func TestNothingIsRare(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("the same lives as everywhere")
	}
	var seeds []uint64
	for seed := uint64(1); seed <= 300; seed++ {
		seeds = append(seeds, seed)
	}
	_, seen := lives(seeds)
	var all []string
	for what, n := range sorted(seen) {
		all = append(all, fmt.Sprintf("%7d %s", n, what))
	}
	t.Log("in 300 lives:\n" + strings.Join(all, "\n"))
	for what := range strings.Lines(strings.TrimSpace(common)) {
		what = strings.TrimSpace(what)
		if seen[what] < 8 {
			t.Errorf("%s: %d times", what, seen[what])
		}
	}
}
