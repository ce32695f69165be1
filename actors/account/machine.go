package account

import (
	"fmt"

	"pixd/actors/keyed"
	"pixd/actors/ledger"
	"pixd/actors/transfer"
	"pixd/wal"
)

// Config is what every account's machine is given.
type Config struct {
	Renderer Renderer
	// HeadEvery is the interval of head rows, in records: a hard setting.
	HeadEvery uint64
	// Terms are the service's own.
	Terms ledger.Terms
	// Recent remembers what was accepted a moment ago, for all accounts.
	Recent *Recent
	// EndToEnd knows every end-to-end row there is, or nothing yet; nil: always
	// nothing. Most payouts ask for one that is not there.
	EndToEnd *keyed.Filter
	// Alerts keeps and tells what operators must look at; nil: nobody hears.
	Alerts Alerts
	// Claims knows the idempotency claims of the hours that this process has
	// witnessed; nil: none. Most requests come under a new key.
	Claims *keyed.Hours
}

// Alerts keeps and tells what operators must look at.
type Alerts interface {
	// Row is the row of an alert that a decision raises, to be written with the
	// decision's records.
	Row(id ledger.AccountID, a ledger.Alert, at ledger.Millis) wal.Op
	// Raised counts and logs an alert whose row is durable.
	Raised(id ledger.AccountID, a ledger.Alert)
	// Raise writes, counts and logs an alert that no decision raises. It does not wait.
	Raise(id ledger.AccountID, a ledger.Alert)
}

// Renderer writes the answers that are kept under idempotency claims.
type Renderer interface {
	// Render is pure. False: the answer is none that may be kept.
	Render(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool)
}

// Call is one command with what the machine may not draw itself.
type Call struct {
	Command ledger.Command
	Now     ledger.Reading // no stamp goes back behind the account's newest record
	Entropy [10]byte
	Durable wal.Ticket // everything up to it is durable
	// Inactive: the account is. Asked for only where ledger.NeedsActive says so.
	Inactive bool
}

// Machine is one account: its head, what of it is not durable yet, and the
// payouts whose children run. It has no goroutine, clock or I/O: one call in,
// effects out.
type Machine struct {
	config  *Config
	head    ledger.Account
	sum     uint64 // checksum of the newest record
	headAt  uint64 // sequence of the newest head row
	overlay overlay
	work    map[ledger.TxID]*ledger.Transaction // payouts with a child, as they stand; nil where none is

	// The step under way, until Submitted.
	records []ledger.Record
	rows    []ledger.Row
}

func newMachine(c *Config, id ledger.AccountID) *Machine {
	return &Machine{config: c, head: ledger.Account{ID: id}}
}

// Opened tells whether the account's opening is among its records.
func (m *Machine) Opened() bool { return m.head.Seq > 0 }

// Resting tells that nothing moves: no child, nothing on its way to the disk.
func (m *Machine) Resting(durable wal.Ticket) bool {
	m.overlay.forget(durable)
	return len(m.work) == 0 && m.overlay.empty()
}

// Trim gives back what an account at rest does not need; false where something
// still moves.
func (m *Machine) Trim(durable wal.Ticket) bool {
	if !m.Resting(durable) {
		return false
	}
	m.overlay, m.work = overlay{}, nil
	return true
}

// Step carries one command out in memory. An error is an infrastructure error (a row
// could not be read), or one of Gather's: nothing has changed.
func (m *Machine) Step(rows Rows, c Call) (wal.Entry, []Effect, error) {
	m.overlay.forget(c.Durable)
	now := c.Now
	now.Time = max(now.Time, m.head.Time)
	stamp := ledger.Stamp{Reading: now, ID: ledger.NewTxID(now.Time, c.Entropy), Terms: m.config.Terms}
	facts, err := ledger.Gather(&reader{m, rows}, &m.head, c.Command, stamp)
	if err != nil {
		return wal.Entry{}, nil, err
	}
	facts.Inactive = c.Inactive
	d := m.head.Decide(c.Command, facts, stamp)
	a := &ledger.Answer{Refusal: d.Refusal, Tx: d.Tx, Repeat: d.Repeat}
	m.keep(&d, a)
	e := m.write(d.Records)
	if m.config.Alerts != nil {
		for _, a := range d.Alerts {
			e.Ops = append(e.Ops, m.config.Alerts.Row(m.head.ID, a, now.Time))
		}
	}
	return e, m.effects(c.Command, &d, a), nil
}

