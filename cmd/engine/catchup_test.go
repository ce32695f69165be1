package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/catchup"
	"pixd/actors/pix"
	"pixd/actors/restored"
	"pixd/actors/scheme"
	"pixd/cmd/journal"
	"pixd/cmd/serving"
)

// backTo starts an engine on a restored folder, with the book of the simulator of before: it catches up.
func backTo(dir string) func(*Config) {
	return func(c *Config) { c.DataDir, c.SimDir = dir, "data/sim" }
}

// sinceSnapshot is what happened in a gap.
type sinceSnapshot struct {
	paid, again, own, pending, queued item
	refund, part                      refunded
	keyed                             string // the answer to a refund under the key "part"
}

// lives makes one of everything that a restored journal may lack or have in an earlier state, with a
// snapshot in the middle.
func (w *harness) lives(r *merchantServer) (file string, since sinceSnapshot) {
	w.hooks(r.URL+"/a", allKinds)
	first, second := w.receives(500_000, ""), w.receives(300_000, "")
	charge := w.charges(700)
	w.capacity("client_limited")
	since.queued = w.paidOut(`{"amount":17,"pix_key":"queued@pix.test"}`)
	w.becoming(since.queued.TransactionID, "pending")
	w.becomes("delivered", soon, func() bool { return w.webhooks.Measure().Running == 0 })
	file = w.snap()

	w.capacity("available")
	w.becoming(since.queued.TransactionID, "settled")
	since.paid = w.paidOut(`{"amount":21,"pix_key":"a@pix.test","external_id":"x","description":"gap"}`)
	w.becoming(since.paid.TransactionID, "settled")
	w.becoming(w.paidOut(`{"amount":22,"pix_key":"reject-ac03@pix.test"}`).TransactionID, "rejected")
	since.again = w.paidOut(`{"amount":22,"pix_key":"returned@pix.test"}`)
	w.becomes("returned", soon, func() bool { i := w.found(since.again.TransactionID); return i.Returned != nil && *i.Returned > 0 })
	own := pix.EndToEnd("99999004", w.Clock.Now(), "ownownown12")
	since.own = w.paidOut(fmt.Sprintf(`{"amount":23,"pix_key":"b@pix.test","end_to_end_id":%q}`, own))
	w.becoming(since.own.TransactionID, "settled")
	since.pending = w.paidOut(`{"amount":24,"pix_key":"silent@pix.test"}`)
	w.pay(charge, 700)
	w.receives(90_000, "")
	since.refund = w.ends(w.taken(`"amount":10,`, first.TransactionID).TransactionID, "settled")
	_, since.keyed = w.refunds(`"amount":11,`, first.EndToEnd, "Idempotency-Key", "part")
	since.part, _ = accepted(202, since.keyed)
	since.part = w.ends(since.part.TransactionID, "settled")
	w.ends(w.taken(`"amount":12,"return_code":"nonsense",`, first.TransactionID).TransactionID, "failed")
	w.reports(second, 100_000)
	withdrawn, k := w.reports(second, 50_000)
	if status, got := w.operate("POST", "/sim/infractions/"+withdrawn+"/cancel", ""); status != 200 {
		w.t.Fatal(status, got)
	}
	w.becomes("withdrawn", soon, func() bool { return strings.HasPrefix(w.caseOf(k.ID), "cancelled") })
	settled(w.t, w.Store)
	return file, since
}

// caseOf shows the state of a case.
func (w *harness) caseOf(id string) string {
	w.t.Helper()
	var k specialReturn
	if status, got := w.get("/med/" + id); status != 200 || json.Unmarshal([]byte(got), &k) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	return k.sums()
}

// charges makes a charge and returns its transaction id.
func (w *harness) charges(amount int) string {
	w.t.Helper()
	var c struct {
		ID string `json:"transaction_id"`
	}
	status, got, _ := w.post("/pix/cash-in", fmt.Sprintf(`{"amount":%d}`, amount))
	if status != 200 || json.Unmarshal([]byte(got), &c) != nil {
		w.t.Fatal(status, got)
	}
	return c.ID
}

// pay has a customer pay a charge of so many centavos.
func (w *harness) pay(charge string, centavos int) {
	w.t.Helper()
	if status, got := w.operate("POST", "/sim/payments", fmt.Sprintf(`{"pix_key":%q,"amount":%d,"txid":%q}`, w.EVP, centavos*100, charge)); status != 201 {
		w.t.Fatal(status, got)
	}
	w.becomes("paid", soon, func() bool { return w.found(charge).Status == "completed" })
}

