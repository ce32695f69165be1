package account

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/payout"
	"pixd/actors/scheme"
	"pixd/wal"
)

// world is a small life from a seed, in one goroutine: accounts' machines,
// payouts' machines, a scheme that drops, doubles, delays and refuses, and power
// cuts that take what was not durable. Beside it a model so plain that it
// cannot be wrong in the same way: a list of what happened.
type world struct {
	t     testing.TB
	rng   *rand.Rand
	now   ledger.Millis
	ids   uint64
	store *journal

	machines map[ledger.AccountID]*Machine
	carriers []*carrier
	scheme   map[ledger.TxID]*schemeRow
	holders  map[string]ledger.TxID
	notices  []scheme.Notice
	late     []scheme.Payment // submitted, and not there yet
	model    map[ledger.AccountID]*plain
	answered map[ledger.TxID]bool // payouts that were answered as accepted or settled
	config   *Config
}

// journal is the memory store with the entries that made it, so that a power
// cut can take the newest away again. Readers see the durable part alone: what
// a machine has just written it must know by itself.
type journal struct {
	*memory
	seen    *memory
	entries []wal.Entry
}

func newJournal() *journal { return &journal{memory: newMemory(), seen: newMemory()} }

func (j *journal) add(e *wal.Entry) wal.Ticket {
	j.entries = append(j.entries, *e)
	return j.append(e)
}

func (j *journal) visible() *memory {
	for j.seen.ticket < j.durable {
		j.seen.append(&j.entries[j.seen.ticket])
	}
	return j.seen
}

// Get implements Rows.
func (j *journal) Get(key []byte) ([]byte, bool, error) { return j.visible().Get(key) }

// Record implements Rows.
func (j *journal) Record(a ledger.AccountID, seq uint64) (*ledger.Record, error) {
	return j.visible().Record(a, seq)
}

// cut loses everything after the durable ticket.
func (j *journal) cut() {
	kept := j.entries[:j.durable]
	*j = *newJournal()
	for i := range kept {
		j.add(&kept[i])
	}
	j.durable = j.ticket
}

// plain is the model of one account: movements that are durable or not yet.
type plain struct {
	moves []move
}

type move struct {
	ticket  wal.Ticket
	balance ledger.Amount
	pending ledger.Amount
}

func (p *plain) sums() (balance, pending ledger.Amount) {
	for _, m := range p.moves {
		balance, pending = balance+m.balance, pending+m.pending
	}
	return balance, pending
}

type schemeRow struct {
	amount  ledger.Amount
	account ledger.AccountID
	state   scheme.State
}

// carrier is a payout's machine at work.
type carrier struct {
	account ledger.AccountID
	machine *payout.Machine
	act     payout.Act
	steps   int
	after   wal.Ticket // it starts once this is durable
}

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{
		config: &Config{Secret: testConfig.Secret, Render: renderForTest, HeadEvery: 8, Terms: testTerms, Recent: new(Recent)},
		t:      t, rng: rand.New(rand.NewPCG(seed, 1)), now: startOfTest, store: newJournal(),
		machines: map[ledger.AccountID]*Machine{}, scheme: map[ledger.TxID]*schemeRow{}, holders: map[string]ledger.TxID{},
		model: map[ledger.AccountID]*plain{}, answered: map[ledger.TxID]bool{},
	}
	for id := ledger.AccountID(1); id <= 3; id++ {
		w.machines[id] = newMachine(w.config, id)
		w.model[id] = &plain{}
		s := settingsOf(args{"out": "10", "out-bps": "30", "in-bps": "100", "window": "60000"})
		w.do(id, ledger.OpenAccount{Settings: s})
		w.do(id, ledger.Credit{Kind: ledger.TxTED, Amount: 1_000_000})
	}
	return w
}

