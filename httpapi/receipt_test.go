package httpapi

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pixd/actors/fair"
	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/httpapi/receipt"
)

const receiptPath = transactionsPath + "/" + itemUUID + "/receipt"

// receipted is a fixture whose account has a name, a document and this transaction.
func receipted(t testing.TB, tx *ledger.Transaction) *fixture {
	f := newFixture(t)
	f.banks = Banks{"99999004": "Pixd IP"}
	f.handler = New(f.options())
	f.engine.answer.Head = &ledger.Account{ID: merchant, Settings: ledger.Settings{Name: "Loja Aurora", Document: "11222333000181"}}
	f.history[itemUUID], f.history[tx.Public()] = tx, tx
	return f
}

const (
	ownParty = `{"name":"Loja Aurora","document":"**.222.333/0001-**","ispb":"99999004","bank_name":"Pixd IP","pix_key":`
	zeParty  = `{"name":"Zé","document":"***.456.789-**","ispb":"60701190","bank_name":"Itaú Unibanco","pix_key":`
	dates    = `"created_at":"2026-09-21T14:13:20.000Z","paid_at":null,"completed_at":"2026-09-21T14:13:20.001Z"}}`
)

// settledOf returns a transaction of the kind that has moved money.
func settledOf(kind pix.TxKind) ledger.Transaction {
	t := payout(pix.StatusSettled)
	t.Kind, t.BookedAt = kind, testNow+1
	switch kind {
	case pix.TxPayout:
		return t
	case pix.TxRefund:
		t.Refund = ledger.RefundPart{Original: otherID, OriginalEndToEnd: "E1"}
	case pix.TxReturn:
		t.Return, t.ReasonCode = ledger.ReturnPart{Original: otherID, OriginalEndToEnd: "E1"}, "MD06"
	case pix.TxCharge:
		t.Charge.Key = pix.Key{Type: pix.KeyEVP, Value: testEVP}
	case pix.TxReceipt:
		t.Receipt.Key = "98765432100"
	case pix.TxTED, pix.TxInternal:
		t.EndToEnd, t.ExternalID, t.Counterparty = "", "", pix.Party{}
	}
	t.Payout = ledger.PayoutPart{}
	if kind != pix.TxRefund {
		t.Status = pix.StatusCompleted
	}
	return t
}

func TestReceipt(t *testing.T) {
	late, cpf, given := settledOf(pix.TxPayout), settledOf(pix.TxPayout), settledOf(pix.TxTED)
	late.Transfer.LateAt = testNow + 1
	late.BookedAt = testNow
	cpf.Payout.Key = pix.Key{Type: pix.KeyCPF, Value: "12345678909"}
	given.Counterparty = pix.Party{Name: "Ana", Document: "987.654.321-00"}
	given.PaidAt = testNow
	for name, v := range map[string]struct {
		tx                                ledger.Transaction
		kind, money, payer, recipient, to string
	}{
		"charge":   {settledOf(pix.TxCharge), `"type":"pix","direction":"inbound","status":"completed",`, "9950", zeParty + "null}", ownParty + `"` + testEVP + `"}`, ""},
		"receipt":  {settledOf(pix.TxReceipt), `"type":"pix","direction":"inbound","status":"completed",`, "9950", zeParty + "null}", ownParty + `"***.654.321-**"}`, ""},
		"payout":   {settledOf(pix.TxPayout), `"type":"pix","direction":"outbound","status":"settled",`, "10050", ownParty + "null}", zeParty + `"z@x.br"}`, ""},
		"to a CPF": {cpf, `"type":"pix","direction":"outbound","status":"settled",`, "10050", ownParty + "null}", zeParty + `"***.456.789-**"}`, ""},
		"late":     {late, `"type":"pix","direction":"outbound","status":"settled",`, "10050", ownParty + "null}", zeParty + `"z@x.br"}`, ""},
		"refund":   {settledOf(pix.TxRefund), `"type":"pix","direction":"outbound","status":"settled",`, "10050", ownParty + "null}", zeParty + "null}", otherID.Public(pix.TxCharge)},
		"return":   {settledOf(pix.TxReturn), `"type":"pix","direction":"inbound","status":"completed",`, "9950", zeParty + "null}", ownParty + "null}", otherID.Public(pix.TxPayout)},
		"TED":      {settledOf(pix.TxTED), `"type":"ted","direction":"inbound","status":"completed",`, "9950", `{"name":null,"document":null,"ispb":null,"bank_name":null,"pix_key":null}`, ownParty + "null}", ""},
		"internal": {settledOf(pix.TxInternal), `"type":"internal","direction":"inbound","status":"completed",`, "9950", `{"name":null,"document":null,"ispb":null,"bank_name":null,"pix_key":null}`, ownParty + "null}", ""},
		"from Ana": {given, `"type":"ted","direction":"inbound","status":"completed",`, "9950", `{"name":"Ana","document":"***.654.321-**","ispb":null,"bank_name":null,"pix_key":null}`, ownParty + "null}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := receipted(t, &v.tx)
			ids, reason, back, when := `"end_to_end_id":"`+e2e+`","external_id":"o-1",`, "null", `"original_transaction_id":null,"original_end_to_end_id":null,`, dates
			if v.tx.EndToEnd == "" {
				ids = `"end_to_end_id":null,"external_id":null,`
			}
			if v.tx.Kind == pix.TxReturn {
				reason = `"MD06"`
			}
			if v.to != "" {
				back = `"original_transaction_id":"` + v.to + `","original_end_to_end_id":"E1",`
			}
			if v.tx.PaidAt != 0 {
				when = strings.Replace(dates, `"paid_at":null`, `"paid_at":"2026-09-21T14:13:20.000Z"`, 1)
			}
			want := `{"worked":true,"receipt":{"id":"` + itemUUID + `","transaction_id":"` + v.tx.Public() + `",` + ids + v.kind +
				`"amount":10000,"fee_amount":50,"net_amount":` + v.money + `,"currency":"BRL","description":"a \"b\"",` +
				`"payer":` + v.payer + `,"recipient":` + v.recipient + `,"reason_code":` + reason + `,` + back + when
			for _, id := range []string{itemUUID, v.tx.Public(), "%30" + itemUUID[1:]} {
				g := f.expect(sent{method: "GET", path: transactionsPath + "/" + id + "/receipt"}, 200, want)
				if g.header("Content-Type") != typeJSON || g.header("Vary") != "Accept" || g.header("x-ratelimit-remaining") == "" {
					t.Errorf("Content-Type %q, Vary %q", g.header("Content-Type"), g.header("Vary"))
				}
			}
			if f.engine.account != merchant || f.engine.command != (ledger.ReadAccount{}) {
				t.Errorf("asked %v, %T", f.engine.account, f.engine.command)
			}
		})
	}
}