// capacity sets what every directory lookup meets.
func (w *harness) capacity(lookups string) {
	w.t.Helper()
	if status, got := w.operate("PUT", "/sim/capacity", fmt.Sprintf(`{"lookups":%q}`, lookups)); status != 200 {
		w.t.Fatal(status, got)
	}
}

// moneyNow is what operators see of the account's money.
func (w *harness) moneyNow() string {
	w.t.Helper()
	var a struct {
		Balance, Pending int64
		MEDHeld          int64 `json:"med_held"`
	}
	if status, got := w.operate("GET", "/admin/accounts/"+w.ID, ""); status != 200 || json.Unmarshal([]byte(got), &a) != nil {
		w.t.Fatal(status, got)
	}
	return fmt.Sprintf("balance %d pending %d med %d", a.Balance, a.Pending, a.MEDHeld)
}

// amounts reads what moneyNow shows.
func amounts(shown string) (all [3]int64) {
	_, _ = fmt.Sscanf(shown, "balance %d pending %d med %d", &all[0], &all[1], &all[2])
	return all
}

// movements lists what the account's statement shows, without what only the journal knows.
func (w *harness) movements() (all []string) {
	w.t.Helper()
	var l struct {
		Data []struct {
			Type, Status string
			Amount       int64
			EndToEnd     *string `json:"end_to_end_id"`
		}
	}
	if status, got := w.get("/statement?per_page=100"); status != 200 || json.Unmarshal([]byte(got), &l) != nil {
		w.t.Fatal(status, got)
	}
	for _, i := range l.Data {
		id := ""
		if i.EndToEnd != nil {
			id = *i.EndToEnd
		}
		all = append(all, fmt.Sprintf("%s %s %d %s", i.Type, i.Status, i.Amount, id))
	}
	slices.Sort(all)
	return all
}

// TestCatchesUp restores a snapshot after a lost disk: the engine books everything that the scheme has done
// since, under the same ids, and the books agree. What clients repeat gets an answer that agrees with it.
func TestCatchesUp(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	file, since := w.lives(r)
	money, statement, sent := w.moneyNow(), w.movements(), w.sequence(r)
	w.stop()
	restoredAt(t, fs, file, "new")

	again := w.at(serveHarness(t, fs, insecure, backTo("new")))
	again.asBefore(money, statement)
	for _, one := range []struct {
		item
		status string
	}{{since.paid, "settled"}, {since.again, "settled"}, {since.own, "settled"}, {since.queued, "settled"}, {since.pending, "pending"}} {
		if got := again.found(one.TransactionID); got.Status != one.status || got.EndToEnd != one.EndToEnd {
			t.Errorf("%+v, want %s %s", got, one.status, one.EndToEnd)
		}
	}
	if m, err := restored.Find(again.Store); m != nil || err != nil {
		t.Errorf("the mark is still there: %v %v", m, err)
	}
	if s, err := catchup.Find(again.Store); s != nil || err != nil {
		t.Errorf("the state is still there: %v %v", s, err)
	}
	if n, err := restored.Epoch(again.Store); n != 1 || err != nil {
		t.Errorf("epoch %d, %v", n, err)
	}

	// A refund that is repeated under its key is not made again; nor is a payout.
	if status, got := again.refunds(`"amount":11,`, first(again, since), "Idempotency-Key", "part"); !strings.Contains(got, since.part.TransactionID) || status != 200 {
		t.Errorf("the refund repeated: %d %s", status, got)
	}
	if status, got := again.refunds(`"amount":10,`, first(again, since), "Idempotency-Key", "part"); status != 200 || !strings.Contains(got, since.part.TransactionID) {
		t.Errorf("another refund under the key: %d %s", status, got)
	}
	repeat := again.becoming(again.paidOut(`{"amount":21,"pix_key":"a@pix.test"}`).TransactionID, "rejected")
	if repeat.EndToEnd != since.paid.EndToEnd || repeat.DuplicateOf == nil || *repeat.DuplicateOf != since.paid.TransactionID {
		t.Errorf("a payout repeated: %+v", repeat)
	}
	if got := again.moneyNow(); got != money {
		t.Errorf("after the repeats %s, was %s", got, money)
	}
	stranger := again.another()
	if status, got := stranger.cashOut(fmt.Sprintf(`{"amount":23,"pix_key":"b@pix.test","end_to_end_id":%q}`, since.own.EndToEnd)); status != 400 {
		t.Errorf("another account under a merchant's own id: %d %s", status, got)
	}
	again.becomes("events behind those that were seen", soon, func() bool { return again.sequence(r) > sent+1_000_000 })
	again.agrees(again.refundedNow())
	again.stop()
	if _, err := journal.Verify(journal.VerifyOptions{DataDir: "new", FS: fs}); err != nil {
		t.Error(err)
	}
	w.at(serveHarness(t, fs, insecure, backTo("new"))).stop() // and it starts like any other
}

