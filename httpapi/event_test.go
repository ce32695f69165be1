package httpapi

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pixd/actors/layout"
	"pixd/actors/ledger"
	"pixd/actors/pix"
)

// The members of an event, of a transaction's item, of a case, and of a payment that went
// back.
var (
	envelope = strings.Fields("id type created_at account_id sequence data")
	ofItem   = strings.Fields(`id transaction_id end_to_end_id external_id txid type status payment_status amount fee_amount net_amount description
		direction counterparty_name recipient_key recipient_document payer_document payer_ispb payer_bank_name receiving_key reason_code failure_reason
		duplicate_of returned_amount refunded_amount return_reason case_id original_transaction_id original_end_to_end_id created_at booked_at completed_at`)
	ofCase = strings.Fields(`id transaction_id end_to_end_id amount held_amount covered_amount refunded_amount reason situation status
		analysis_result defense opened_at deadline_at analysis_due_at defended_at closed_at`)
	wentBack = strings.Fields("total_refunded remaining_refundable is_partial")
)

// kindsOfEvent shows every kind of event: how an account gets there, the members of data
// beside those of the item, and the values of those that the contract names.
var kindsOfEvent = map[pix.EventKind]struct {
	story  func(*book)
	extra  []string
	values map[string]any
}{
	pix.EventReceived: {story: func(b *book) { b.receive("") }, values: map[string]any{"status": "completed", "net_amount": 19993.0}},
	pix.EventChargePaid: {story: func(b *book) {
		t := b.step(ledger.CreateCharge{Amount: 20_000, ExternalID: "c-1", Key: pix.Key{Type: pix.KeyEVP, Value: testEVP}}).Tx
		b.receive(t.Public())
	}, values: map[string]any{"external_id": "c-1", "status": "completed"}},
	pix.EventCompleted: {story: func(b *book) { b.pay(isSettled) }, values: map[string]any{"status": "settled", "net_amount": 10050.0}},
	pix.EventPayoutConfirmed: {
		story: func(b *book) { b.pay(isAccepted, isSettled) }, extra: []string{"after_void"},
		values: map[string]any{"after_void": false, "status": "settled"},
	},
	pix.EventPayoutRejected: {
		story: func(b *book) { b.pay(isAccepted, isRejected("AC03")) }, extra: []string{"reason_description"},
		values: map[string]any{"reason_code": "AC03", "reason_description": "The recipient's branch or account does not exist or is invalid", "status": "rejected"},
	},
	pix.EventPayoutFailed: {story: func(b *book) {
		t := b.pay(isAccepted)
		b.now += 31 * minute
		b.step(ledger.ResolveTransfer{ID: t.ID, EndToEnd: t.EndToEnd, Result: ledger.TransferIsVoided})
	}, extra: []string{"reason_description"}, values: map[string]any{
		"reason_code": "orphan_force_voided", "reason_description": "The scheme reported no outcome in time, and the payment was voided", "status": "failed",
	}},
	pix.EventPayoutQueued: {story: func(b *book) { b.pay(isLimited(ledger.RefuseRateLimited)) }, extra: []string{"reason_description"}, values: map[string]any{
		"reason_code": "DICT_CLIENT_RATE_LIMITED", "status": "pending",
		"reason_description": "The directory's limit on key lookups for this client is reached: the payment is queued and retried automatically",
	}},
	pix.EventReturnReceived: {story: func(b *book) {
		t := b.pay(isSettled)
		b.back(t, "D6070119020260921132000000000001", 1_000, "SL02")
		b.back(t, "D6070119020260921132000000000002", 3_000, "MD06")
	}, extra: append([]string{"reason_description"}, wentBack...), values: map[string]any{
		"total_refunded": 4000.0, "remaining_refundable": 6000.0, "is_partial": true, "reason_code": "MD06", "amount": 3000.0,
		"reason_description": "Returned by agreement between the parties", "description": "Returned by agreement between the parties",
	}},
	pix.EventPayoutReturned: {
		story:  func(b *book) { b.back(b.pay(isSettled), "D6070119020260921132000000000001", 1_000, "BE08") },
		values: map[string]any{"returned_amount": 1000.0, "status": "settled", "direction": "outbound"},
	},
	pix.EventRefundCompleted: {story: func(b *book) {
		b.receive("")
		b.refund(50, isSettled)
		b.refund(40, isSettled)
	}, extra: wentBack, values: map[string]any{"total_refunded": 9000.0, "remaining_refundable": 11000.0, "is_partial": true, "amount": 4000.0}},
	pix.EventRefundFailed: {story: func(b *book) {
		b.receive("")
		b.refund(50, isSettled)
		b.refund(40, isRejected("DT05"))
	}, extra: append([]string{"reason_description"}, wentBack...), values: map[string]any{
		"total_refunded": 5000.0, "remaining_refundable": 15000.0, "is_partial": true, "reason_code": "DT05",
		"reason_description": "The deadline for the operation has passed", "status": "failed",
	}},
	pix.EventRefundRequested: {story: func(b *book) {
		b.receive("")
		b.step(ledger.OpenCase{Infraction: "inf-1", EndToEnd: evtPayer, Amount: 20_000, Situation: "SCAM"})
	}, values: map[string]any{"status": "open", "held_amount": 20000.0}},
	pix.EventCaseClosed: {story: func(b *book) {
		b.receive("")
		k := b.step(ledger.OpenCase{Infraction: "inf-1", EndToEnd: evtPayer, Amount: 20_000, Situation: "SCAM"}).Case
		b.step(ledger.CloseCase{ID: k.ID, Result: pix.Disagreed, Details: "not shown"})
	}, values: map[string]any{"status": "closed", "analysis_result": "DISAGREED", "held_amount": 0.0}},
	pix.EventTest: {story: func(b *book) {
		made := b.step(ledger.Subscribe{URL: "https://a.example/hook", Events: pix.EventMask(0).With(pix.EventReceived), Secret: make([]byte, 32)})
		b.step(ledger.TestSubscription{ID: made.Subscription.ID})
	}},
}