// job is what a child carries.
func (m *Machine) job(l ledger.Launch) transfer.Job {
	j := transfer.Job{Account: m.head.ID, Tx: *l.Tx, Goal: l.Goal}
	if settings := m.head.Settings; settings.BlockCNPJOut {
		j.Refuses = settings.RefusesPayoutTo
	}
	return j
}

// keep puts the rendered answer into the record that answers the claim. It tells
// what the claim's own transaction has come to, whatever else was decided with it.
func (m *Machine) keep(d *ledger.Decision, a *ledger.Answer) {
	for i := range d.Records {
		r := &d.Records[i]
		if r.Claim == nil || !r.Kind.Answers() {
			continue
		}
		reported := *a
		reported.Tx = newest(d.Records[i:], r.Tx.ID)
		stored, ok := m.config.Renderer.Render(&reported, r.Claim.Style)
		if !ok {
			panic(fmt.Sprintf("account %v: %v answers a claim with %d", m.head.ID, r.Kind, stored.Code))
		}
		r.Stored = &stored
		a.Stored = r.Stored
	}
}

// newest is a transaction as the last record about it has it; nil where there is
// none.
func newest(records []ledger.Record, id ledger.TxID) (t *ledger.Transaction) {
	for i := range records {
		if r := &records[i]; r.Tx != nil && r.Tx.ID == id {
			t = r.Tx
		}
	}
	return t
}

// write applies the records and makes the journal entry of them. A record that
// does not apply is our mistake.
func (m *Machine) write(records []ledger.Record) wal.Entry {
	m.records, m.rows = records, m.rows[:0:0]
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
		s := wal.Seal(m.sum, wal.Record{
			Stream: e.Stream, Seq: r.Seq, Kind: uint8(r.Kind), Time: int64(r.Time), Body: r.Encode(),
		})
		m.sum = s.Sum
		e.Records = append(e.Records, s)
		m.rows = ledger.Project(m.rows, r)
		m.follow(r.Tx)
	}
	if m.head.Seq/m.config.HeadEvery > e.Expect/m.config.HeadEvery {
		m.rows = append(m.rows, m.headRow())
	}
	e.Ops = ops(m.rows)
	m.witness()
	return e
}

// follow keeps what is known of payouts with a child as they stand.
func (m *Machine) follow(t *ledger.Transaction) {
	if t == nil || m.work[t.ID] == nil {
		return
	}
	if m.work[t.ID] = t; !t.Status.InFlight() {
		delete(m.work, t.ID)
	}
}

// witness tells the filters what is about to be written: they may know of what
// never comes to be, and never miss what does.
func (m *Machine) witness() {
	for _, r := range m.rows {
		if ledger.IsEndToEnd(r.Key) {
			m.config.EndToEnd.Add(r.Key)
		}
	}
	for i := range m.records {
		if c := m.records[i].Claim; c != nil {
			m.config.Claims.Add(hourOf(c.At), claimant(ledger.IdempotencyKey(c.Bucket, m.head.ID, c.Scope)))
		}
	}
}

func ops(rows []ledger.Row) []wal.Op {
	out := make([]wal.Op, len(rows))
	for i, r := range rows {
		out[i] = wal.Op{Kind: wal.OpSet, Key: r.Key, Value: r.Value}
		if r.Value == nil {
			out[i].Kind = wal.OpDelete
		}
	}
	return out
}

// Submitted tells the machine the ticket of the entry that its last Step made.
func (m *Machine) Submitted(t wal.Ticket) {
	m.overlay.add(t, m.records, m.rows)
	for i := range m.records {
		if tx := m.records[i].Tx; tx != nil && tx.AwaitsScheme() {
			m.config.Recent.put(m.head.ID, tx)
		} else if tx != nil {
			m.config.Recent.drop(tx.ID)
		}
	}
	m.records, m.rows = nil, nil
}
