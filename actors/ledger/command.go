package ledger

import (
	"fmt"

	"pixd/actors/pix"
)

// Stamp is what the caller of Decide adds to a command: the time, the id of the transaction
// that the command may create, and the service's terms. Time and id are recorded.
type Stamp struct {
	pix.Reading // Reading.Time is never earlier than the account's newest record
	ID          pix.TxID
	Terms       Terms
	Durable     Totals // the account's totals after its newest durable record
	Inactive    bool   // the account is inactive; set only for commands that need an active one, see Traits.NeedsActive
}

// Terms are the service's settings, the same for every account. Durations are in
// milliseconds.
type Terms struct {
	Secret      []byte   // secret of the store; the engine computes end-to-end ids from it (see Fingerprint)
	MaxRepeats  int      // most payouts in flight, settled or voided that may share one end-to-end id; 0: 1,000
	ClaimDays   []uint16 // the days with claims that were on disk when the process started (see ClaimDays); nil: only the usual days are searched
	OwnISPB     string
	OrphanAfter pix.Millis // time from a payout's acceptance until it may be voided, where the scheme reports no outcome
	QueueTTL    pix.Millis // time that a payout may wait for directory capacity
	ApprovalTTL pix.Millis // time that a payout may wait for an operator's approval

	Epoch  uint64     // how often a restored journal was taken into use although it lacks what happened since the snapshot
	GapEnd pix.Millis // engine time of the newest such acceptance: payments from before it may have been refunded in the gap

	// GapOpen says that nobody knows what the scheme has done before GapEnd: a payout that waits since then is
	// neither sent nor ended before an operator decides about it.
	GapOpen bool

	EventsAbove uint64 // webhook events have sequences above this one, because the journal was restored and those up to it may have been given out; 0: it was not

	RestoredAt pix.Millis // engine time when the newest restored journal was taken into use; 0: none was

	MEDDeadline pix.Millis // time from a special-return case's opening within which the merchant may defend it
	MEDAnalysis pix.Millis // time from a special-return case's opening within which the institution should decide it
	MEDWaits    bool       // a case that was not defended in time waits for the analyst; false: it is closed as agreed
}

// Command is a request to one account. What it has to know, which refusals it has, and what it
// decides stands in the file of its story: payout, refund, case, receive, subscription, settings.
type Command interface {
	// gather reads the facts that the decision needs beside the account's head. It says in
	// gathering.stakes what the decision may mean for the account's special-return cases.
	gather(g *gathering) (decider, error)
}

// decider is a command together with its facts.
type decider interface {
	// decide makes the decision, without the refunds that special-return cases owe after it. It
	// reads nothing.
	decide(d *draft) Decision
}

// Traits are what the caller of Gather and Decide must know of a command.
type Traits struct {
	Claim        *Claim // idempotency claim of the request; nil: it has none
	NeedsActive  bool   // it must not be carried out for an inactive account: the caller sets Stamp.Inactive if the account is inactive, and Decide then does nothing or refuses
	ReadsHead    bool   // it reads the account's head and nothing else
	AwaitsScheme bool   // the request may be answered only when the scheme has been asked
	IsNotice     bool   // a notice of the scheme: no request waits for it
}

// TraitsOf returns a command's traits; all are zero where the command names none.
func TraitsOf(c Command) Traits {
	if t, ok := c.(interface{ traits() Traits }); ok {
		return t.traits()
	}
	return Traits{}
}

// Facts are what Gather has read for one command.
type Facts struct {
	decider decider
	cases   caseFacts
	earlier *Earlier // an earlier request under the same claim; if set, nothing else was gathered
}

// Gather reads the facts that a command needs beside the account's head: the first of the
// four steps in the package's comment. It changes nothing except that it stamps the
// command's idempotency claim with the time. Errors: a row or record could not be read;
// ErrUnknownTransfer; ErrBusy where one end-to-end id has too many payouts.
func Gather(r Reader, a *Account, c Command, s Stamp) (Facts, error) {
	g := &gathering{Reader: r, account: a, stamp: &s}
	f, err := g.factsOf(c)
	if err != nil {
		return f, fmt.Errorf("account %v: facts of %T: %w", a.ID, c, err)
	}
	return f, nil
}

func (g *gathering) factsOf(c Command) (f Facts, err error) {
	if claim := TraitsOf(c).Claim; claim != nil {
		claim.stampTime(g.stamp.Reading)
		if f.earlier, err = g.earlier(claim); err != nil || f.earlier != nil {
			return f, err
		}
	}
	if f.decider, err = c.gather(g); err != nil {
		return f, err
	}
	err = g.gatherCases()
	f.cases = g.cases
	return f, err
}

// Decide answers the command whose facts Gather has read with records, or with the first refusal
// that applies. It changes nothing: Apply does.
func (a *Account) Decide(f Facts, s Stamp) Decision {
	if s.Time < a.Time {
		panic(fmt.Sprintf("ledger: %v: command stamped %v, before %v", a.ID, s.Time, a.Time))
	}
	if _, opening := f.decider.(OpenAccount); !opening && a.Seq == 0 {
		return refuseWith(refuse(RefuseNotOpened, "account is not opened"))
	}
	if e := f.earlier; e != nil {
		return e.decision(&s.Terms)
	}
	d := draft{account: a, stamp: s, totals: a.Totals, facts: f.cases}
	return d.completeCases(f.decider.decide(&d))
}

// Decision is the result of Decide: records, or a refusal, or neither where the command
// changes nothing.
type Decision struct {
	Answer  // what the asker is told: in the state after the records
	Records []Record
	Alerts  []Alert // alerts to the operators, raised once the records are durable

	Earlier  *Earlier     // an earlier request under the same claim: this request gets the same answer
	Launch   []Launch     // child actors to start once the records are durable
	Await    bool         // the asker is answered only when the payout Tx has its outcome
	Ended    *Transaction // the payout whose child actor has ended its work: the requests that wait for the payout are answered
	Attended *Attended    // the result of a due task, where no child actor was started for it

	ShowsHead bool // the answer is to have a copy of the head in its state after the records
}

// refuseWith is the decision that refuses a command.
func refuseWith(r *Refusal) Decision { return Decision{Answer: Answer{Refusal: r}} }

// Alert is an event that operators must look at.
type Alert struct {
	Kind    string // one of the constants that begin with Alert
	Tx      pix.TxID
	Public  string // transaction_id of Tx
	Message string
}

// Alerts raises alerts that no decision raises.
type Alerts interface {
	// Raise writes, counts and logs an alert about an account; account 0: about none. It does not
	// wait.
	Raise(id pix.AccountID, a Alert)
}

// The kinds of alerts that a decision raises.
const (
	AlertLate          = "late_settlement"
	AlertContradiction = "contradicting_notice"
	AlertUnanswered    = "refund_unanswered"
	AlertUndecided     = "med_undecided"
	AlertCaseRefund    = "med_refund_failed"
	AlertUnrefunded    = "med_unrefunded"
)

// AlertKinds lists the kinds of alerts that a decision raises.
func AlertKinds() []string {
	return []string{AlertLate, AlertContradiction, AlertUnanswered, AlertUndecided, AlertCaseRefund, AlertUnrefunded}
}