// TestEvent checks each kind of event, made by the ledger's own decisions: exactly the
// members of the contract, their values, and every byte against a golden file.
func TestEvent(t *testing.T) {
	for _, kind := range append(pix.EventKinds(), pix.EventTest) {
		t.Run(kind.String(), func(t *testing.T) {
			v, there := kindsOfEvent[kind]
			if !there {
				t.Fatal("the kind is not tested")
			}
			b := newBook(t)
			v.story(b)
			e, banks := b.last(kind), Banks{"60701190": "Banco da Ana"}
			got := Event(e, banks)
			goldenEvent(t, kind, got)
			whole, data := eventMembers(t, got)
			want := append(slices.Clone(ofItem), v.extra...)
			shown := Item
			if e.Record.Case != nil {
				want, shown = ofCase, func(*ledger.Transaction, Banks) []byte { return Case(e.Record.Case) }
			}
			if e.Record.Subscription != nil {
				want = nil
			}
			sameMembers(t, whole, envelope)
			sameMembers(t, data, want)
			for name, value := range v.values {
				if data[name] != value {
					t.Errorf("%s is %v, not %v", name, data[name], value)
				}
			}
			if e.Record.Subscription != nil {
				return
			}
			if item := shown(e.Record.Tx, banks); !bytes.Contains(got, append([]byte(`"data":`), item[:len(item)-1]...)) {
				t.Errorf("data is %s\nand does not begin as %s", got, item)
			}
			if whole["id"] != e.ID.String() || whole["type"] != kind.String() || whole["account_id"] != merchant.String() ||
				whole["sequence"] != float64(e.Sequence) || whole["created_at"] != e.Record.Time.String() {
				t.Errorf("envelope %v of %+v", whole, e)
			}
		})
	}
}

// TestEventAfterVoid checks the confirmation of a payout that settles after its void, and
// that no reason is left.
func TestEventAfterVoid(t *testing.T) {
	b := newBook(t)
	p := b.pay(isAccepted)
	b.now += 31 * minute
	b.step(ledger.ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: ledger.TransferIsVoided})
	b.step(ledger.ResolveTransfer{ID: p.ID, EndToEnd: p.EndToEnd, Result: ledger.TransferIsSettled})
	_, data := eventMembers(t, Event(b.last(pix.EventPayoutConfirmed), nil))
	if data["after_void"] != true || data["status"] != "settled" || data["reason_code"] != nil {
		t.Errorf("%v", data)
	}
	sameMembers(t, data, append(slices.Clone(ofItem), "after_void"))
	_, data = eventMembers(t, Event(b.last(pix.EventCompleted), nil))
	sameMembers(t, data, ofItem)
}

// TestEventQueued checks the reason codes of both directory limits, also of a record without
// a reason code.
func TestEventQueued(t *testing.T) {
	for code, want := range map[ledger.RefusalCode]string{
		ledger.RefuseRateLimited: "DICT_CLIENT_RATE_LIMITED", ledger.RefuseBucket: "DICT_BUCKET_EXHAUSTED",
	} {
		b := newBook(t)
		b.pay(isLimited(code))
		e := b.last(pix.EventPayoutQueued)
		with := Event(e, nil)
		_, data := eventMembers(t, with)
		if data["reason_code"] != want || data["failure_reason"] != want || data["reason_description"] != reasonTexts[want] {
			t.Errorf("%v", data)
		}
		e.Record.Tx.ReasonCode = ""
		if without := Event(e, nil); !bytes.Equal(without, with) || e.Record.Tx.ReasonCode != "" {
			t.Errorf("without a reason code %s\nwith it %s", without, with)
		}
	}
}

// TestEventDuplicate checks that the rejection of a repeat names the payout that it repeats.
func TestEventDuplicate(t *testing.T) {
	b := newBook(t)
	first := b.pay(isSettled)
	b.pay(isAccepted, isRejected("DUPL"))
	_, data := eventMembers(t, Event(b.last(pix.EventPayoutRejected), nil))
	if data["duplicate_of"] != first.Public() || data["reason_description"] != reasonTexts["DUPL"] {
		t.Errorf("%v, first %s", data, first.Public())
	}
}