// first is the end-to-end id of the payment that the refunds give back.
func first(w *harness, s sinceSnapshot) string {
	w.t.Helper()
	var i struct {
		Original string `json:"original_end_to_end_id"`
	}
	if status, got := w.get("/transactions/" + s.part.TransactionID); status != 200 || json.Unmarshal([]byte(got), &i) != nil || i.Original == "" {
		w.t.Fatal(status, got)
	}
	return i.Original
}

// asBefore checks that the account's money and statement are those of before a loss, and that the audit
// agrees.
func (w *harness) asBefore(money string, statement []string) {
	w.t.Helper()
	if got := w.moneyNow(); got != money {
		w.t.Errorf("%s, was %s", got, money)
	}
	if got := w.movements(); !slices.Equal(got, statement) {
		w.t.Errorf("the statement is\n%s\nand was\n%s", strings.Join(got, "\n"), strings.Join(statement, "\n"))
	}
	w.agrees(w.refundedNow())
}

// sequence is the largest sequence of an event that the receiver got.
func (w *harness) sequence(r *merchantServer) (most uint64) {
	for _, d := range r.all("/a") {
		var e struct{ Sequence uint64 }
		if json.Unmarshal(d.Body, &e) == nil {
			most = max(most, e.Sequence)
		}
	}
	return most
}

