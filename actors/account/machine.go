package account

import (
	"fmt"

	"pixd/actors/keyed"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/transfer"
	"pixd/wal"
)

// Config is the configuration that all accounts' machines share.
type Config struct {
	Renderer Renderer
	// HeadEvery is how many records lie between two head rows. The value is fixed when the
	// store is created.
	HeadEvery uint64
	// Terms are the service's terms, the same for all accounts.
	Terms ledger.Terms
	// Recent holds recently accepted payouts and refunds of all accounts.
	Recent *Recent
	// Present is a filter over the keys of all rows for which layout.MostlyAbsent is true. It
	// saves most reads of keys that do not exist. Nil: every key is read from the store.
	Present *keyed.Filter
	// Alerts writes and reports alerts to the operators; nil: the machine raises no alerts.
	Alerts Alerts
	// KeyIsOurs tells whether a PIX key is registered here; nil: none is.
	KeyIsOurs func(key string) bool
	// Webhooks delivers events to the merchants' subscriptions; nil: nothing is delivered.
	Webhooks Webhooks
	// Claims are filters over the idempotency claims of those hours that this process has
	// run through from beginning to end. Most requests have a new key, and for them the
	// filters save the read of the store. Nil: every claim is read from the store.
	Claims *keyed.Hours
}

// Alerts writes and reports alerts to the operators.
type Alerts interface {
	// Row makes the row of an alert that a decision raises. The row is written in one entry
	// with the decision's records.
	Row(id pix.AccountID, a ledger.Alert, at pix.Millis) wal.Op
	// Raised counts and logs an alert whose row is durable.
	Raised(id pix.AccountID, a ledger.Alert)
	ledger.Alerts
}

// Webhooks delivers events to the merchants' subscriptions.
type Webhooks interface {
	// Emitted is called once a record is durable that causes events for subscriptions, or that
	// is about a subscription. It does not block.
	Emitted(r *ledger.Record)
}

// Renderer makes the answers that are stored under idempotency claims.
type Renderer interface {
	// Render is pure. It returns false for an answer that may not be stored.
	Render(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool)
}

// Call is one command, with the time, entropy and journal state that the machine cannot
// read itself.
type Call struct {
	Command ledger.Command
	Now     pix.Reading // the clock; where Now.Time is earlier than the account's newest record, Step uses that record's time
	Entropy [10]byte
	Durable wal.Ticket // every entry up to this ticket is durable
	// Inactive says that the account is inactive. The shell sets it only for commands for
	// which ledger.Traits.NeedsActive is set.
	Inactive bool
}

// Machine is one account: its head, its rows and records that are not durable yet, and the
// payouts and refunds that child actors carry to the scheme. It has no goroutine, clock or I/O: it
// takes one call and returns a journal entry and effects.
type Machine struct {
	config  *Config
	head    ledger.Account
	sum     uint64 // checksum of the newest record
	headAt  uint64 // sequence of the newest head row
	overlay overlay
	equals  equals
	behind  pix.Amount                       // see ledger.Reader.OwedBehind
	work    map[pix.TxID]*ledger.Transaction // newest state of each payout or refund that a child actor carries; nil where there is none

	// The records and rows of the last Step, until Submitted takes them.
	records []ledger.Record
	rows    []layout.Row
	before  ledger.Totals // the head's totals before those records
}

func newMachine(c *Config, id pix.AccountID) *Machine {
	return &Machine{config: c, head: ledger.Account{ID: id}}
}

// Opened tells whether the account has its first record, the one that opens it.
func (m *Machine) Opened() bool { return m.head.Seq > 0 }

// Resting tells whether the account is idle: no child actor carries one of its payouts, and
// everything that it wrote is durable.
func (m *Machine) Resting(durable wal.Ticket) bool {
	m.overlay.forget(durable)
	return len(m.work) == 0 && m.overlay.empty()
}

// Trim frees the memory that an idle account does not need. It returns false where the
// account is not idle.
func (m *Machine) Trim(durable wal.Ticket) bool {
	if !m.Resting(durable) {
		return false
	}
	m.overlay, m.work, m.equals = overlay{}, nil, equals{}
	return true
}

// Step carries one command out in memory. After an error nothing has changed; the error is
// an infrastructure error (a row could not be read) or one that Gather returns.
func (m *Machine) Step(rows Rows, c Call) (wal.Entry, []Effect, error) {
	m.overlay.forget(c.Durable)
	now := c.Now
	now.Time = max(now.Time, m.head.Time)
	stamp := ledger.Stamp{
		Reading: now, ID: pix.NewTxID(now.Time, c.Entropy), Terms: m.config.Terms, Durable: m.durable(), Inactive: c.Inactive,
	}
	facts, err := ledger.Gather(&reader{m, rows}, &m.head, c.Command, stamp)
	if err != nil {
		return wal.Entry{}, nil, err
	}
	d := m.head.Decide(facts, stamp)
	m.keep(&d)
	e := m.write(d.Records)
	if m.config.Alerts != nil {
		for _, a := range d.Alerts {
			e.Ops = append(e.Ops, m.config.Alerts.Row(m.head.ID, a, now.Time))
		}
	}
	return e, m.effects(&d), nil
}