// TestEventWhole checks what goes back in full: the sums, and that it is not partial.
func TestEventWhole(t *testing.T) {
	for name, v := range map[string]struct {
		kind  pix.EventKind
		story func(*book)
		want  map[string]any
	}{
		"refund": {
			pix.EventRefundCompleted, func(b *book) { b.receive(""); b.refund(200, isSettled) },
			map[string]any{"total_refunded": 20000.0, "remaining_refundable": 0.0, "is_partial": false},
		},
		"the last of two refunds": {
			pix.EventRefundCompleted, func(b *book) { b.receive(""); b.refund(50, isSettled); b.refund(150, isSettled) },
			map[string]any{"total_refunded": 20000.0, "remaining_refundable": 0.0, "is_partial": true},
		},
		"failed refund": {
			pix.EventRefundFailed, func(b *book) { b.receive(""); b.refund(200, isRejected("XY99")) },
			map[string]any{"total_refunded": 0.0, "remaining_refundable": 20000.0, "is_partial": false, "reason_description": "Rejected by the scheme (XY99)"},
		},
		"return": {
			pix.EventReturnReceived, func(b *book) { b.back(b.pay(isSettled), "D6070119020260921132000000000001", 10_000, "AM09") },
			map[string]any{
				"total_refunded": 10000.0, "remaining_refundable": 0.0, "is_partial": false, "reason_code": "AM09",
				"reason_description": "Return from counterparty (AM09)", "description": "Return from counterparty (AM09)",
			},
		},
	} {
		b := newBook(t)
		v.story(b)
		_, data := eventMembers(t, Event(b.last(v.kind), nil))
		for member, value := range v.want {
			if data[member] != value {
				t.Errorf("%s: %s is %v, not %v", name, member, data[member], value)
			}
		}
	}
}

// TestEventExcess checks that nothing is refundable where late settlements gave back more
// than was received.
func TestEventExcess(t *testing.T) {
	b := newBook(t)
	b.receive("")
	b.refund(150, isSettled)
	e := b.last(pix.EventRefundCompleted)
	e.Record.Sums.Settled, e.Record.Sums.Excess = 35_000, 15_000
	_, data := eventMembers(t, Event(e, nil))
	if data["total_refunded"] != 35000.0 || data["remaining_refundable"] != 0.0 {
		t.Errorf("%v", data)
	}
}

// TestReturnTexts checks that both descriptions of a return say the same, for each code.
func TestReturnTexts(t *testing.T) {
	seen := map[string]bool{}
	for _, code := range []string{"MD06", "BE08", "FR01", "SL02", "RR04"} {
		b := newBook(t)
		b.back(b.pay(isSettled), "D6070119020260921132000000000001", 10, code)
		_, data := eventMembers(t, Event(b.last(pix.EventReturnReceived), nil))
		text, _ := data["reason_description"].(string)
		general := text == "Return from counterparty ("+code+")"
		if data["description"] != text || data["reason_code"] != code || seen[text] || general != (code == "RR04") {
			t.Errorf("%s: %q and %q", code, text, data["description"])
		}
		seen[text] = true
	}
}

// FuzzEvent checks that an event is valid JSON without a repeated key, whatever the strings in
// its record are.
func FuzzEvent(f *testing.F) {
	for _, s := range []string{"plain", `a "b" \ c`, "\x00\x1f\n\t\x7f", "\xff\xfe\xc0", "é\u2028\U0001f600", `","id":"x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rejected := payout(pix.StatusRejected)
		rejected.ReasonCode, rejected.Description, rejected.ExternalID, rejected.EndToEnd, rejected.Counterparty.Name, rejected.Payout.Key.Value = s, s, s, s, s, s
		returned := ledger.Transaction{Kind: pix.TxReturn, ReasonCode: s, Description: s, EndToEnd: s, Counterparty: pix.Party{Name: s, Document: s, ISPB: s}, Return: ledger.ReturnPart{OriginalEndToEnd: s}}
		failed := refund(pix.StatusFailed)
		failed.ReasonCode = s
		k := specialReturn(1)
		k.EndToEnd, k.Situation, k.Defense = s, s, &ledger.Defense{Justification: s, Contact: s}
		for _, body := range []ledger.Body{
			{Tx: &rejected, Events: []pix.EventKind{pix.EventPayoutRejected}},
			{Tx: &returned, Events: []pix.EventKind{pix.EventReturnReceived}},
			{Tx: &failed, Sums: &layout.RefundSums{Amount: 9}, Events: []pix.EventKind{pix.EventRefundFailed}},
			{Case: k, Events: []pix.EventKind{pix.EventCaseClosed}},
		} {
			body.Totals.Events = 1
			r := ledger.Record{Account: merchant, Time: testNow, Body: body}
			_, data := eventMembers(t, Event(r.Event(0), nil))
			clean := strings.ToValidUTF8(s, "\ufffd")
			if r.Case == nil && s != "" && data["reason_code"] != clean || r.Case != nil && data["situation"] != clean {
				t.Errorf("%q became %v", s, data)
			}
		}
	})
}