func (w *world) draw() (c [10]byte) {
	w.ids++
	for i := range c {
		c[i] = byte(w.rng.Uint32())
	}
	c[0], c[1] = byte(w.ids>>8), byte(w.ids)
	return c
}

// do steps a machine and puts its entry into the journal.
func (w *world) do(id ledger.AccountID, c ledger.Command) Effects {
	m := w.machines[id]
	e, err := m.Step(w.store, Call{Command: c, Now: w.now, Chance: w.draw(), Durable: w.store.durable})
	if err != nil {
		w.t.Fatal(err)
	}
	w.take(id, m, &e)
	return e
}

func (w *world) take(id ledger.AccountID, m *Machine, e *Effects) {
	ticket := w.store.add(&e.Entry)
	m.Submitted(ticket)
	for _, s := range e.Entry.Records {
		r, err := w.store.memory.Record(id, s.Seq)
		if err != nil {
			w.t.Fatal(err)
		}
		w.note(id, ticket, r)
	}
	if e.Start != nil {
		p := payout.New(*e.Start)
		w.carriers = append(w.carriers, &carrier{account: id, machine: p, act: p.Begin(), after: ticket})
	}
	balance, pending := w.model[id].sums()
	if m.head.Totals.Balance != balance || m.head.Totals.Pending != pending {
		w.t.Fatalf("%v: balance %d pending %d, the model has %d and %d", id, m.head.Totals.Balance, m.head.Totals.Pending, balance, pending)
	}
}

// note tells the model what a record's own item says happened.
func (w *world) note(id ledger.AccountID, ticket wal.Ticket, r *ledger.Record) {
	m := move{ticket: ticket}
	switch r.Kind {
	case ledger.Credited:
		m.balance = r.Tx.Amount
	case ledger.PaymentReceived:
		m.balance = r.Tx.Amount - r.Tx.Amount/100 // amounts in the run are whole hundreds
	case ledger.PayoutHeld:
		m.pending = r.Tx.Amount + 10 + (r.Tx.Amount*30+5000)/10000
	case ledger.PayoutSettled:
		gross := r.Tx.Amount + 10 + (r.Tx.Amount*30+5000)/10000
		m.balance, m.pending = -gross, -gross
	case ledger.PayoutRejected, ledger.PayoutRefused, ledger.PayoutFailed:
		m.pending = -(r.Tx.Amount + 10 + (r.Tx.Amount*30+5000)/10000)
	default:
		return
	}
	w.model[id].moves = append(w.model[id].moves, m)
}

// turn is one thing that happens.
func (w *world) turn() {
	w.now += ledger.Millis(w.rng.IntN(2000))
	id := ledger.AccountID(1 + w.rng.IntN(3))
	switch n := w.rng.IntN(100); {
	case n < 6:
		w.do(id, ledger.CreateCharge{Amount: 100 * ledger.Amount(1+w.rng.IntN(50))})
	case n < 16:
		w.do(id, ledger.ReceivePayment{EndToEnd: endToEnd(fmt.Sprintf("%dx%d", id, w.rng.IntN(100))), Amount: 100 * ledger.Amount(1+w.rng.IntN(50)), Key: "k"})
	case n < 40:
		w.request(id)
	case n < 65:
		w.carry()
	case n < 78:
		w.settle()
	case n < 80:
		w.arrive()
	case n < 90:
		w.deliver()
	case n < 97:
		w.store.durable += wal.Ticket(w.rng.IntN(int(w.store.ticket-w.store.durable) + 1))
	default:
		w.crash()
	}
}

// request asks for a payout; few amounts and keys, so that many repeat.
func (w *world) request(id ledger.AccountID) {
	k, _ := ledger.ParseKey(ledger.KeyEmail, fmt.Sprintf("k%d@example.com", w.rng.IntN(4)))
	var claim *ledger.Claim
	if w.rng.IntN(2) == 0 {
		claim = &ledger.Claim{Scope: [16]byte{byte(w.rng.IntN(40))}}
	}
	w.do(id, ledger.RequestPayout{
		Amount: 100 * ledger.Amount(1+w.rng.IntN(8)), Key: k, Claim: claim,
	})
}

