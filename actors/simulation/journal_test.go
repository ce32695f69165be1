package simulation

import (
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// written is the state of the simulation at the moment when one record was made.
type written struct {
	at      pix.Millis   // simulated time at which the record was made
	terms   ledger.Terms // flags of the process that made the record
	doubted bool         // that process's engine time was doubted
	clock   pix.Millis   // that process's engine time
	start   pix.Millis   // that process's engine time at its start
	active  bool         // the account was active
	floor   pix.Millis   // time of the newest record that earlier processes had made
	repeats int          // how many payouts may be in flight under one end-to-end id
	durable uint64       // sequence of the account's newest record that was durable then
	last    bool         // it is the last record of its entry
}

// appended is an entry's ticket, and the sequence of its first record.
type appended struct {
	ticket wal.Ticket
	first  uint64
}

// observed is the journal that accounts append to. It notes the state of the simulation for
// each record, and sometimes makes the journal refuse an entry by giving the entry a wrong
// sequence.
type observed struct{ l *life }

// Append implements account.Journal.
func (o observed) Append(e *wal.Entry) wal.Ticket {
	l := o.l
	waiting := l.appended[e.Stream]
	for len(waiting) > 0 && waiting[0].ticket <= l.journal.Durable() {
		waiting = waiting[1:]
	}
	durable := e.Expect
	if len(waiting) > 0 {
		durable = waiting[0].first - 1
	}
	if len(e.Records) > 0 && l.living && (l.refuses || l.odds(l.mood.refuse)) {
		l.refuses = false
		l.count("fault: entry refused")
		l.say("an entry of %v is refused", e.Stream)
		e.Expect += 1 << 20
		l.unsettled[pix.AccountID(e.Stream)] = true
	}
	for i := range e.Records {
		l.written[recordName{e.Stream, e.Records[i].Seq}] = written{
			l.clock, l.terms, l.time.Doubted(), l.time.Now(), l.time.Read().Start, l.registry.Active(pix.AccountID(e.Stream)), l.floor, l.terms.MaxRepeats, durable, i == len(e.Records)-1,
		}
	}
	t := l.journal.Append(e)
	if len(e.Records) > 0 {
		waiting = append(waiting, appended{t, e.Records[0].Seq})
	}
	l.appended[e.Stream] = waiting
	return t
}

// Durable implements account.Journal.
func (o observed) Durable() wal.Ticket { return o.l.journal.Durable() }

// Tell implements account.Journal.
func (o observed) Tell(stream wal.Stream, outs []wal.Out) { o.l.journal.Tell(stream, outs) }

type recordName struct {
	stream wal.Stream
	seq    uint64
}

// trueTimeOf returns the state of the simulation when the record was made.
func (l *life) trueTimeOf(r *ledger.Record) written {
	return l.written[recordName{wal.Stream(r.Account), r.Seq}]
}

// expected is the value of a panic that the simulation itself causes in the renderer.
type expected struct{}

// renderer is the merchant API's renderer, except that it sometimes panics, at most once in
// 31 s of simulated time, so that the account is not quarantined.
type renderer struct{ l *life }

// Render implements account.Renderer.
func (r renderer) Render(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) {
	l := r.l
	if l.living && (l.odds(l.mood.panic) || l.panics) && l.clock-l.panicked > 31_000 {
		l.panics = false
		l.panicked = l.clock
		l.count("fault: panic in an account")
		panic(expected{})
	}
	return render(a, s)
}
