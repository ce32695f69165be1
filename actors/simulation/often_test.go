package simulation

import (
	"fmt"
	"strings"
	"testing"
)

// common lists the events that must happen at least eight times in 300 lives.
const common = `
alert: late_settlement
alert: quarantine
answered: replay
asked: again what was voided
asked: another amount under a reference
asked: another body under a key
asked: available less the fee, and 0
asked: available less the fee, and 1
asked: ledger.ChangeSettings
asked: ledger.DecideApproval
asked: ledger.KeepAnswer
asked: ledger.ReadAccount
asked: ledger.Recall
asked: other fees and another window
asked: twice at once
clock: a difference accepted
clock: accepted by an operator
clock: differs from the scheme's
crash: a bit flipped
crash: between a claim and its opening
crash: in the middle of a call
crash: restarted under a wrong clock
crash: the clock was set right
crash: the disk failed
crash: the power is cut
goal: clear
goal: pay
goal: resume
goal: retry
goal: send
goal: void
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
fault: panic in an account
fault: submission doubled
fault: submission late
fault: submission limited
fault: submission refused
fault: the scheme restarts
fault: unreachable
meeting: a charge completed
meeting: a duplicate
meeting: a payment that names a charge and does not complete it
meeting: an equal request after a duplicate of nothing known
meeting: an equal request after a late settlement
meeting: an id renewed
met: a child overtaken by a notice, and a panic
met: a due row of a quarantined account
met: a submission arrives after its void
met: a key after nearly a day
met: an equal request under a wrong clock
met: an own id and an equal derived one at once
met: an own id that was renewed
met: an own id on a foreign suffix
met: equal approvals after 11 h
met: more equal payouts than may be under way
met: a return of what is on its way back
met: a quarantined account with much in flight
met: an id that the scheme has of something unknown
met: refused again and again, and then paid
money: all that was available is held
record: account.opened
record: answer.kept
record: charge.created
record: credited
record: payment.received
record: payout.accepted
record: payout.approved
record: payout.rejected_after_void
record: payout.failed
record: payout.held
record: payout.pending
record: payout.queued
record: payout.refused
record: payout.rejected
record: payout.requeued
record: payout.returned
record: payout.sending
record: payout.sent
record: payout.settled
record: payout.settled_late
record: return.received
record: settings.changed
refused: an id of another's
refused: ceiling_exceeded
refused: cnpj_out_blocked
refused: cnpj_out_document_required
refused: dict_bucket_exhausted
refused: dict_key_not_found
refused: dict_lookup_failed
refused: dict_rate_limited
refused: inactive
refused: insufficient_balance
refused: not_pending
refused: provider_rejected
refused: same_institution_transfer
registry: a key changed
registry: a key made
registry: a key of another's
start: other flags
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