// carry takes one payout one act further.
func (w *world) carry() {
	if len(w.carriers) == 0 {
		return
	}
	i := w.rng.IntN(len(w.carriers))
	c := w.carriers[i]
	if c.after > w.store.durable {
		return // its hold is not durable: nothing may leave
	}
	c.steps++
	c.act = c.machine.Step(w.act(c))
	if c.act != payout.Report {
		return
	}
	w.carriers = append(w.carriers[:i], w.carriers[i+1:]...)
	e := w.do(c.account, c.machine.Outcome)
	if e.Outcome != nil && e.Outcome.Tx != nil && e.Outcome.Refusal == nil {
		w.answered[c.machine.Outcome.ID] = true
	}
}

// act is the scheme's side: it may lose what it is told, or its answer.
func (w *world) act(c *carrier) payout.Reply {
	r := payout.Reply{Expired: c.steps > 6}
	trouble := w.rng.IntN(10)
	switch c.act {
	case payout.Lookup:
		r.Failed = trouble == 0
		if trouble == 1 {
			r.Refused = &scheme.Refused{Code: ledger.RefuseKeyNotFound}
		}
		r.Owner = ledger.Owner{Name: "Ana", Document: "98765432100"}
	case payout.Submit:
		if trouble == 0 { // lost on the way there
			return payout.Reply{Failed: true, Expired: r.Expired}
		}
		if trouble == 3 { // on its way for a while yet
			w.late = append(w.late, c.machine.Payment())
			return payout.Reply{Failed: true, Expired: r.Expired}
		}
		if trouble == 1 {
			r.Refused = &scheme.Refused{Code: ledger.RefuseProvider}
			if w.scheme[c.machine.Payment().Tx] != nil {
				r.Refused = nil // it was taken before: the same answer again
			}
		}
		if r.Refused == nil {
			r.State = w.submit(c.machine.Payment())
			r.Failed = trouble == 2 // lost on the way back
		}
	case payout.Ask:
		r.Failed = trouble < 2
		if row := w.scheme[c.machine.Payment().Tx]; row != nil {
			r.State = row.state
		}
	}
	return r
}

func (w *world) submit(p scheme.Payment) scheme.State {
	row := w.scheme[p.Tx]
	if row == nil {
		row = &schemeRow{amount: p.Amount, account: p.Account, state: scheme.State{Progress: scheme.Pending}}
		w.scheme[p.Tx] = row
		if holder, held := w.holders[p.EndToEnd]; held && holder != p.Tx {
			w.finish(p.Tx, scheme.State{Progress: scheme.Rejected, Reason: "DUPL"}, p.EndToEnd)
		} else {
			w.holders[p.EndToEnd] = p.Tx
		}
	}
	return row.state
}

// arrive lets a late submission reach the scheme.
func (w *world) arrive() {
	if len(w.late) > 0 {
		w.submit(w.late[0])
		w.late = w.late[1:]
	}
}

func (w *world) finish(tx ledger.TxID, s scheme.State, endToEnd string) {
	w.scheme[tx].state = s
	n := scheme.Notice{Kind: scheme.PaymentSettled, Tx: tx, EndToEnd: endToEnd}
	if s.Progress == scheme.Rejected {
		n.Kind, n.Reason = scheme.PaymentRejected, s.Reason
	}
	w.notices = append(w.notices, n, n) // at least once: twice
}

// settle ends one payment at the scheme.
func (w *world) settle() {
	for _, e2e := range sortedKeys(w.holders) {
		tx := w.holders[e2e]
		if row := w.scheme[tx]; row != nil && row.state.Progress == scheme.Pending && w.rng.IntN(4) == 0 {
			s := scheme.State{Progress: scheme.Settled}
			if w.rng.IntN(5) == 0 {
				s = scheme.State{Progress: scheme.Rejected, Reason: "AC03"}
			}
			w.finish(tx, s, e2e)
			return
		}
	}
}

