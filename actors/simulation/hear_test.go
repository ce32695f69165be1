package simulation

import (
	"errors"
	"fmt"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// hear takes the answers that have arrived for waiting requests.
func (l *life) hear() {
	waiting := l.asked[:0]
	for _, r := range l.asked {
		a, err, there := r.asked.Answer()
		if !there {
			waiting = append(waiting, r)
			continue
		}
		if err != nil {
			l.say("%v hears %v", r.account, err)
			if !errors.Is(err, ledger.ErrCut) && !errors.Is(err, ledger.ErrBusy) && !errors.Is(err, ledger.ErrQuarantined) && !l.flipped[r.account] && !l.hiccups(err) {
				l.fail("%v hears %v", r.account, err)
			}
			continue
		}
		l.hears(r, &a)
	}
	l.asked = waiting
}

// hiccups reports whether err is the error that a request may get after the journal refused
// an entry or an account's code panicked: nothing of the request was journaled.
func (l *life) hiccups(err error) bool {
	return errors.Is(err, ledger.ErrInternal) && l.seen["fault: entry refused"]+l.seen["fault: panic in an account"] > 0
}

func (l *life) hears(r *request, a *ledger.Answer) {
	l.say("%v hears %s", r.account, describe(a))
	if a.Head != nil {
		l.showsHead(r, a.Head)
	}
	l.oneBody(r, a)
	switch c := r.make().(type) {
	case ledger.RequestPayout:
		l.rightly(r, &c, a)
	case ledger.Credit:
		var amount pix.Amount
		if _, err := fmt.Sscan(c.Reference, new(pix.AccountID), &amount); err != nil || (a.Refusal == nil) != (c.Amount == amount) {
			l.fail("%v: a credit of %d under %s: %v", r.account, c.Amount, c.Reference, a.Refusal)
		}
	case ledger.RequestRefund:
		l.refundHeard(r, &c, a)
	case ledger.DefendCase, ledger.CloseCase:
		l.caseHeard(r, c, a)
	case ledger.Subscribe, ledger.EndSubscription:
		l.subscribed(r, a)
	case ledger.TestSubscription:
		l.tested(r, c, a)
	case ledger.DecideApproval:
		if a.Refusal == nil && a.Tx.Payout.Decision != c.Word {
			l.fail("%v hears that %v is %v, of which it said %d", r.account, a.Tx.ID, a.Tx.Status, c.Word)
		}
	}
	if c, ok := r.make().(ledger.Credit); ok && a.Refusal == nil {
		l.credited[c.Reference] = true
	}
	if a.Tx != nil {
		l.answers = append(l.answers, answer{r.account, *a.Tx, a.Refusal != nil})
	}
	if a.Replay {
		l.count("answered: replay")
	}
	if a.Refusal != nil {
		l.count("refused: " + a.Refusal.Code.String())
	}
	if a.Replay {
		l.outlived(r, a)
	}
	if _, recall := r.make().(ledger.Recall); recall && a.Stored == nil {
		l.recalledNothing(r)
	} else if r.key != "" && a.Refusal == nil && (!r.atOnce || a.Replay) {
		l.compare(r, a)
	}
}

// showsHead records an account's head that a read or a change of settings has shown.
func (l *life) showsHead(r *request, head *ledger.Account) {
	l.reads = append(l.reads, *head)
	if c, ok := r.make().(ledger.ChangeSettings); ok && !same(head, &ledger.Account{Opened: head.Opened, Settings: c.Settings, Totals: head.Totals, Subscriptions: head.Subscriptions}) {
		l.fail("%v was given %+v and has %+v", head.ID, c.Settings, head.Settings)
	}
}

func describe(a *ledger.Answer) string {
	switch {
	case a.Refusal != nil:
		return a.Refusal.Code.String()
	case a.Stored != nil:
		return fmt.Sprintf("%d %s", a.Stored.Code, a.Stored.Body)
	case a.Case != nil:
		return fmt.Sprintf("%v is %v", a.Case.ID, a.Case.Status)
	case a.Tx != nil:
		return fmt.Sprintf("%v is %v", a.Tx.ID, a.Tx.Status)
	}
	return "nothing"
}

// outlived checks that an answer is not repeated for longer than a day. It checks only lives
// whose wall clock never jumps, and keys that were never used while engine time was doubted.
func (l *life) outlived(r *request, a *ledger.Answer) {
	k := l.kept[r.key]
	if k == nil || a.Stored == nil || l.jumpy || l.unsure[r.key] {
		return
	}
	for _, h := range k.claims {
		if h.body == string(a.Stored.Body) && r.at > h.first+day+clocksDiffer {
			l.fail("%v: %s is answered as it was %d ms ago", r.account, r.key, r.at-h.first)
		}
	}
}

// compare checks an answer under a key against the earlier answers under that key.
func (l *life) compare(r *request, a *ledger.Answer) {
	if a.Stored == nil {
		l.fail("%v: answered under %s, and nothing is kept", r.account, r.key)
		return
	}
	k := l.kept[r.key]
	if k == nil {
		k = &kept{request: r}
		l.kept[r.key] = k
	}
	k.hear(r.at, string(a.Stored.Body))
	if wrong := k.wrong(l.times[r.key], l.slack()); wrong != "" {
		l.fail("%v: %s %s", r.account, r.key, wrong)
	}
}

// answered reports whether the newest claim of a key was answered and is certainly less than
// a day old, so that the same answer must be given again.
func (l *life) answered(key string) bool {
	k := l.kept[key]
	return k != nil && l.clock < k.claimed(l.times[key], l.slack())+day-l.slack()
}

// slack is the number of ms by which a span of engine time may be shorter than the same span
// of simulated time. It is 0 where the wall clock never jumps.
func (l *life) slack() pix.Millis {
	if l.jumpy {
		return clocksDiffer
	}
	return 0
}
