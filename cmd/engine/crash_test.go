package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"pixd/actors/account"
	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/cmd/journal"
	"pixd/wal"
)

var crashSeed = flag.Uint64("crash.seed", 0, "run only this seed of the crash test")

// answered is one answer that a client has received, with the request's details.
type answered struct {
	account pix.AccountID
	tx      ledger.Transaction // the transaction, with the status that the answer showed
	key     *ledger.Claim      // idempotency key of the request
	stored  string             // the answer stored under that key
	command ledger.Command
	head    *ledger.Account // the head that a read showed; nil: the request was no read
}

// clients drive an engine from several goroutines and keep every answer.
type clients struct {
	mu      sync.Mutex
	answers []answered
}

func (c *clients) note(a answered) {
	c.mu.Lock()
	c.answers = append(c.answers, a)
	c.mu.Unlock()
}

func (c *clients) sofar() []answered {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.answers)
}

func crashConfig(fs wal.FS) Config {
	c := Defaults()
	c.DataDir, c.FS = "data", fs
	c.SettleDelay = 3 * time.Millisecond
	c.SchemeTimeout = 2 * time.Second
	c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	c.OnFailure = func(error) {}
	return c
}

const crashAccounts = 3

// populate makes accounts with money, before any fault happens.
func populate(e *Engine) ([]pix.AccountID, error) {
	var ids []pix.AccountID
	for n := range crashAccounts {
		s := ledger.DefaultSettings()
		s.Name, s.Document = "Loja", "12345678909"
		s.CashOutFee = ledger.Fee{Fixed: 7}
		id := pix.AccountID(n + 1)
		evp := pix.Key{Type: pix.KeyEVP, Value: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)}
		if _, err := e.Registry.RegisterAccount(id, true, s, evp); err != nil {
			return nil, err
		}
		if _, err := e.Accounts.Do(id, ledger.Credit{Kind: pix.TxTED, Amount: 10_000_000}); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// openPopulated opens an engine with accounts.
func openPopulated(t testing.TB, c Config) (*Engine, []pix.AccountID) {
	t.Helper()
	e, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := populate(e)
	if err != nil {
		t.Fatal(err)
	}
	return e, ids
}

// drive sends commands until stop is set.
func (c *clients) drive(e *Engine, id pix.AccountID, rng *rand.Rand, stop *atomic.Bool) {
	for n := 0; !stop.Load(); n++ {
		var command ledger.Command
		var claim *ledger.Claim
		if rng.IntN(2) == 0 {
			claim = &ledger.Claim{}
			for i := range claim.Scope {
				claim.Scope[i] = byte(rng.Uint32())
			}
		}
		switch rng.IntN(6) {
		case 0:
			command = ledger.ReadAccount{}
		case 1:
			command = ledger.CreateCharge{Amount: 100, Claim: claim, Key: pix.Key{Type: pix.KeyEVP, Value: "00000000-0000-4000-8000-000000000000"}}
		case 2:
			command = ledger.Credit{Kind: pix.TxInternal, Amount: 50}
		default:
			command = request(rng, claim)
		}
		a, err := e.Accounts.Do(id, command)
		if err != nil || a.Refusal != nil {
			continue
		}
		one := answered{account: id, command: command, head: a.Head}
		if a.Stored != nil {
			one.key, one.stored = claim, string(a.Stored.Body)
		}
		if a.Tx != nil {
			one.tx = *a.Tx
		}
		c.note(one)
	}
}

func request(rng *rand.Rand, claim *ledger.Claim) ledger.RequestPayout {
	key := [...]string{"a@example.com", "settle-now@pix.test", "reject-ac03@pix.test", "not-found@pix.test"}[rng.IntN(4)]
	return ledger.RequestPayout{
		Amount: pix.Amount(100 + 100*rng.IntN(500)), Key: pix.Key{Type: pix.KeyEmail, Value: key}, Claim: claim,
	}
}

// writes counts the writes to the disk, and simulates a power cut before the write with
// number at.
type writes struct {
	count atomic.Int64
	at    atomic.Int64
	cut   func()
}

func (w *writes) String() string { return "power cut" }

// MaybeError implements errorfs.Injector.
func (w *writes) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	n, at := w.count.Add(1), w.at.Load()
	if at > 0 && n >= at && w.at.CompareAndSwap(at, 0) { // the cut happens only once
		w.cut()
	}
	return nil
}

// cutWrites is the number of power cuts that TestPowerCut simulates: one before each of the
// load's first cutWrites writes, each cut in a run of its own.
const cutWrites = 400

// powerCut runs an engine under load, cuts the power before one write, and checks an engine
// started on the disk that the cut left.
func powerCut(seed uint64, wrap func(account.Journal) account.Journal) error {
	rng := rand.New(rand.NewPCG(seed, 2))
	disk := vfs.NewCrashableMem()
	c := &clients{}
	var kept *vfs.MemFS
	var held []answered
	done := make(chan struct{})
	w := &writes{}
	w.cut = func() {
		held = c.sofar() // answers received before the cut
		kept = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		close(done)
	}
	config := crashConfig(errorfs.Wrap(disk, w))
	config.wrap = wrap
	e, err := Open(config)
	if err != nil {
		return err
	}
	ids, err := populate(e)
	if err != nil {
		return err
	}
	w.at.Store(w.count.Load() + 1 + int64(seed%cutWrites))
	var stop atomic.Bool
	var load sync.WaitGroup
	for i := range 6 {
		load.Add(1)
		go func() {
			defer load.Done()
			c.drive(e, ids[i%len(ids)], rand.New(rand.NewPCG(seed, uint64(10+i))), &stop)
		}()
	}
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		return errors.New("the power was never cut")
	}
	stop.Store(true)
	load.Wait()
	if err := e.Close(); err != nil {
		return err
	}
	return judge(kept, held)
}