// deliver hands one notice over, in any order; it is acknowledged, and not sent
// again, only once its effect is durable.
func (w *world) deliver() {
	if len(w.notices) == 0 {
		return
	}
	i := w.rng.IntN(len(w.notices))
	n := w.notices[i]
	w.notice(n)
	if w.rng.IntN(2) == 0 {
		w.store.durable = w.store.ticket
		w.notices = append(w.notices[:i], w.notices[i+1:]...)
	}
}

func (w *world) notice(n scheme.Notice) {
	c := ledger.ResolvePayout{ID: n.Tx, EndToEnd: n.EndToEnd, Result: ledger.PayoutIsSettled}
	if n.Kind == scheme.PaymentRejected {
		c.Result, c.Reason = ledger.PayoutIsRejected, n.Reason
	}
	w.do(w.scheme[n.Tx].account, c)
}

// crash takes the process and what was not durable; what comes back is made of
// the journal alone.
func (w *world) crash() {
	w.store.cut()
	w.carriers = nil
	w.config.Recent = new(Recent)
	for id := ledger.AccountID(1); id <= 3; id++ {
		m, err := Restore(w.config, id, w.store)
		if err != nil {
			w.t.Fatal(err)
		}
		w.machines[id] = m
		p := w.model[id]
		n := 0
		for n < len(p.moves) && p.moves[n].ticket <= w.store.durable {
			n++
		}
		p.moves = p.moves[:n]
		balance, pending := p.sums()
		if m.head.Totals.Balance != balance || m.head.Totals.Pending != pending {
			w.t.Fatalf("%v restored with %+v, the model has %d and %d", id, m.head.Totals, balance, pending)
		}
	}
	w.resume()
}

// resume starts the children of what is held, from the due rows.
func (w *world) resume() {
	for _, k := range sortedKeys(w.store.rows) {
		if k[0] != 'd' {
			continue
		}
		_, id, tx, err := ledger.DecodeDueKey([]byte(k))
		if err != nil {
			w.t.Fatal(err)
		}
		_, seq, err := ledger.DecodeDueRow(w.store.rows[k])
		if err != nil {
			w.t.Fatal(err)
		}
		e, _, err := w.machines[id].Visit(w.store, Visit{ID: tx, Seq: seq, Now: w.now, Durable: w.store.durable})
		if err != nil {
			w.t.Fatal(err)
		}
		w.take(id, w.machines[id], &e)
	}
}

// end lets everything that is open come to its end.
func (w *world) end() {
	w.store.durable = w.store.ticket
	w.crash() // the last one: whatever is held is picked up
	for len(w.carriers) > 0 {
		w.store.durable = w.store.ticket
		w.carry()
	}
	for len(w.late) > 0 {
		w.arrive()
	}
	for _, e2e := range sortedKeys(w.holders) {
		if row := w.scheme[w.holders[e2e]]; row.state.Progress == scheme.Pending {
			w.finish(w.holders[e2e], scheme.State{Progress: scheme.Settled}, e2e)
		}
	}
	for _, n := range w.notices {
		w.notice(n)
	}
	w.store.durable = w.store.ticket
}

// check is what must be true of a life that has ended.
func (w *world) check() {
	sent := map[ledger.AccountID]ledger.Amount{}
	for _, row := range w.scheme {
		if row.state.Progress == scheme.Settled {
			sent[row.account] += row.amount
		}
	}
	for id, m := range w.machines {
		settled, inFlight := w.book(id)
		if settled != sent[id] {
			w.t.Errorf("%v: settled %d here, %d at the scheme", id, settled, sent[id])
		}
		if rows := w.waiting(id); rows != inFlight {
			w.t.Errorf("%v: %d due rows for %d payouts in flight", id, rows, inFlight)
		}
		if (inFlight == 0) != (m.head.Totals.Pending == 0) {
			w.t.Errorf("%v: pending %d with %d payouts in flight", id, m.head.Totals.Pending, inFlight)
		}
	}
	if got, want := w.store.dump('h'), w.store.rebuilt().dump('h'); got != want {
		w.t.Error("rows written and rows rebuilt from the records differ")
	}
}