// refundedNow is what the scheme's book has of the account's refunds.
func (w *harness) refundedNow() pix.Amount {
	w.t.Helper()
	b, err := w.Sim.Book(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	id, _ := pix.ParseAccountID(w.ID)
	for _, a := range b.Accounts {
		if a.Account == id {
			return a.ReturnedBy
		}
	}
	return 0
}

// breaking is a scheme whose lists, and answers to questions, fail after so many.
type breaking struct {
	scheme.Scheme
	left int
}

var errBroken = errors.New("the scheme is gone")

// Movements implements scheme.Scheme. It lists one movement at a time.
func (b *breaking) Movements(ctx context.Context, since pix.Millis, after string, _ int) (scheme.MovementPage, error) {
	if b.left--; b.left < 0 {
		return scheme.MovementPage{}, errBroken
	}
	return b.Scheme.Movements(ctx, since, after, 1)
}

// TestCatchUpGoesOn ends the catch-up after each of its steps: no merchant is served before it is done, the
// next start goes on where it was, and everything is booked once.
func TestCatchUpGoesOn(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	file, _ := w.lives(r)
	money, statement := w.moneyNow(), w.movements()
	w.stop()
	restoredAt(t, fs, file, "new")
	starts := 0
	for slow := 0; starts < 100; starts++ {
		config := crashConfig(fs)
		backTo("new")(&config)
		config.SchemeTimeout = time.Duration(50*(1+slow)) * time.Millisecond // the slower the machine, the longer
		ended, end := context.WithCancel(t.Context())
		config.Starting = ended
		b := &breaking{left: 3}
		config.wrapScheme = func(s scheme.Scheme) scheme.Scheme { b.Scheme = s; return b }
		time.AfterFunc(6*config.SchemeTimeout, end)
		e, err := Open(config)
		end()
		if err == nil {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			break
		}
		if errors.Is(err, context.DeadlineExceeded) && slow < 50 { // a busy machine: it does not count
			slow++
			starts--
			continue
		}
		if !serving.Stopped(err) && !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
	if starts < 5 || starts == 100 {
		t.Errorf("caught up after %d starts", starts)
	}
	again := w.at(serveHarness(t, fs, insecure, backTo("new")))
	again.asBefore(money, statement)
}

// TestCatchUpKeepsAside restores a snapshot from before an account was made: what the scheme has of it is
// kept aside, over a restart, and booked as soon as an operator makes the account again. A payment to a key
// that was made since is booked.
func TestCatchUpKeepsAside(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	w := newHarness(t, fs)
	file := w.snap()
	w.made("/admin/accounts/"+w.ID+"/pix-keys", `{"key_type":"evp"}`) // w.EVP is lost
	w.receives(5_000, "")
	lost := w.another()
	paid := lost.receives(70_000, "")
	lost.spends(3)
	lost.ends(lost.taken(`"amount":1,`, paid.TransactionID).TransactionID, "settled")
	lost.reports(paid, 20_000)
	settled(t, w.Store)
	money := w.moneyNow()
	w.stop()
	restoredAt(t, fs, file, "new")

	again := w.at(serveHarness(t, fs, backTo("new")))
	if got := again.moneyNow(); got != money {
		t.Errorf("%s, was %s", got, money)
	}
	again.hears(catchup.AlertAside)
	again.hears(catchup.AlertLostKey)
	if n := again.catchup.Aside.Count(); n != 4 {
		t.Errorf("%d movements kept aside", n)
	}
	if status, got := again.operate("GET", "/admin/accounts/"+lost.ID, ""); status != 404 {
		t.Fatal(status, got)
	}
	if status, got := again.operate("POST", "/admin/accounts", `{"name":"Loja","document":"12345678909","account_id":"acc_aaaaaaaaaaaao"}`); status != 422 {
		t.Errorf("an account under any id: %d %s", status, got)
	}
	if status, got := again.operate("POST", "/admin/accounts", `{"name":"Loja","document":"12345678909","account_id":"x"}`); status != 400 {
		t.Errorf("an account under no id: %d %s", status, got)
	}
	again.stop()
	again = w.at(serveHarness(t, fs, backTo("new")))
	made := fmt.Sprintf(`{"name":"Loja","document":"12345678909","account_id":%q}`, lost.ID)
	if status, got := again.operate("POST", "/admin/accounts", made); status != 201 || !strings.Contains(got, lost.ID) {
		t.Fatal(status, got)
	}
	again.becomes("booked", soon, func() bool { return again.catchup.Aside.Count() == 0 })
	back := lost.at(again)
	if got := back.moneyNow(); got != "balance 69600 pending 0 med 20000" { // without the operator's credit, which the scheme does not know
		t.Errorf("the lost account: %s", got)
	}
	if status, got := again.operate("POST", "/admin/accounts", made); status != 409 {
		t.Errorf("the account again: %d %s", status, got)
	}
	back.agrees(back.refundedNow())
	again.stop()
	if _, err := journal.Verify(journal.VerifyOptions{DataDir: "new", FS: fs}); err != nil {
		t.Error(err)
	}
}

// TestCatchUpLater accepts a gap because the scheme cannot be asked, and catches up at a later start.
func TestCatchUpLater(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	fs := vfs.NewMem()
	w := newHarness(t, fs, insecure)
	file, since := w.lives(r)
	money := w.moneyNow()
	w.stop()
	restoredAt(t, fs, file, "new")
	often := func(c *Config) { c.QueueRetry = 20 * time.Millisecond }
	without := w.at(serveHarness(t, fs, insecure, from("new"), often))
	if got := without.moneyNow(); got == money {
		t.Error("it has caught up without a list")
	}
	time.Sleep(300 * time.Millisecond)
	if got := without.found(since.queued.TransactionID); got.Status != "pending" || got.EndToEnd != since.queued.EndToEnd {
		t.Errorf("a payout that waits since before the gap: %+v", got)
	}
	made := without.paidOut(`{"amount":31,"pix_key":"settle-now@pix.test"}`)
	if got := without.becoming(made.TransactionID, "settled"); got.Status != "settled" {
		t.Errorf("%+v", got)
	}
	money = fmt.Sprintf("balance %d pending %d med %d", amounts(money)[0]-3100, amounts(money)[1], amounts(money)[2])
	without.stop()
	still := w.at(serveHarness(t, fs, insecure, backTo("new"), func(c *Config) { c.wrapScheme = listsNothing }))
	still.stop()
	again := w.at(serveHarness(t, fs, insecure, backTo("new")))
	if got := again.moneyNow(); got != money {
		t.Errorf("%s, was %s", got, money)
	}
	again.agrees(again.refundedNow())
	if m, err := restored.Uncaught(again.Store); m != nil || err != nil {
		t.Errorf("it still has to catch up: %v %v", m, err)
	}
}