// judge starts an engine on the disk that the fault left, and checks every answer that was
// given before the fault.
func judge(kept *vfs.MemFS, held []answered) error {
	e, err := Open(crashConfig(kept))
	if err != nil {
		return fmt.Errorf("open after the cut: %w", err)
	}
	var wrong []string
	for i := range held {
		if err := held[i].stands(e); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return errors.Join(fmt.Errorf("%d of %d answers do not stand, the first: %s", len(wrong), len(held), wrong[0]), e.Close())
	}
	if err := comesToRest(e); err != nil {
		return errors.Join(err, e.Close())
	}
	if err := e.Close(); err != nil {
		return err
	}
	return verifyOn(kept)
}

// stands checks that an answer given earlier is still true; the error says why it is not.
func (a *answered) stands(e *Engine) error {
	now, err := e.Accounts.Do(a.account, ledger.ReadAccount{})
	if err != nil {
		return err
	}
	if a.head != nil {
		if now.Head.Seq < a.head.Seq {
			return fmt.Errorf("a read showed record %d of %v, the restart has %d", a.head.Seq, a.account, now.Head.Seq)
		}
		return nil
	}
	t, err := e.History.Transaction(a.account, a.tx.ID.String())
	if err != nil {
		return err
	}
	if t == nil || t.Amount != a.tx.Amount || t.EndToEnd != a.tx.EndToEnd || t.Status < a.tx.Status {
		return fmt.Errorf("%v was answered %+v, the restart has %+v", a.account, a.tx, t)
	}
	if a.key == nil {
		return nil
	}
	again, err := e.Accounts.Do(a.account, a.command)
	if err != nil {
		return err
	}
	if again.Stored == nil || !again.Replay || string(again.Stored.Body) != a.stored {
		return fmt.Errorf("%v: key replayed as %+v, was %s", a.account, again, a.stored)
	}
	return nil
}

// comesToRest waits until no payout is in flight. It does not wait for payouts that only the
// scheme's long silence may end: payouts of the last process that the scheme never received
// and whose key the directory now refuses.
func comesToRest(e *Engine) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		open, err := inFlight(e)
		if err != nil || len(open) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nothing works on %s", strings.Join(open, ", "))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// inFlight lists the payouts in flight besides those that comesToRest excepts.
func inFlight(e *Engine) ([]string, error) {
	var open []string
	lo, hi := layout.AllDue()
	err := e.Store.Scan(lo, hi, func(k, v []byte) (bool, error) {
		d, err := layout.DecodeDue(k, v)
		if err != nil {
			return false, err
		}
		owner, tx := d.Account, pix.TxID(d.ID)
		r, err := rows{e.Store}.Record(owner, d.Seq)
		if err != nil {
			return false, err
		}
		state, err := e.Sim.Ask(context.Background(), tx, r.Tx.EndToEnd)
		if err != nil {
			return false, err
		}
		shown, err := e.History.Transaction(owner, tx.String())
		if err != nil {
			return false, err
		}
		if shown != nil && state.Progress == scheme.Unknown && r.Tx.Payout.Key.Value == "not-found@pix.test" {
			return true, nil
		}
		open = append(open, fmt.Sprintf("%v to %s of %v (shown %v, at the scheme %v)", tx, r.Tx.Payout.Key.Value, owner, shown != nil, state))
		return true, nil
	})
	return open, err
}

func verifyOn(fs wal.FS) error {
	v, err := journal.Verify(journal.VerifyOptions{DataDir: "data", FS: fs, Log: slog.New(slog.DiscardHandler)})
	if err == nil && v.Accounts == 0 {
		err = fmt.Errorf("verified %+v", v)
	}
	return err
}

// TestPowerCut checks an engine that is restarted after a power cut: it has every answered
// operation and everything that reads have shown, it gives the same answers under keys, and
// every held payout reaches a final status.
func TestPowerCut(t *testing.T) {
	step := uint64(1)
	if testing.Short() {
		step = 33
	}
	for seed := uint64(0); seed < cutWrites; seed += step {
		if *crashSeed != 0 && seed != *crashSeed {
			continue
		}
		if err := powerCut(seed, nil); err != nil {
			t.Fatalf("seed %d: %v\nrepeat: go test ./cmd/engine -run 'TestPowerCut$' -crash.seed=%d -count=20", seed, err, seed)
		}
	}
}

// early is a journal with a planted bug: it reports entries as durable before they are.
type early struct{ account.Journal }

func (j early) Append(e *wal.Entry) wal.Ticket {
	out := e.Out
	e.Out = nil
	t := j.Journal.Append(e)
	for _, o := range out {
		o.Release(nil)
	}
	return t
}

// TestPowerCutFindsMutations checks that TestPowerCut finds an engine that answers before
// durability.
func TestPowerCutFindsMutations(t *testing.T) {
	for seed := range uint64(60) {
		err := powerCut(seed, func(j account.Journal) account.Journal { return early{j} })
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "do not stand") {
			t.Fatalf("seed %d: found something else: %v", seed, err)
		}
		t.Logf("seed %d: %v", seed, err)
		return
	}
	t.Fatal("an engine that answers before durability was not found out")
}
