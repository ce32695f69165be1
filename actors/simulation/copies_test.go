package simulation

import (
	"maps"
	"math/rand/v2"
	"slices"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/wal"
	"pixd/wal/waltest"
)

// copies says when a life's journal is copied and restored. Its random choices are its own, so
// that a life with copies is otherwise the same as without.
type copies struct {
	rng    *rand.Rand
	take   int // the turn after which a snapshot is taken; -1: never
	moment int // what it waits for then; see isMoment
	lives  int // the process that runs at the turn take
	wait   int // turns until it is restored; -1: it is restored at the end of the life
	taken  *taken

	instead bool // a payout waits in the snapshot, fails after it, and another one is requested
}

// newCopies draws when the journal is copied and restored, in one life of four.
func newCopies(l *life) *copies {
	c := &copies{rng: rand.New(rand.NewPCG(l.seed, 6)), take: -1}
	if c.rng.IntN(4) != 0 || l.mood.flip > 0 {
		return c
	}
	c.instead = rand.New(rand.NewPCG(l.seed, 8)).IntN(3) == 0
	c.take, c.moment = c.rng.IntN(l.mood.steps), c.rng.IntN(5)
	switch c.wait = c.rng.IntN(l.mood.steps - c.take); c.rng.IntN(6) {
	case 0:
		c.wait = 0
	case 1:
		c.wait = -1
	}
	return c
}

// after takes a snapshot after a turn, or restores it, where it is time for that.
func (c *copies) after(l *life, turn int) {
	if c.take == -1 || turn < c.take {
		return
	}
	if c.taken == nil {
		if turn == c.take {
			c.lives = l.lives
		}
		if l.journal.Err() == nil && (c.isMoment(l) || turn > c.take+100) {
			if c.instead {
				c.taken = l.requestedInstead()
			}
			if c.instead = false; c.taken == nil {
				c.taken = l.snapshot()
			}
		}
		return
	}
	if c.wait--; c.wait == -1 {
		l.restore(c.taken)
		c.take = -1
	}
}

// isMoment reports whether what the snapshot waits for is there: a crash just now, a batch that
// readers see and that is not durable, or a delivery that failed and waits.
func (c *copies) isMoment(l *life) bool {
	switch c.moment {
	case 0:
		return c.lives != l.lives
	case 1:
		_, unsynced := l.journal.Waiting()
		return unsynced
	case 2:
		for _, d := range l.hooks.known {
			if d.now.state == layout.DeliveryPending && d.now.attempts > 0 {
				return true
			}
		}
		return !l.hooks.wanted
	}
	return true
}

// atEnd restores what was not restored before.
func (c *copies) atEnd(l *life) {
	if c.take != -1 && c.taken != nil && len(l.wrong) == 0 {
		l.count("restored: at the end of the life")
		l.restore(c.taken)
	}
}

// taken is a snapshot, and what the simulation knew of the journal when it was taken.
type taken struct {
	journal  *waltest.InMemory // the copy
	sums     restored.Sums     // what its manifest says
	position uint64
	newest   int64
	at       pix.Millis // engine time
	clock    pix.Millis
	secret   []byte
	last     map[pix.AccountID]uint64 // sequence of each account's newest durable record
	totals   map[pix.AccountID]ledger.Totals
	listed   map[pix.AccountID][]*ledger.Transaction // in their newest durable records
	cases    map[pix.CaseID]ledger.Case
	status   map[pix.TxID]pix.TxStatus
	endToEnd map[pix.TxID]string
	prints   map[pix.Fingerprint]bool // of all payouts
	sent     map[pix.TxID]string
	people   people
	hooks    *hooks
}

// snapshot copies the journal as the engine does while it works on: the copy has what is durable,
// and what the manifest says is read from the copy.
func (l *life) snapshot() *taken {
	dup := l.journal.Checkpoint()
	position, newest, _ := dup.Head()
	sums, err := restored.SumsOf(dup.Newest)
	if err != nil {
		l.fail("snapshot: %v", err)
	}
	t := &taken{
		journal: dup, sums: sums, position: position, newest: newest, at: l.now(), clock: l.clock, secret: l.terms.Secret,
		last: map[pix.AccountID]uint64{}, totals: map[pix.AccountID]ledger.Totals{}, listed: map[pix.AccountID][]*ledger.Transaction{},
		cases: map[pix.CaseID]ledger.Case{}, status: map[pix.TxID]pix.TxStatus{}, endToEnd: map[pix.TxID]string{}, prints: map[pix.Fingerprint]bool{},
		sent: maps.Clone(l.outside.sent), people: l.people.copied(), hooks: l.hooks.copied(),
	}
	for id := range l.all() {
		if t.last[id] = l.durableOf(id); t.last[id] > 0 {
			t.note(l, id)
		}
	}
	l.countSnapshot()
	l.say("snapshot at position %d", position)
	return t
}