// TestReceiptAsPDF checks the headers of a PDF, and that it says what the transaction says,
// with what must be masked masked.
func TestReceiptAsPDF(t *testing.T) {
	tx := settledOf(pix.TxPayout)
	tx.Payout.Key = pix.Key{Type: pix.KeyCPF, Value: "12345678909"}
	f := receipted(t, &tx)
	own := receipt.Institution{Name: "Pixd IP", ISPB: "99999004"}
	want, err := receipt.PDF(receipt.Facts{
		Kind: pix.TxPayout, Amount: 10000, Fee: 50, Net: 10050, Issuer: own,
		Payer:         receipt.Party{Name: "Loja Aurora", Document: "**.222.333/0001-**", Institution: own},
		Recipient:     receipt.Party{Name: "Zé", Document: "***.456.789-**", Key: "***.456.789-**", Institution: receipt.Institution{Name: "Itaú Unibanco", ISPB: "60701190"}},
		TransactionID: tx.Public(), EndToEnd: e2e, Description: `a "b"`, CompletedAt: testNow + 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	g := f.send(sent{method: "GET", path: receiptPath, headers: []string{"Accept", typePDF}})
	if g.status != 200 || g.body != string(want) {
		t.Errorf("%d, %d bytes, want %d", g.status, len(g.body), len(want))
	}
	for name, want := range map[string]string{
		"Content-Type": typePDF, "Vary": "Accept", "Content-Disposition": `inline; filename="comprovante-` + tx.Public() + `.pdf"`,
	} {
		if got := g.header(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestNoReceipt checks that a transaction that has moved no money has no receipt, and that
// nothing is asked about the account.
func TestNoReceipt(t *testing.T) {
	tx := settledOf(pix.TxPayout)
	f := receipted(t, &tx)
	refused := 0
	for s := pix.StatusActive; s <= pix.StatusSending; s++ {
		for kind := pix.TxCharge; kind <= pix.TxInternal; kind++ {
			tx.Status, tx.Kind = s, kind
			for _, accept := range []string{typePDF, typeJSON} {
				look := sent{method: "GET", path: receiptPath, headers: []string{"Accept", accept}}
				if s == pix.StatusCompleted || s == pix.StatusSettled {
					if g := f.send(look); g.status != 200 {
						t.Errorf("%v: %d", s, g.status)
					}
					f.engine.command = nil
					continue
				}
				f.expect(look, 422, `{"errors":{"unprocessable_entity":"only a transaction that has settled has a receipt"}}`)
				refused++
			}
		}
	}
	if f.engine.command != nil || refused != 9*7*2 {
		t.Errorf("%d refused; asked %T", refused, f.engine.command)
	}
}

// TestUnknownReceipt checks that where a lookup finds nothing, or fails, the receipt has the
// same answer.
func TestUnknownReceipt(t *testing.T) {
	tx := settledOf(pix.TxPayout)
	f := receipted(t, &tx)
	makeKey(t, f.keys, "cli_other", keyOf(newAccount(t, f)))
	for _, id := range []string{"nothing", "%zz", "broken", "e2e", "tag", "ref", "e", "t", "r", "receipt", itemUUID} {
		for _, accept := range []string{typePDF, typeJSON} {
			look := sent{method: "GET", path: transactionsPath + "/" + id, client: "cli_other", headers: []string{"Accept", accept}}
			want := f.send(look)
			look.path += "/receipt"
			if id == "e2e" || id == "tag" || id == "ref" {
				want = got{404, `{"errors":{"not_found":"transaction not found"}}`, nil} // here receipt is the id
			}
			if g := f.send(look); g.status != want.status || g.body != want.body || g.status/100 == 2 {
				t.Errorf("%s: %d %s, want %d %s", id, g.status, g.body, want.status, want.body)
			}
		}
	}
}

// TestReceiptWithoutAccount checks the answers where the account cannot be read.
func TestReceiptWithoutAccount(t *testing.T) {
	tx := settledOf(pix.TxPayout)
	f := receipted(t, &tx)
	f.engine.answer.Head = nil
	f.expect(sent{method: "GET", path: receiptPath}, 500, shape1("500", "internal error"))
	f.engine.err = ledger.ErrBusy
	f.expect(sent{method: "GET", path: receiptPath, headers: []string{"Accept", typePDF}}, 503, `{"error":{"status":503,…`)
}

// TestReceiptRefused checks the answer where an account may not wait for a place, and that only a
// PDF needs one.
func TestReceiptRefused(t *testing.T) {
	tx := settledOf(pix.TxPayout)
	f := receipted(t, &tx)
	o := f.options()
	o.Receipts = fair.New[pix.AccountID](fair.Bounds{Places: 2, Share: 1})
	f.handler = New(o)
	if err := o.Receipts.Take(t.Context(), merchant); err != nil {
		t.Fatal(err)
	}
	look := sent{method: "GET", path: receiptPath, headers: []string{"Accept", typePDF}}
	if g := f.expect(look, 503, shape1("503", ledger.ErrBusy.Error())); g.header("Retry-After") != "1" {
		t.Errorf("Retry-After %q", g.header("Retry-After"))
	}
	if g := f.send(sent{method: "GET", path: receiptPath}); g.status != 200 {
		t.Errorf("as JSON: %d", g.status)
	}
	o.Receipts.Give(merchant)
	if g := f.send(look); g.status != 200 {
		t.Errorf("%d", g.status)
	}
	for until := time.Now().Add(10 * time.Second); o.Receipts.Counts() != (fair.Counts{Refused: 1}); time.Sleep(receiptRest) {
		if time.Now().After(until) {
			t.Fatalf("%+v long after the drawing", o.Receipts.Counts())
		}
	}
}

// clock is the bubble's time.
func clock() pix.Millis { return pix.Millis(time.Now().UnixMilli()) }

// TestReceiptsInTurns has one account ask for far more PDFs than may wait. Sixteen wait, and the
// rest is refused at once. Another account's PDF is the next to be drawn.
func TestReceiptsInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{Options: Options{Now: clock, Receipts: fair.New[pix.AccountID](fair.Bounds{Places: 1, Share: receiptShare, Queue: receiptQueue})}}
		if err := s.Receipts.Take(t.Context(), merchant); err != nil { // the greedy account's first
			t.Fatal(err)
		}
		const other = merchant + 1
		s.company.hear(merchant, s.Now)
		s.company.hear(other, s.Now)
		var mu sync.Mutex
		var drawn []pix.AccountID
		ask := func(a pix.AccountID) {
			go func() {
				file, err := s.draw(a, &receipt.Facts{Kind: pix.TxPayout})
				if err != nil || len(file) == 0 {
					t.Errorf("%v: %d bytes (%v)", a, len(file), err)
				}
				mu.Lock()
				defer mu.Unlock()
				drawn = append(drawn, a)
			}()
			synctest.Wait()
		}
		for range receiptQueue {
			ask(merchant)
		}
		for range 3 {
			began := time.Now()
			if _, err := s.draw(merchant, &receipt.Facts{}); !errors.Is(err, ledger.ErrBusy) || time.Since(began) != 0 {
				t.Errorf("beyond the queue: %v after %v", err, time.Since(began))
			}
		}
		ask(other)
		if got := s.Receipts.Counts(); got != (fair.Counts{InUse: 1, Waiting: 16 + 1, Refused: 3}) {
			t.Errorf("%+v", got)
		}
		s.Receipts.Give(merchant)
		for n := range receiptQueue + 1 { // one after another, each after the place has rested
			synctest.Wait()
			mu.Lock()
			if len(drawn) != n+1 || drawn[n] == other && n > 0 {
				t.Errorf("after %d rests drawn for %v", n, drawn)
			}
			mu.Unlock()
			time.Sleep(receiptRest)
		}
		if synctest.Wait(); !slices.Contains(drawn, other) {
			t.Errorf("drawn for %v", drawn)
		}
		if got := s.Receipts.Counts(); got != (fair.Counts{Refused: 3}) {
			t.Errorf("at rest %+v", got)
		}
	})
}

// TestReceiptWaitEnds checks that a request which gets no place in time is refused, and waits no
// longer.
func TestReceiptWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{Options: Options{Now: clock, Receipts: NewReceiptPlaces()}}
		if err := s.Receipts.Take(t.Context(), merchant); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.draw(merchant, &receipt.Facts{}); !errors.Is(err, ledger.ErrBusy) || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		s.Receipts.Give(merchant)
		if got := s.Receipts.Counts(); got != (fair.Counts{Refused: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestReceiptPlaces checks that payments keep half of the processors, and that an account has one
// place.
func TestReceiptPlaces(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for cores, want := range map[int]int{1: 1, 2: 1, 8: 4} {
		before := runtime.GOMAXPROCS(cores)
		p := NewReceiptPlaces()
		runtime.GOMAXPROCS(before)
		got := 0
		for a := range pix.AccountID(16) {
			if p.Take(ended, a) == nil {
				got++
			}
		}
		if got != want {
			t.Errorf("%d places on %d processors, want %d", got, cores, want)
		}
		if p.Give(0); want > 1 {
			p.Give(1)
			if p.Take(ended, 0) != nil || p.Take(ended, 0) == nil {
				t.Error("an account has another number of places than one")
			}
		}
	}
}

// TestReceiptQueue checks that a receipt is refused at once where 16 of its account wait.
func TestReceiptQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{Options: Options{Now: clock, Receipts: NewReceiptPlaces()}}
		if err := s.Receipts.Take(t.Context(), merchant); err != nil {
			t.Fatal(err)
		}
		for range 16 {
			go func() { _, _ = s.draw(merchant, &receipt.Facts{}) }()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := s.draw(merchant, &receipt.Facts{}); !errors.Is(err, ledger.ErrBusy) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if got := s.Receipts.Counts(); got != (fair.Counts{InUse: 1, Waiting: 16, Refused: 1}) {
			t.Errorf("%+v", got)
		}
		time.Sleep(receiptWait)
		synctest.Wait()
		if got := s.Receipts.Counts(); got != (fair.Counts{InUse: 1, Refused: 17}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestReceiptPlaceRests checks that the place of a drawing rests where another account has asked for
// anything within the last second, and that a merchant who is alone has it again at once.
func TestReceiptPlaceRests(t *testing.T) {
	tx := settledOf(pix.TxPayout)
	f := receipted(t, &tx)
	makeKey(t, f.keys, "cli_other", keyOf(newAccount(t, f)))
	synctest.Test(t, func(t *testing.T) {
		o := f.options()
		o.Receipts = fair.New[pix.AccountID](fair.Bounds{Places: 1, Share: receiptShare, Queue: receiptQueue})
		f.handler = New(o)
		drawn := func(when string, rests int) {
			t.Helper()
			if g := f.send(sent{method: "GET", path: receiptPath, headers: []string{"Accept", typePDF}}); g.status != 200 {
				t.Fatalf("%s: %d %s", when, g.status, g.body)
			}
			if got := o.Receipts.Counts().InUse; got != rests {
				t.Errorf("%s: %d places are in use after a drawing, want %d", when, got, rests)
			}
			time.Sleep(receiptRest)
			synctest.Wait()
			f.now += pix.Millis(receiptRest / time.Millisecond)
			if got := o.Receipts.Counts(); got != (fair.Counts{}) {
				t.Errorf("%s: %+v when a place has rested", when, got)
			}
		}
		other := func(status int) {
			t.Helper()
			f.expect(sent{method: "GET", path: balance, client: "cli_other"}, status, `{…`)
		}
		drawn("alone", 0)
		drawn("alone again", 0)
		other(200)
		drawn("beside another", 1)
		f.now += companyLasts - 2*pix.Millis(receiptRest/time.Millisecond)
		drawn("just within the second", 1)
		drawn("a second after both", 0)
		f.expect(sent{method: "GET", path: balance, client: "cli_other", ip: "127.0.0.2"}, 403, `{…`)
		drawn("after another's request that is refused", 0)
	})
}