// waiting counts an account's due rows, and holds each against an open row.
func (w *world) waiting(id ledger.AccountID) (n int) {
	for _, k := range sortedKeys(w.store.rows) {
		if k[0] != 'd' {
			continue
		}
		_, owner, tx, err := ledger.DecodeDueKey([]byte(k))
		if err != nil {
			w.t.Fatal(err)
		}
		if owner != id {
			continue
		}
		n++
		if _, ok := w.store.rows[string(ledger.OpenKey(id, tx))]; !ok {
			w.t.Errorf("%v: %v waits without being open", id, tx)
		}
	}
	return n
}

// book reads an account's payouts from its records alone.
func (w *world) book(id ledger.AccountID) (settled ledger.Amount, inFlight int) {
	state := map[ledger.TxID]*ledger.Transaction{}
	for _, r := range w.store.records[wal.Stream(id)] {
		got, err := w.store.Record(id, r.Seq)
		if err != nil {
			w.t.Fatal(err)
		}
		if got.Tx != nil && got.Tx.Kind == ledger.TxPayout {
			state[got.Tx.ID] = got.Tx
		}
	}
	for tx, t := range state {
		switch {
		case t.Status == ledger.StatusSettled:
			settled += t.Amount
		case t.Status.InFlight():
			// Accepted in doubt and never arrived: the orphan rule's work.
			if row := w.scheme[tx]; row != nil {
				w.t.Errorf("%v: %v is in flight here and %v at the scheme", id, tx, row.state)
			}
			inFlight++
		case w.scheme[tx] != nil && w.scheme[tx].state.Progress == scheme.Settled:
			w.t.Errorf("%v: %v is final here and settled at the scheme", id, tx)
		}
		if w.answered[tx] && t.Status == ledger.StatusRefused {
			w.t.Errorf("%v: %v was answered and is refused", id, tx)
		}
	}
	return settled, inFlight
}

func (w *world) hash() [32]byte {
	h := sha256.New()
	h.Write([]byte(w.store.dump(0)))
	for id := range wal.Stream(4) {
		for _, r := range w.store.records[id] {
			fmt.Fprintf(h, "%d %d %x\n", r.Seq, r.Sum, r.Body)
		}
	}
	return [32]byte(h.Sum(nil))
}

func live(t testing.TB, seed uint64, turns int) *world {
	w := newWorld(t, seed)
	for range turns {
		w.turn()
	}
	w.end()
	w.check()
	return w
}

// TestWorld lives many lives and compares each with the model at every step.
func TestWorld(t *testing.T) {
	settled, crashes := 0, 0
	for seed := range uint64(300) {
		w := live(t, seed, 400)
		for _, row := range w.scheme {
			if row.state.Progress == scheme.Settled {
				settled++
			}
		}
		crashes++
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if settled < 1000 {
		t.Errorf("only %d payouts settled in %d lives: the lives are too dull", settled, crashes)
	}
}

// TestWorldRepeats: the same seed gives the same bytes, another gives others.
func TestWorldRepeats(t *testing.T) {
	for seed := range uint64(20) {
		first, second := live(t, seed, 300).hash(), live(t, seed, 300).hash()
		if first != second {
			t.Fatalf("seed %d made two different journals", seed)
		}
		if first == live(t, seed+1000, 300).hash() {
			t.Fatalf("seeds %d and %d made the same journal", seed, seed+1000)
		}
	}
}
