package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme"
	"pixd/actors/scheme/sim"
	"pixd/actors/webhook"
)

// later is by how much the clocks of the engines that meet failing reads are ahead of those of
// the engine that left the folder: what waits for less is due.
const later = 2 * time.Hour

// readsConfig has short times: a case ends an hour after its opening, and a payout that nobody
// approves too.
func readsConfig(c *Config) {
	c.MEDDeadline, c.ApprovalTTL, c.QueueTTL, c.QueueRetry = time.Hour, time.Hour, 24*time.Hour, 100*time.Millisecond
	c.WebhookRetries = []time.Duration{time.Second, time.Second, time.Second, 24 * time.Hour}
}

// halfway is a scheme that lets some payouts and refunds stop halfway.
type halfway struct{ scheme.Scheme }

var errNoWord = errors.New("no answer")

// Lookup implements scheme.Scheme.
func (h halfway) Lookup(ctx context.Context, q scheme.Query) (pix.Party, error) {
	if strings.Contains(q.Key.Value, "held") {
		<-ctx.Done()
		return pix.Party{}, ctx.Err()
	}
	return h.Scheme.Lookup(ctx, q)
}

// Submit implements scheme.Scheme.
func (h halfway) Submit(ctx context.Context, p scheme.Payment) (scheme.State, error) {
	switch {
	case strings.Contains(p.Key.Value, "sending"):
		<-ctx.Done()
		return scheme.State{}, ctx.Err()
	case strings.Contains(p.Key.Value, "arrived"): // the scheme has it, and the answer is lost
		_, _ = h.Scheme.Submit(ctx, p)
		return scheme.State{}, errNoWord
	case strings.Contains(p.Key.Value, "doubt"):
		return scheme.State{}, errNoWord
	}
	return h.Scheme.Submit(ctx, p)
}

// Return implements scheme.Scheme.
func (h halfway) Return(ctx context.Context, r scheme.Refund) (scheme.State, error) {
	switch r.Description {
	case "held":
		<-ctx.Done()
		return scheme.State{}, ctx.Err()
	case "arrived":
		_, _ = h.Scheme.Return(ctx, r)
		return scheme.State{}, errNoWord
	case "settles":
		return h.Scheme.Return(ctx, r)
	}
	return scheme.State{}, errNoWord
}

// halfDone returns the disk that an engine has left behind in a crash, in the middle of work of
// every kind: for each account payouts held, sending, queued, in doubt, accepted, and waiting for
// approval, refunds held and in doubt, an open case and one that is being refunded, and webhooks
// that wait.
func halfDone(t *testing.T) (left *vfs.MemFS) {
	var err error
	synctest.Test(t, func(*testing.T) {
		disk := vfs.NewCrashableMem()
		c := crashConfig(disk)
		readsConfig(&c)
		c.Clocks = newClocks().sources()
		c.wrapScheme = func(s scheme.Scheme) scheme.Scheme { return halfway{s} }
		c.post = func(context.Context, webhook.Post) webhook.Answer {
			return webhook.Answer{Status: http.StatusInternalServerError}
		}
		var e *Engine
		if e, err = Open(c); err != nil {
			return
		}
		var ids []pix.AccountID
		ids, err = populate(e)
		time.Sleep(10 * time.Second) // until the scheme knows the keys
		for _, id := range ids {
			err = errors.Join(err, halfDoneIn(e, id))
		}
		time.Sleep(500 * time.Millisecond)
		left = disk.CrashClone(vfs.CrashCloneCfg{})
		err = errors.Join(err, e.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// approvedFrom is the amount from which payouts wait for approval.
const approvedFrom = pix.Amount(50_000)

// paidBy is the end-to-end id of the n-th payment to an account.
func paidBy(id pix.AccountID, n int) string {
	return fmt.Sprintf("E99999003200001010000%05d%06d", uint64(id), n)
}

// ownKey is the key of an account; see populate.
func ownKey(id pix.AccountID) string {
	return fmt.Sprintf("%08x-0000-4000-8000-000000000000", uint64(id)-1)
}

// halfDoneIn begins the work of one account.
func halfDoneIn(e *Engine, id pix.AccountID) error {
	a, _ := e.Registry.Account(id)
	settings, limit := *a.Opening, approvedFrom
	settings.ApprovalThreshold = &limit
	hook := ledger.Subscribe{URL: "https://loja.example/", Secret: make([]byte, 32)}
	for _, k := range pix.EventKinds() {
		hook.Events = hook.Events.With(k)
	}
	for _, c := range []ledger.Command{ledger.ChangeSettings{Settings: settings}, hook} {
		if a, err := e.Accounts.Do(id, c); err != nil || a.Refusal != nil {
			return fmt.Errorf("%T: %+v %w", c, a.Refusal, err)
		}
	}
	for n := range 6 {
		if _, _, err := e.Sim.Pay(context.Background(), sim.Payment{Key: ownKey(id), Amount: 10_000, EndToEnd: paidBy(id, n)}); err != nil {
			return err
		}
	}
	for _, n := range []int{0, 1} {
		if _, err := e.Sim.Report(context.Background(), sim.Report{EndToEnd: paidBy(id, n), Situation: "SCAM"}); err != nil {
			return err
		}
	}
	time.Sleep(100 * time.Millisecond)
	if err := agreed(e, id, paidBy(id, 1)); err != nil {
		return err
	}
	for n, what := range []string{"settles", "held", "arrived", "doubt"} {
		go func() {
			_, _ = e.Accounts.Do(id, ledger.RequestRefund{Original: paidBy(id, 2+n), Amount: 4000, Description: what})
		}()
	}
	for _, to := range []string{"a", "settle-now", "held", "doubt", "arrived", "silent", "returned", "client-limited-9", "bucket-exhausted-30", "client-limited-1+sending", "reject-ac03"} {
		go func() { _, _ = e.Accounts.Do(id, payoutTo(id, to, 2000)) }()
	}
	_, err := e.Accounts.Do(id, payoutTo(id, "approval", approvedFrom))
	return err
}

// agreed closes the case of a payment as agreed.
func agreed(e *Engine, id pix.AccountID, endToEnd string) error {
	all, err := e.History.Cases(id, 0, 1, 100)
	if err != nil {
		return err
	}
	for _, k := range all {
		if k.EndToEnd == endToEnd && !k.Status.Decided() {
			a, err := e.Accounts.Do(id, ledger.CloseCase{ID: k.ID, Result: pix.Agreed})
			if err == nil && a.Refusal != nil {
				err = errors.New(a.Refusal.Message)
			}
			return err
		}
	}
	return nil
}

// payouts counts the requests of payoutTo, so that no two recipients are the same.
var payouts atomic.Int64

// payoutTo is a request for a payout to a key that nobody else pays, with an idempotency key. what
// begins the key; see the package sim for what it means.
func payoutTo(id pix.AccountID, what string, amount pix.Amount) ledger.RequestPayout {
	if !strings.Contains(what, "+") {
		what += "+"
	}
	key := fmt.Sprintf("%s-%d-%d@pix.test", what, uint64(id), payouts.Add(1))
	sum := sha256.Sum256([]byte(key))
	return ledger.RequestPayout{
		Amount: amount, Key: pix.Key{Type: pix.KeyEmail, Value: key}, Claim: &ledger.Claim{Scope: [16]byte(sum[:16])},
	}
}
