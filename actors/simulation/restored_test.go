package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"strings"

	"pixd/actors/history"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/wal"
)

// restore restores a snapshot beside the life, which stands still meanwhile, and lets the
// restored engine live for a while: with the scheme as it is now, and with customers and merchants
// who know what they knew when the snapshot was taken.
func (l *life) restore(t *taken) {
	l.catchUp(t)
	f := l.restoredLife(t)
	f.gap = newGap(l, t)
	f.say("restored at position %d, %d ms later", t.position, l.clock-t.clock)
	l.count("restored: lives")
	f.asTaken()
	f.refusedUnaccepted()
	if len(f.wrong) == 0 {
		f.contained(f.beginAgain)
	}
	if len(f.wrong) == 0 {
		f.goOn()
	}
	for what, n := range f.seen {
		if strings.HasPrefix(what, "restored: ") {
			l.seen[what] += n
		}
	}
	l.story.WriteString(f.story.String())
	for _, wrong := range f.wrong {
		l.wrong = append(l.wrong, "restored: "+wrong)
	}
}

// restoredLife returns a life on the copy of the journal. No process runs in it yet.
func (l *life) restoredLife(t *taken) *life {
	f := &life{
		seed: l.seed, tells: l.tells, rng: rand.New(rand.NewPCG(l.seed, 7)), journal: t.journal, clock: l.clock, skew: l.skew,
		seen: map[string]int{}, written: maps.Clone(l.written), flipped: map[pix.AccountID]bool{}, tries: map[pix.TxID]int{},
		bounds: l.bounds, jumpy: true, dropped: l.dropped, drawn: l.drawn + 1<<32, people: t.people, hooks: t.hooks, copies: &copies{take: -1}, keys: newKeys(l.seed),
	}
	f.lives, f.time = l.lives, f.engineTime()
	f.mood = f.drawMood()
	f.mood.flip, f.mood.steps = 0, 20+f.rng.IntN(40)
	f.outside = l.outside.copied(f, t)
	return f
}

// copied returns the scheme as it is now, for a restored engine. What is on the wire is lost; the
// scheme tells again what nobody has acknowledged.
func (o *outside) copied(l *life, t *taken) *outside {
	c := &outside{
		l: l, gone: o.gone, sent: t.sent, paid: maps.Clone(o.paid),
		unanswered: maps.Clone(o.unanswered), reports: maps.Clone(o.reports), reported: append([]string(nil), o.reported...), book: o.book,
	}
	for _, endToEnd := range o.received {
		if _, there := t.last[o.paid[endToEnd].account]; there {
			c.received = append(c.received, endToEnd)
		}
	}
	c.book.Store = prompt{o.book.Store.(prompt).Checkpoint()}
	c.book.Now, c.book.Entropy = func() pix.Millis { return l.clock }, l.entropy
	c.open()
	return c
}

// asTaken checks that the copy is what was durable at its position: the manifest, all accounts,
// all lists, and that its rows are those that its records make.
func (l *life) asTaken() {
	t := l.gap.taken
	balance, pending, held, accounts := new(big.Int), new(big.Int), new(big.Int), 0
	for id, last := range t.last {
		seq, _, err := l.journal.Last(wal.Stream(id))
		if err != nil || seq != last {
			l.fail("%v has %d records, and %d were durable: %v", id, seq, last, err)
			return
		}
		if seq == 0 {
			continue
		}
		accounts++
		totals := t.totals[id]
		balance.Add(balance, big.NewInt(int64(totals.Balance)))
		pending.Add(pending, big.NewInt(int64(totals.Held)))
		held.Add(held, big.NewInt(int64(totals.MEDHeld)))
		if r, err := (rows{l.journal}).Record(id, seq); err != nil || r.Totals != totals {
			l.fail("%v had %+v: %+v %v", id, totals, r, err)
		}
		l.listsAsTaken(id)
	}
	if s := t.sums; s.Accounts != accounts || s.Balance.Cmp(balance) != 0 || s.Pending.Cmp(pending) != 0 || s.MEDHeld.Cmp(held) != 0 {
		l.fail("the manifest says %+v, the accounts have %v, %v and %v", s, balance, pending, held)
	}
	l.batchesAsTaken()
	if err := l.compareRows(); err != nil {
		l.fail("derived rows: %v", err)
	}
}

// batchesAsTaken checks that the position that was noted is that of the copy's newest batch.
func (l *life) batchesAsTaken() {
	newest := []byte(nil)
	_ = l.journal.ScanBack(wal.BatchKey(0), wal.BatchKey(1<<62), func(k, _ []byte) (bool, error) {
		newest = bytes.Clone(k)
		return false, nil
	})
	if !bytes.Equal(newest, wal.BatchKey(l.gap.taken.position)) {
		l.fail("the snapshot is at position %d, and its newest batch is %x", l.gap.taken.position, newest)
	}
}

