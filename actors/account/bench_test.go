package account

import (
	"encoding/binary"
	"fmt"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/transfer"
	"pixd/wal"
)

// bench calls one machine directly, without a shell, over a store in memory.
type bench struct {
	t       testing.TB
	store   *memory
	machine *Machine
	now     pix.Millis
	ahead   pix.Millis // by how much records are stamped ahead of now
	behind  pix.Millis // by how much engine time is behind now, in ms
	doubted bool
	entropy uint64
	durable bool // every entry of an earlier step counts as durable when the next step begins
}

var testConfig = &Config{Renderer: renderForTest, HeadEvery: 8, Terms: testTerms, Recent: NewRecent(recentSlots)}

var testTerms = ledger.Terms{Secret: []byte("a secret of the test's own"), OwnISPB: "99999004", OrphanAfter: 30 * 60_000, QueueTTL: 2 * 3_600_000, ApprovalTTL: 168 * 3_600_000}

// rendering is a function that serves as a Renderer.
type rendering func(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool)

// Render implements Renderer.
func (f rendering) Render(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) { return f(a, s) }

// renderForTest renders an answer as one line: the transaction's status and the style.
var renderForTest = rendering(func(a *ledger.Answer, s ledger.Style) (ledger.Stored, bool) {
	if a.Refusal != nil {
		return ledger.Stored{}, false
	}
	code := 200
	switch a.Tx.Status {
	case pix.StatusAccepted, pix.StatusRejected, pix.StatusQueued, pix.StatusPending:
		code = 202
	}
	return ledger.Stored{Code: code, Body: fmt.Appendf(nil, "%s style %d", a.Tx.Status, s)}, true
})

const testAccount = pix.AccountID(7)

// startOfTest is 2026-03-01T12:00:00Z.
const startOfTest = pix.Millis(1772366400000)

// stampsAhead is by how much, in ms, records are stamped ahead of the clock in tests, as after a
// start behind the journal, so that a mix-up of the two times is found.
const stampsAhead = pix.Millis(5 * 60 * 60 * 1000)

func newBench(t testing.TB) *bench {
	config := *testConfig
	config.Recent = NewRecent(recentSlots) // the ids of two tests are the same
	return &bench{
		t: t, store: newMemory(), machine: newMachine(&config, testAccount), now: startOfTest,
		durable: true, ahead: stampsAhead,
	}
}

func (b *bench) draw() (c [10]byte) {
	b.entropy++
	binary.BigEndian.PutUint64(c[2:], b.entropy*0x9E3779B97F4A7C15)
	return c
}

func (b *bench) reading() pix.Reading {
	return pix.Reading{Time: b.now + b.ahead, Clock: b.now - b.behind, Doubted: b.doubted}
}

// outcome is the result of a step: its entry, and its effects by kind.
type outcome struct {
	Entry   wal.Entry
	Answer  *ledger.Answer // the answer in the step's effect Reply, if any
	Outcome *ledger.Answer // the payout's outcome in the step's effect Finish, if any
	Start   []transfer.Job // one job for each effect Launch of the step
}

func (m *Machine) outcome(e wal.Entry, effects []Effect) (out outcome) {
	out.Entry = e
	for i := range effects {
		switch f := &effects[i]; f.Kind {
		case Reply:
			out.Answer = f.Answer
		case Finish:
			out.Outcome = f.Answer
		case Launch:
			out.Start = append(out.Start, m.job(f.Child))
		}
	}
	return out
}

func (b *bench) step(c ledger.Command) outcome {
	if b.durable {
		b.store.durable = b.store.ticket
	}
	e, effects, err := b.machine.Step(b.store, Call{Command: c, Now: b.reading(), Entropy: b.draw(), Durable: b.store.durable})
	if err != nil {
		b.t.Fatal(err)
	}
	b.machine.Submitted(b.store.append(&e))
	return b.machine.outcome(e, effects)
}

// settings are an account's default settings with a name and a document.
func settings() ledger.Settings {
	s := ledger.DefaultSettings()
	s.Name, s.Document = "Loja", "12345678901"
	return s
}

// approvedFrom returns settings under which payouts of threshold or more wait for an
// operator's approval.
func approvedFrom(threshold pix.Amount) ledger.Settings {
	s := settings()
	s.ApprovalThreshold = &threshold
	return s
}

// endToEnd makes a full end-to-end id that ends in tail.
func endToEnd(tail string) string {
	return "E99999003202603011200" + fmt.Sprintf("%011s", tail)
}
