package account

import (
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/wal"
)

// resting is an account with money and one settled payout under an idempotency key, whose
// machine is copied for each measured run: every run begins at the same state and writes the
// same records. What a run writes stays in its copy and does not become durable.
type resting struct {
	*bench
	stored uint64 // how many records the account has
}

func newResting(b *testing.B) resting {
	h := newBench(b)
	h.step(ledger.OpenAccount{Settings: settings()})
	h.step(ledger.Credit{Kind: pix.TxTED, Amount: 1 << 40})
	tx := h.step(payoutTo(1, under(1))).Start[0].Tx
	h.step(ledger.ResolveTransfer{ID: tx.ID, EndToEnd: tx.EndToEnd, Result: ledger.TransferIsSettled})
	if !h.machine.Trim(h.store.ticket) {
		b.Fatal("the account is not at rest")
	}
	h.store.durable = h.store.ticket
	return resting{h, h.machine.head.Seq}
}

// run gives the commands to a copy of the machine, which the journal always keeps waiting, and
// returns that copy and the effects of the last command. A command may use the payout that the
// commands before it have begun.
func (r resting) run(commands []func(*ledger.Transaction) ledger.Command) (*Machine, []Effect, error) {
	m := *r.machine
	var payout *ledger.Transaction
	var effects []Effect
	for i, command := range commands {
		var err error
		call := Call{Command: command(payout), Now: r.reading(), Entropy: [10]byte{9, byte(i)}, Durable: r.store.durable}
		if _, effects, err = m.Step(r.store, call); err != nil {
			return nil, nil, err
		}
		m.Submitted(r.store.ticket + wal.Ticket(i) + 1)
		for _, e := range effects {
			if e.Kind == Launch {
				payout = e.Child.Tx
			}
		}
	}
	return &m, effects, nil
}

// BenchmarkPayout measures the machine's steps of one payout, with a new idempotency key: up to
// the hold, up to the scheme's acceptance, and up to its settlement.
func BenchmarkPayout(b *testing.B) {
	steps := []func(*ledger.Transaction) ledger.Command{
		func(*ledger.Transaction) ledger.Command { return payoutTo(2, under(2)) },
		func(t *ledger.Transaction) ledger.Command {
			return ledger.ResolveTransfer{ID: t.ID, EndToEnd: t.EndToEnd, Result: ledger.TransferIsAccepted}
		},
		func(t *ledger.Transaction) ledger.Command {
			return ledger.ResolveTransfer{ID: t.ID, EndToEnd: t.EndToEnd, Notice: true, Result: ledger.TransferIsSettled}
		},
	}
	for i, last := range []string{"hold", "accept", "settle"} {
		b.Run("until="+last, func(b *testing.B) {
			r := newResting(b)
			b.ReportAllocs()
			for b.Loop() {
				m, _, err := r.run(steps[:i+1])
				if err != nil || m.head.Seq != r.stored+uint64(i+1) {
					b.Fatalf("%d records follow (%v)", m.head.Seq-r.stored, err)
				}
			}
		})
	}
}

// BenchmarkAnswer measures steps that write nothing: the read of a balance, and the repeat of
// a request under its idempotency key, which gets the stored answer.
func BenchmarkAnswer(b *testing.B) {
	for _, c := range []ledger.Command{ledger.ReadAccount{}, payoutTo(1, under(1))} {
		name := "balance"
		if _, replay := c.(ledger.RequestPayout); replay {
			name = "replay"
		}
		b.Run("to="+name, func(b *testing.B) {
			r := newResting(b)
			steps := []func(*ledger.Transaction) ledger.Command{func(*ledger.Transaction) ledger.Command { return c }}
			b.ReportAllocs()
			for b.Loop() {
				m, effects, err := r.run(steps)
				if err != nil || m.head.Seq != r.stored || effects[0].Kind != Reply || effects[0].Answer.Replay != (name == "replay") {
					b.Fatalf("%+v (%v)", effects, err)
				}
			}
		})
	}
}

// BenchmarkRestore measures the restoration of an account's machine from its newest records, as
// at the first request after a start.
func BenchmarkRestore(b *testing.B) {
	r := newResting(b)
	b.ReportAllocs()
	for b.Loop() {
		m, err := Restore(r.machine.config, testAccount, r.store)
		if err != nil || m.head.Seq != r.stored {
			b.Fatal(m, err)
		}
	}
}