// countSnapshot counts a snapshot by what was under way when it was taken.
func (l *life) countSnapshot() {
	l.count("restored: snapshots taken")
	if _, unsynced := l.journal.Waiting(); unsynced {
		l.count("restored: snapshots with rows that are not durable")
	}
	if len(l.children) > 0 {
		l.count("restored: snapshots with work in flight")
	}
	if l.time.Doubted() {
		l.count("restored: snapshots under a doubted clock")
	}
}

// note notes what the durable records of an account say.
func (t *taken) note(l *life, id pix.AccountID) {
	newest := map[pix.TxID]*ledger.Transaction{}
	l.recordsOf(id, 1, t.last[id], func(r *ledger.Record) {
		t.totals[id] = r.Totals
		if r.Case != nil {
			t.cases[r.Case.ID] = *r.Case
		}
		if r.Tx == nil {
			return
		}
		newest[r.Tx.ID], t.status[r.Tx.ID], t.endToEnd[r.Tx.ID] = r.Tx, r.Tx.Status, r.Tx.EndToEnd
		if r.Kind == ledger.PayoutHeld {
			t.prints[printOf(r)] = true
		}
	})
	t.listed[id] = slices.Collect(maps.Values(newest))
}

func printOf(r *ledger.Record) pix.Fingerprint {
	return pix.Fingerprint{Account: r.Account, Amount: r.Tx.Amount, KeyType: r.Tx.Payout.Key.Type, Key: r.Tx.Payout.Key.Value}
}

// recordsOf calls fn with an account's records from one sequence to another.
func (l *life) recordsOf(id pix.AccountID, from, to uint64, fn func(*ledger.Record)) {
	for seq := from; seq <= to; seq++ {
		r, err := rows{l.journal}.Record(id, seq)
		if err != nil {
			l.fail("record %d of %v: %v", seq, id, err)
			return
		}
		fn(r)
	}
}

// durableOf returns the sequence of an account's newest durable record, by the tickets of its
// entries.
func (l *life) durableOf(id pix.AccountID) uint64 {
	last, _, err := l.journal.Last(wal.Stream(id))
	if err != nil {
		l.fail("%v: %v", id, err)
	}
	for _, e := range l.appended[wal.Stream(id)] {
		if e.ticket > l.journal.Durable() {
			last = min(last, e.first-1)
		}
	}
	return last
}

// copied returns what the people know, for a copy of the life: its own requests change nothing
// here. Requests that wait get no answer from a restored journal.
func (p *people) copied() people {
	c := *p
	c.asked, c.numbers = nil, p.numbers+1_000_000
	c.answers, c.cases, c.reads, c.replays = slices.Clone(p.answers), slices.Clone(p.cases), slices.Clone(p.reads), slices.Clone(p.replays)
	c.credited, c.unsure = maps.Clone(p.credited), maps.Clone(p.unsure)
	c.entries = entries{maps.Clone(p.pixKeys), maps.Clone(p.apiKeys), maps.Clone(p.turned), maps.Clone(p.own)}
	c.kept, c.times = map[string]*kept{}, map[string][]pix.Millis{}
	for key, k := range p.kept {
		c.kept[key] = &kept{k.request, slices.Clone(k.claims)}
	}
	for key, at := range p.times {
		c.times[key] = slices.Clone(at)
	}
	return c
}

// copied returns what is known of the webhooks and durable.
func (h *hooks) copied() *hooks {
	c := *h
	c.targets, c.names, c.ids = slices.Clone(h.targets), slices.Clone(h.names), maps.Clone(h.ids)
	c.made, c.known = map[layout.Target]*subscriber{}, map[deliveryName]*hookDelivery{}
	for t, s := range h.made {
		dup := *s
		c.made[t] = &dup
	}
	for name, d := range h.known {
		dup := *d
		dup.next, dup.busy, dup.soon = nil, false, 0
		c.known[name] = &dup
	}
	return &c
}