// listsAsTaken compares an account's lists with what the records said when the copy was made.
func (l *life) listsAsTaken(id pix.AccountID) {
	t := l.gap.taken
	h, all := history.Over(&lists{l.journal, func() {}}), layout.Page{Number: 1, Size: 1 << 20}
	statement, err := h.Statement(id, layout.Filter{}, all)
	shown, more := h.Transactions(id, "", layout.Filter{}, all)
	if err := errors.Join(err, more); err != nil {
		l.fail("lists of %v: %v", id, err)
	}
	for _, c := range []struct {
		name     string
		has, had []*ledger.Transaction
	}{
		{"statement", statement, l.statement(t.listed[id], layout.Filter{}, all)},
		{"list", shown, l.transactions(t.listed[id], layout.Filter{}, all)},
	} {
		if has, had := fmt.Sprint(recorded(c.has)), fmt.Sprint(recorded(c.had)); has != had {
			l.fail("the %s of %v is %v, and was %v", c.name, id, has, had)
		}
	}
	l.casesAsTaken(id, h)
}

// casesAsTaken compares an account's cases, and the number of its subscriptions, with what the
// records said when the copy was made.
func (l *life) casesAsTaken(id pix.AccountID, h *history.History) {
	t := l.gap.taken
	cases, err := h.Cases(id, 0, 1, 1<<20)
	subscriptions, more := h.AllSubscriptions(id, nil, 1<<20)
	if err := errors.Join(err, more); err != nil {
		l.fail("cases and subscriptions of %v: %v", id, err)
	}
	for _, k := range cases {
		if was := t.cases[k.ID]; was.Status != k.Status || was.Held != k.Held || was.Refunded != k.Refunded || was.DueAt != k.DueAt {
			l.fail("%v is %+v, and was %+v", k.ID, *k, was)
		}
	}
	if n := int(t.totals[id].Cases); n != len(cases) {
		l.fail("%v has %d cases, and had %d", id, len(cases), n)
	}
	if n := int(t.totals[id].Subscriptions); len(subscriptions.Entries) != n {
		l.fail("%v has %d subscriptions, and had %d", id, len(subscriptions.Entries), n)
	}
}

// recorded names transactions by the records that have their newest state.
func recorded(all []*ledger.Transaction) (names []string) {
	for _, t := range all {
		names = append(names, fmt.Sprint(t.ID, " ", t.Record()))
	}
	return names
}

// refusedUnaccepted marks the journal as restored, and checks that no engine starts on it unless
// an operator accepts the gap.
func (l *life) refusedUnaccepted() {
	t := l.gap.taken
	op, err := (&restored.Mark{Position: t.position, Newest: pix.Millis(t.newest), Taken: t.at, Restored: l.clock}).Op()
	if err != nil {
		l.fail("mark: %v", err)
	}
	l.journal.Append(&wal.Entry{Ops: []wal.Op{op}, Shared: true})
	l.journal.Settle()
	var unaccepted *restored.Unaccepted
	m, err := restored.Find(l.journal)
	if err != nil || m == nil {
		l.fail("the mark of a restored journal: %v %v", m, err)
		return
	}
	u := restored.Use{Rows: l.hookRows(), Now: l.clock, Most: 1, Write: func([]wal.Op) error { return errors.New("a refused start writes") }}
	_, err = u.Take(m, errLost, false, wal.Op{})
	if !errors.As(err, &unaccepted) || unaccepted.Position != t.position {
		l.fail("a restored journal starts without acceptance: %v", err)
	}
}

// accept takes the restored journal into use. The power may be cut meanwhile, again and again.
func (l *life) accept() {
	most, before := [...]int{500, 2, 1}[l.rng.IntN(3)], l.epoch()
	for cuts := l.rng.IntN(3); ; cuts-- {
		left := 1 + l.rng.IntN(4)
		m, err := restored.Find(l.journal)
		if err != nil {
			l.fail("the mark of a restored journal: %v", err)
			return
		}
		if m == nil {
			break // the acceptance was durable before the cut
		}
		u := restored.Use{Rows: l.hookRows(), Now: l.engineTime().Stamp(), Most: most, Write: func(ops []wal.Op) error {
			l.journal.Append(&wal.Entry{Ops: ops, Shared: true})
			if left--; cuts > 0 && left == 0 {
				l.count("restored: crashes in an acceptance")
				l.journal.Commit(0)
				l.journal = l.journal.Crash(l.odds(2))
				return errDisk
			}
			l.journal.Settle()
			return nil
		}}
		a, err := u.Take(m, errLost, true, wal.Op{})
		if err != nil && !errors.Is(err, errDisk) {
			l.fail("acceptance: %v", err)
			return
		}
		if err == nil {
			l.say("accepted: %+v", a)
			break
		}
	}
	if m, err := restored.Find(l.journal); m != nil || err != nil || l.epoch() != before+1 {
		l.fail("a restored journal was accepted: it has the mark %v (%v), and epoch %d after %d", m, err, l.epoch(), before)
	}
}

func (l *life) epoch() uint64 {
	n, err := restored.Epoch(l.journal)
	if err != nil {
		l.fail("epoch: %v", err)
	}
	return n
}