// durable returns the account's totals after its newest durable record.
func (m *Machine) durable() ledger.Totals {
	if m.overlay.empty() {
		return m.head.Totals
	}
	return m.overlay.durable
}

// job makes a child actor's job: the payout or refund, its goal, and the account's rule about which
// recipients are forbidden.
func (m *Machine) job(l ledger.Launch) transfer.Job {
	j := transfer.Job{Account: m.head.ID, Tx: l.Tx, Goal: l.Goal}
	if settings := m.head.Settings; settings.BlockCNPJOut {
		j.Refuses = settings.RefusesPayoutTo
	}
	return j
}

// keep renders the answer to a request with an idempotency claim and puts it into the
// record that stores the claim's answer. The answer shows the newest state of the record's
// own transaction, even where the decision is also about another transaction.
func (m *Machine) keep(d *ledger.Decision) {
	for i := range d.Records {
		r := &d.Records[i]
		if r.Claim == nil || r.Stored != nil || r.Kind != ledger.AnswerKept && !r.Kind.Answers() {
			continue
		}
		reported := d.Answer
		if r.Tx != nil {
			reported.Tx = newest(d.Records[i:], r.Tx.ID)
		}
		stored, ok := m.config.Renderer.Render(&reported, r.Claim.Style)
		if !ok {
			panic(fmt.Sprintf("account %v: %v answers a claim with %d", m.head.ID, r.Kind, stored.Code))
		}
		r.Stored = &stored
		d.Stored = r.Stored
	}
}

// newest returns a transaction's state after records, a list of one decision's records: its
// state in the last of them that is about it; nil where none is about it.
func newest(records []ledger.Record, id pix.TxID) (t *ledger.Transaction) {
	for i := range records {
		if r := &records[i]; r.Tx != nil && r.Tx.ID == id {
			t = r.Tx
		}
	}
	return t
}

// bodyRoom is enough for the bodies of most records.
const bodyRoom = 480

// write applies the records to the head and makes their journal entry. A record that cannot
// be applied is a bug in the engine and panics.
func (m *Machine) write(records []ledger.Record) wal.Entry {
	m.records, m.rows, m.before = records, m.rows[:0:0], m.head.Totals
	e := wal.Entry{Stream: wal.Stream(m.head.ID), Expect: m.head.Seq}
	if len(records) == 0 {
		return e
	}
	e.Records = make([]wal.Sealed, 0, len(records))
	for i := range records {
		r := &records[i]
		if err := m.head.Apply(r); err != nil {
			panic(err)
		}
		s := wal.Finish(m.sum, e.Stream, r.Seq, r.Append(wal.Begin(uint8(r.Kind), int64(r.Time), bodyRoom)))
		m.sum = s.Sum
		e.Records = append(e.Records, s)
		m.rows = ledger.Project(m.rows, r)
		m.follow(r.Tx)
		m.equals.follow(r.Tx)
		if r.Case != nil {
			m.behind = 0
		}
	}
	if m.head.Seq/m.config.HeadEvery > e.Expect/m.config.HeadEvery {
		m.rows = append(m.rows, m.headRow())
	}
	e.Ops = ops(m.rows)
	m.addToFilters()
	return e
}

// follow updates the state of a payout or refund that a child actor carries. One that is no
// longer in flight is carried no more.
func (m *Machine) follow(t *ledger.Transaction) {
	if t == nil || m.work[t.ID] == nil {
		return
	}
	if m.work[t.ID] = t; t.Ended() {
		delete(m.work, t.ID)
	}
}

// addToFilters adds the end-to-end rows, refund sums and claims of this step to the filters before they are
// written. If the write fails, a filter has a key that does not exist, which does no harm;
// a filter must never lack a key that exists.
func (m *Machine) addToFilters() {
	for _, r := range m.rows {
		if layout.MostlyAbsent(r.Key) {
			m.config.Present.Add(r.Key)
		}
	}
	for i := range m.records {
		if c := m.records[i].Claim; c != nil {
			m.config.Claims.Add(hourOf(c.At), claimant(layout.IdempotencyKey(c.Bucket, m.head.ID, c.Scope)))
		}
	}
}

func ops(rows []layout.Row) []wal.Op {
	out := make([]wal.Op, len(rows))
	for i, r := range rows {
		out[i] = wal.Op{Kind: wal.OpSet, Key: r.Key, Value: r.Value}
		if r.Value == nil {
			out[i].Kind = wal.OpDelete
		}
	}
	return out
}

// Submitted tells the machine which ticket the journal gave to the entry of its last Step.
func (m *Machine) Submitted(t wal.Ticket) {
	m.overlay.add(t, m.records, m.rows, m.before)
	for i := range m.records {
		if s := m.records[i].Sums; s != nil {
			m.config.Recent.changed(m.head.ID, s)
		}
		if tx := m.records[i].Tx; tx != nil && tx.AwaitsScheme() {
			m.config.Recent.put(m.head.ID, tx)
		} else if tx != nil {
			m.config.Recent.drop(tx.ID)
		}
	}
	m.records, m.rows = nil, nil
}
