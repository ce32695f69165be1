package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"pixd/actors/account"
	"pixd/actors/alerts"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/registry"
	"pixd/actors/scheme"
)

// refusedAlerts returns the messages of the alerts about refused payments.
func (w *harness) refusedAlerts() (messages []string) {
	w.t.Helper()
	var l struct {
		Data []struct{ Kind, Message string }
	}
	status, got := w.operate("GET", "/admin/alerts?limit=100", "")
	if status != 200 || json.Unmarshal([]byte(got), &l) != nil {
		w.t.Fatalf("%d %s", status, got)
	}
	for _, a := range l.Data {
		if a.Kind == "payment_refused" {
			messages = append(messages, a.Message)
		}
	}
	return messages
}

// TestPaymentsToNobody checks what becomes of payments that a provider reports: to a key of
// nobody's, without a key, and to a key that was removed since. A refusal is for good: it
// outlives a power cut and a later owner of the key, and raises one alert.
func TestPaymentsToNobody(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	disk := vfs.NewCrashableMem()
	w := newHarness(t, disk, o.beside)
	notice := func(n byte, key string) scheme.Notice {
		id := "E6070119020260301120000000000" + "00" + string('0'+n)
		return scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: id, Arrived: ledger.ReceivePayment{EndToEnd: id, Amount: 700, Key: key}}
	}
	const typo = "12345678901"
	credited, refusedFirst, keyless := notice(1, w.EVP), notice(2, typo), notice(3, "")
	o.notify(w, credited, nil)
	had := w.money()
	refused := func(what string, n scheme.Notice, alerts int) {
		t.Helper()
		for range 2 {
			if err := o.tell(w, n, nil); !errors.Is(err, scheme.ErrNoPayee) {
				t.Errorf("%s: %v", what, err)
			}
			if got := w.refusedAlerts(); len(got) != alerts || !strings.Contains(got[alerts-1], n.EndToEnd) && what == "first" || strings.Contains(strings.Join(got, " "), typo) {
				t.Errorf("%s: alerts %q", what, got)
			}
		}
	}
	refused("first", refusedFirst, 1)
	refused("first", keyless, 2)

	if status, got := w.operate("DELETE", "/admin/accounts/"+w.ID+"/pix-keys/"+w.EVP, ""); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	o.notify(w, credited, nil) // a repeat of what was credited before the key was removed
	refused("first", notice(4, w.EVP), 3)

	kept := after(disk)
	w.stop()
	w = w.at(serveHarness(t, kept, o.beside))
	refused("after a restart", refusedFirst, 3)
	if status, got := w.operate("POST", "/admin/accounts/"+w.ID+"/pix-keys", `{"key":"`+typo+`","key_type":"cpf"}`); status != 201 {
		t.Fatalf("%d %s", status, got)
	}
	refused("to a key that is an account's now", refusedFirst, 3)
	o.notify(w, credited, nil)
	if got := w.money(); got != had {
		t.Errorf("the money is %s, was %s", got, had)
	}
	o.notify(w, notice(5, typo), nil)
	if got := w.money(); got == had {
		t.Errorf("a payment to the new key was not credited: %s", got)
	}
}

// TestRefusalsAreDropped checks that refusals are forgotten together with the alerts of their
// time, and not before.
func TestRefusalsAreDropped(t *testing.T) {
	t.Parallel()
	o := newOtherSide(t)
	w := newHarness(t, vfs.NewMem(), o.beside)
	const id = "E60701190202603011200000000000r1"
	if err := o.tell(w, scheme.Notice{Kind: scheme.PaymentArrived, EndToEnd: id, Arrived: ledger.ReceivePayment{EndToEnd: id, Amount: 700}}, nil); !errors.Is(err, scheme.ErrNoPayee) {
		t.Fatal(err)
	}
	for _, c := range []struct {
		later time.Duration
		kept  bool
	}{{alerts.Kept - time.Minute, true}, {alerts.Kept + time.Minute, false}} {
		if err := w.refusals.Drop(pix.At(w.Clock.Now()+pix.Millis(c.later/time.Millisecond)), w.drop); err != nil {
			t.Fatal(err)
		}
		again := new(account.Refusals)
		if err := again.Load(w.Store.Scan); err != nil {
			t.Fatal(err)
		}
		if w.refusals.Has(id) != c.kept || again.Has(id) != c.kept {
			t.Errorf("after %v: refused %v, and after a restart %v", c.later, w.refusals.Has(id), again.Has(id))
		}
	}
}

// TestSimulatorSendsBack has a customer pay to a key that the simulator still knows, and that
// is nobody's here. The simulator gives the payment back, and the audit finds no difference.
func TestSimulatorSendsBack(t *testing.T) {
	t.Parallel()
	w := newHarness(t, vfs.NewMem())
	var k *registry.PixKey
	w.becomes("the key is registered", 10*time.Second, func() bool { k, _ = w.Registry.PixKey(w.EVP); return k.Registered })
	if _, err := w.Registry.RemovePixKey(k.Account, w.EVP); err != nil { // the scheme is told in the next round, up to 5 s later
		t.Fatal(err)
	}
	had := w.money()
	status, got := w.operate("POST", "/sim/payments", `{"pix_key":"`+w.EVP+`","amount":700}`)
	var paid item
	if status != 201 || json.Unmarshal([]byte(got), &paid) != nil {
		t.Fatalf("%d %s", status, got)
	}
	if alerts := w.refusedAlerts(); len(alerts) != 1 || !strings.Contains(alerts[0], paid.EndToEnd) {
		t.Errorf("alerts %q", alerts)
	}
	status, got = w.operate("GET", "/sim/book/"+paid.EndToEnd, "")
	if status != 200 || !strings.Contains(got, `"status":"rejected","reason":"AC03"`) || w.money() != had {
		t.Errorf("%d %s; the money %s, was %s", status, got, w.money(), had)
	}
	if status, got = w.operate("GET", "/sim/book/movements", ""); status != 200 || !strings.Contains(got, `"kind":"refused_payment"`) {
		t.Errorf("%d %s", status, got)
	}
	if status, got = w.operate("POST", "/sim/infractions", `{"end_to_end_id":"`+paid.EndToEnd+`","situation":"SCAM"}`); status != 404 {
		t.Errorf("a report of a payment that went back: %d %s", status, got)
	}
	if status, got = w.operate("GET", "/admin/audit", ""); status != 200 || !strings.Contains(got, `"differences":[]`) {
		t.Errorf("%d %s", status, got)
	}
	w.registrar.Tell(w.EVP)
	if status, got = w.operate("POST", "/sim/payments", `{"pix_key":"`+w.EVP+`","amount":700}`); status != 404 {
		t.Errorf("once the simulator has heard of the removal: %d %s", status, got)
	}
}
