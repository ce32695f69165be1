package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/sim"
	"pixd/actors/webhook"
)

// readRun is one run on the folder that halfDone left: an engine of which one read fails, and then
// an engine of which none fails.
type readRun struct {
	disk    *vfs.MemFS
	clocks  *clocks
	config  Config
	c       clients
	log     heard
	refused bool // the start ended with an error

	mu     sync.Mutex
	failed []error // errors that the engine's callers got
}

func newReadRun(disk *vfs.MemFS) *readRun {
	r := &readRun{disk: disk, clocks: newClocks(), config: crashConfig(disk)}
	readsConfig(&r.config)
	r.clocks.pass(later)
	r.config.Clocks, r.config.Log = r.clocks.sources(), slog.New(slog.NewTextHandler(&r.log, nil))
	r.config.post = func(context.Context, webhook.Post) webhook.Answer { return webhook.Answer{Status: http.StatusOK} }
	return r
}

// live runs both engines. hit tells whether a read has failed.
func (r *readRun) live(hit func() bool) error {
	e, err := Open(r.config)
	if err != nil {
		if r.refused = true; !hit() || !errors.Is(err, syscall.EIO) {
			return fmt.Errorf("open: %w", err)
		}
		if e, err = Open(r.config); err != nil {
			return fmt.Errorf("open again: %w", err)
		}
	}
	if err := r.work(e); err != nil {
		return errors.Join(err, e.Close())
	}
	return r.again()
}

// again checks the folder with an engine of which no read fails, and then without an engine.
func (r *readRun) again() error {
	r.config.FS, r.config.readFault = r.disk, nil
	e, err := Open(r.config)
	if err != nil {
		return fmt.Errorf("open after the end: %w", err)
	}
	if err := errors.Join(r.judge(e), e.Close()); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	found, err := auditOffline(context.Background(), r.config)
	if err == nil && len(found.Differences) > 0 {
		err = fmt.Errorf("the audit found %+v", found.Differences)
	}
	return errors.Join(err, verifyOn(r.disk))
}

// work has clients, operators and hourly rounds use the engine, waits until everything is done,
// and checks it.
func (r *readRun) work(e *Engine) error {
	for round := range 2 {
		var all sync.WaitGroup
		errs := make([]error, crashAccounts+1)
		for n := range crashAccounts {
			all.Go(func() { errs[n] = r.trade(e, pix.AccountID(n+1), round) })
		}
		all.Go(func() { errs[crashAccounts] = r.operate(e, round) })
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if err := r.rest(e); err != nil {
			return err
		}
		r.clocks.pass(2 * time.Minute) // so that the accounts are idle
		if n := e.Accounts.Passivate(); n != 0 && round == 0 {
			return fmt.Errorf("%d accounts stay in memory", n)
		}
	}
	if err := r.judge(e); err != nil {
		return err
	}
	return e.Close()
}

// retries is how often a caller asks again after an error: a read fails only once.
const retries = 3

// ask calls do until it succeeds.
func (r *readRun) ask(what string, do func() error) error {
	for n := 0; ; n++ {
		err := do()
		if err == nil {
			return nil
		}
		r.mu.Lock()
		r.failed = append(r.failed, err)
		r.mu.Unlock()
		if n == retries || !errors.Is(err, syscall.EIO) && !errors.Is(err, ledger.ErrCut) {
			return fmt.Errorf("%s, after %d tries: %w", what, n, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// tell sends a command until it is answered, and keeps the answer.
func (r *readRun) tell(e *Engine, id pix.AccountID, c ledger.Command, claim *ledger.Claim) (a ledger.Answer, err error) {
	err = r.ask(fmt.Sprintf("%T", c), func() (err error) {
		a, err = e.Accounts.Do(id, c)
		return err
	})
	if err == nil && a.Refusal != nil && !strings.Contains(fmt.Sprint(c), "not-found") {
		err = fmt.Errorf("%+v refused: %s", c, a.Refusal.Message)
	}
	if err != nil || a.Tx == nil || a.Refusal != nil {
		return a, err
	}
	one := answered{account: id, command: c, tx: *a.Tx}
	if a.Stored != nil {
		one.key, one.stored = claim, string(a.Stored.Body)
	}
	r.c.note(one)
	return a, nil
}

// trade is the work of a merchant.
func (r *readRun) trade(e *Engine, id pix.AccountID, round int) error {
	for _, to := range []string{"a", "settle-now", "client-limited-1", "not-found", "returned"} {
		p := payoutTo(id, to, 300)
		first, err := r.tell(e, id, p, p.Claim)
		if err != nil {
			return err
		}
		if second, err := r.tell(e, id, p, p.Claim); err != nil || first.Refusal == nil && !second.Replay {
			return fmt.Errorf("asked again under its key: %+v %w", second, err)
		}
	}
	p := payoutTo(id, "approved", approvedFrom)
	p.EndToEnd = fmt.Sprintf("E99999004200001010200%05d%06d", uint64(id), round)
	if err := r.ask("reserve", func() error { _, err := e.Registry.ReserveEndToEnd(id, p.EndToEnd); return err }); err != nil {
		return err
	}
	a, err := r.tell(e, id, p, p.Claim)
	if err != nil {
		return err
	}
	if err := r.ask("approve", func() error {
		_, err := e.Accounts.Do(id, ledger.DecideApproval{ID: a.Tx.ID, Word: ledger.Approved, Operator: "ana"})
		return err
	}); err != nil {
		return err
	}
	claim := payoutTo(id, "refund", 1).Claim
	refund := ledger.RequestRefund{Original: paidBy(id, 5), Amount: 100, Claim: claim}
	if a, err := r.tell(e, id, refund, claim); err != nil || a.Tx == nil {
		return fmt.Errorf("refund: %+v %w", a, err)
	}
	charge := ledger.CreateCharge{Amount: 100, Claim: payoutTo(id, "charge", 1).Claim, Key: pix.Key{Type: pix.KeyEVP, Value: ownKey(id)}}
	if _, err := r.tell(e, id, charge, charge.Claim); err != nil {
		return err
	}
	if _, _, err := e.Sim.Pay(context.Background(), sim.Payment{Key: ownKey(id), Amount: 700, EndToEnd: paidBy(id, 100+round)}); err != nil {
		return err
	}
	return r.look(e, id, a.Tx)
}

// look reads what a merchant can see.
func (r *readRun) look(e *Engine, id pix.AccountID, tx *ledger.Transaction) error {
	h, page := e.History, layout.Page{Number: 1, Size: 5}
	hook := layout.Target{Account: id, Number: 1}
	for what, do := range map[string]func() error{
		"transaction": func() error {
			t, err := h.Transaction(id, tx.Public())
			if err == nil && t == nil {
				err = errors.New("not found")
			}
			return err
		},
		"end-to-end": func() error { _, err := h.EndToEnd(id, tx.EndToEnd); return err },
		"reference":  func() error { _, err := h.Reference(id, "r"); return err },
		"statement":  func() error { _, err := h.Statement(id, layout.Filter{}, page); return err },
		"processing": func() error {
			_, err := h.Statement(id, layout.Filter{Status: layout.FilterProcessing}, page)
			return err
		},
		"since": func() error {
			_, err := h.Transactions(id, "", layout.Filter{From: tx.CreatedAt - 1}, page)
			return err
		},
		"movements":    func() error { _, err := h.Movements(id, 1, 5); return err },
		"cases":        func() error { _, err := h.Cases(id, 0, 1, 5); return err },
		"subscription": func() error { _, err := h.Subscriptions(id, []uint32{1}); return err },
		"delivered":    func() error { _, err := h.Deliveries(hook, layout.DeliveryDelivered, page); return err },
		"pending":      func() error { _, err := h.Deliveries(hook, layout.DeliveryPending, page); return err },
		"backlog":      func() error { _, _, err := h.Backlog(hook); return err },
		"head":         func() error { _, err := e.Accounts.Do(id, ledger.ReadAccount{}); return err },
	} {
		if err := r.ask(what, do); err != nil {
			return err
		}
	}
	return nil
}

// operate is the work of operators, and of the rounds that come every hour.
func (r *readRun) operate(e *Engine, round int) error {
	now := e.Clock.Now()
	key := pix.Key{Type: pix.KeyEVP, Value: fmt.Sprintf("%08x-0000-4000-8000-000000000009", round)}
	for what, do := range map[string]func() error{
		"claims":    e.dropClaims,
		"sweep":     e.webhooks.Sweep,
		"watch":     func() error { e.webhooks.Watch(); return nil },
		"alerts":    func() error { _, _, err := e.Config.alerts.Read(0, false, "", 10); return err },
		"drop":      func() error { return e.Config.alerts.Drop(now - 1000) },
		"refusals":  func() error { return e.refusals.Drop(pix.Reading{Clock: now}, e.drop) },
		"oldest":    func() error { _, err := e.webhooks.Oldest(); return err },
		"retry all": func() error { _, err := e.webhooks.RetryAll(layout.Target{Account: 1, Number: 1}); return err },
		"audit":     func() error { _, err := e.auditor.Make(context.Background()); return err },
		"in flight": func() error {
			return whole(e.History.InFlight(0, []pix.TxStatus{pix.StatusAccepted}, nil, 5))
		},
		"all cases": func() error { return whole(e.History.AllCases(0, nil, 5)) },
		"hooks":     func() error { return whole(e.History.AllDeliveries(0, 0, 0, nil, 5)) },
		"pix key":   func() error { _, err := e.Registry.ReservePixKey(1, key); return err },
	} {
		if err := r.ask(what, do); err != nil {
			return err
		}
	}
	return nil
}

// whole returns an error where a list leaves something out as damaged: a disk that gives no bytes is no damage.
func whole[T any](l layout.Listed[T], err error) error {
	if err == nil && l.Damaged > 0 {
		err = fmt.Errorf("%d entries are left out", l.Damaged)
	}
	return err
}
