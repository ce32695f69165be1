package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"pixd/actors/ledger"
	"pixd/actors/pix"
)

var (
	itemID  = pix.NewTxID(testNow, [10]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	otherID = pix.NewTxID(testNow, [10]byte{9, 9, 9})
)

const (
	itemUUID   = "01a0c450-6c00-7102-8304-05060708090a"
	e2e        = "E9999900420260921132000000000001"
	nullReason = `"reason_code":null,"failure_reason":null,"duplicate_of":null,`
	nullOrigin = `"original_transaction_id":null,"original_end_to_end_id":null,`
	created    = `"created_at":"2026-09-21T14:13:20.000Z",`
)

func payout(s pix.TxStatus) ledger.Transaction {
	return ledger.Transaction{ID: itemID, Kind: pix.TxPayout, Status: s, Amount: 10000, Fee: 50, EndToEnd: e2e, ExternalID: "o-1", Description: `a "b"`, CreatedAt: testNow, Counterparty: pix.Party{Name: "Zé", Document: "12345678909", ISPB: "60701190"}, Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyEmail, Value: "z@x.br"}}}
}

func TestItem(t *testing.T) {
	const ids = `{"id":"` + itemUUID + `","transaction_id":"`
	const outbound = `"direction":"outbound","counterparty_name":"Zé","recipient_key":"z@x.br","recipient_document":"***.456.789-**","payer_document":null,"payer_ispb":null,"payer_bank_name":null,"receiving_key":null,`
	const gross = `"amount":10000,"fee_amount":50,"net_amount":10050,"description":"a \"b\"",`
	out := ids + itemID.Public(pix.TxPayout) + `","end_to_end_id":"` + e2e + `","external_id":"o-1","txid":null,"type":"pix",`
	finished := func(s pix.TxStatus, reason string) ledger.Transaction {
		p := payout(s)
		p.BookedAt, p.ReasonCode = testNow+1, reason
		return p
	}
	duplicate := finished(pix.StatusRejected, "DUPL")
	duplicate.Payout.DuplicateOf = &otherID
	accidental := finished(pix.StatusRejected, "AC03")
	accidental.Payout.DuplicateOf = &otherID
	returned := finished(pix.StatusSettled, "")
	returned.Payout.Returned = 300
	queued := payout(pix.StatusQueued)
	queued.ReasonCode = "DICT_BUCKET_EXHAUSTED"
	late := finished(pix.StatusSettled, "")
	late.Transfer.LateAt = testNow + 9
	back := ledger.Transaction{ID: itemID, Kind: pix.TxReturn, Status: pix.StatusCompleted, Amount: 300, EndToEnd: "D6070119020260921132000000000001", ReasonCode: "MD06", Description: "Returned by agreement between the parties", CreatedAt: testNow, BookedAt: testNow + 1, Counterparty: pix.Party{Name: "Zé", ISPB: "60701190"}, Return: ledger.ReturnPart{Original: otherID, OriginalEndToEnd: e2e, OriginalAmount: 10000, Returned: 300}}
	const booked = `"booked_at":"2026-09-21T14:13:20.001Z",`
	const done = booked + `"completed_at":"2026-09-21T14:13:20.001Z"}`
	const notDone = `"booked_at":null,"completed_at":null}`
	for name, v := range map[string]struct {
		tx   ledger.Transaction
		want string
	}{
		"accepted": {payout(pix.StatusAccepted), out + `"status":"pending","payment_status":"processing",` + gross + outbound + nullReason + `"returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + notDone},
		"queued":   {queued, out + `"status":"pending","payment_status":"processing",` + gross + outbound + `"reason_code":"DICT_BUCKET_EXHAUSTED","failure_reason":"DICT_BUCKET_EXHAUSTED","duplicate_of":null,"returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + notDone},
		"approval": {payout(pix.StatusPending), out + `"status":"pending","payment_status":"processing",` + gross + outbound + nullReason + `"returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + notDone},
		"sending":  {payout(pix.StatusSending), out + `"status":"pending","payment_status":"processing",` + gross + outbound + nullReason + `"returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + notDone},
		"held":     {payout(pix.StatusHeld), out + `"status":"pending","payment_status":"processing",` + gross + outbound + nullReason + `"returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + notDone},
		"late":     {late, out + `"status":"settled","payment_status":"settled",` + gross + outbound + nullReason + `"returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + booked + `"completed_at":"2026-09-21T14:13:20.009Z"}`},
		"return":   {back, ids + itemID.Public(pix.TxReturn) + `","end_to_end_id":"D6070119020260921132000000000001","external_id":null,"txid":null,"type":"pix","status":"completed","payment_status":null,"amount":300,"fee_amount":0,"net_amount":300,"description":"Returned by agreement between the parties","direction":"inbound","counterparty_name":"Zé","recipient_key":null,"recipient_document":null,"payer_document":null,"payer_ispb":"60701190","payer_bank_name":"Itaú Unibanco","receiving_key":null,"reason_code":"MD06","failure_reason":"MD06","duplicate_of":null,"returned_amount":null,"refunded_amount":null,"return_reason":"MD06","case_id":null,"original_transaction_id":"` + otherID.Public(pix.TxPayout) + `","original_end_to_end_id":"` + e2e + `",` + created + done},
		"settled":  {returned, out + `"status":"settled","payment_status":"settled",` + gross + outbound + nullReason + `"returned_amount":300,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + done},
		"rejected": {accidental, out + `"status":"rejected","payment_status":"rejected",` + gross + outbound + `"reason_code":"AC03","failure_reason":"AC03","duplicate_of":null,"returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + booked + `"completed_at":null}`},
		"twice":    {duplicate, out + `"status":"rejected","payment_status":"rejected",` + gross + outbound + `"reason_code":"DUPL","failure_reason":"DUPL","duplicate_of":"` + otherID.Public(pix.TxPayout) + `","returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + booked + `"completed_at":null}`},
		"failed":   {finished(pix.StatusFailed, "orphan_force_voided"), out + `"status":"failed","payment_status":"failed",` + gross + outbound + `"reason_code":"orphan_force_voided","failure_reason":"orphan_force_voided","duplicate_of":null,"returned_amount":0,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + booked + `"completed_at":null}`},

		"open charge": {ledger.Transaction{ID: itemID, Kind: pix.TxCharge, Status: pix.StatusActive, Amount: 700, CreatedAt: testNow, Charge: ledger.ChargePart{Key: pix.Key{Value: testEVP}}}, ids + itemID.Public(pix.TxCharge) + `","end_to_end_id":null,"external_id":null,"txid":null,"type":"pix","status":"active","payment_status":null,"amount":700,"fee_amount":0,"net_amount":700,"description":"","direction":"inbound","counterparty_name":null,"recipient_key":null,"recipient_document":null,"payer_document":null,"payer_ispb":null,"payer_bank_name":null,"receiving_key":null,` + nullReason + `"returned_amount":null,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + notDone},
		"paid charge": {ledger.Transaction{ID: itemID, Kind: pix.TxCharge, Status: pix.StatusCompleted, Amount: 700, Fee: 7, EndToEnd: e2e, CreatedAt: testNow, BookedAt: testNow + 1, Counterparty: pix.Party{Name: "Ana", Document: "12345678909", ISPB: "60701190"}, Charge: ledger.ChargePart{Key: pix.Key{Value: testEVP}}}, ids + itemID.Public(pix.TxCharge) + `","end_to_end_id":"` + e2e + `","external_id":null,"txid":"` + itemID.Public(pix.TxCharge) + `","type":"pix","status":"completed","payment_status":null,"amount":700,"fee_amount":7,"net_amount":693,"description":"","direction":"inbound","counterparty_name":"Ana","recipient_key":null,"recipient_document":null,"payer_document":"12345678909","payer_ispb":"60701190","payer_bank_name":"Itaú Unibanco","receiving_key":"` + testEVP + `",` + nullReason + `"returned_amount":null,"refunded_amount":0,"return_reason":null,"case_id":null,` + nullOrigin + created + done},
		"ted":         {ledger.Transaction{ID: itemID, Kind: pix.TxTED, Status: pix.StatusCompleted, Amount: 700, CreatedAt: testNow, BookedAt: testNow + 1, Counterparty: pix.Party{ISPB: "99999999"}}, ids + itemID.Public(pix.TxTED) + `","end_to_end_id":null,"external_id":null,"txid":null,"type":"ted","status":"completed","payment_status":null,"amount":700,"fee_amount":0,"net_amount":700,"description":"","direction":"inbound","counterparty_name":null,"recipient_key":null,"recipient_document":null,"payer_document":null,"payer_ispb":"99999999","payer_bank_name":null,"receiving_key":null,` + nullReason + `"returned_amount":null,"refunded_amount":null,"return_reason":null,"case_id":null,` + nullOrigin + created + done},
	} {
		if got := string(Item(&v.tx, nil)); got != v.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, v.want)
		}
	}
	receipt := ledger.Transaction{ID: itemID, Kind: pix.TxReceipt, Status: pix.StatusCompleted, Amount: 700, Refunded: 300, Receipt: ledger.ReceiptPart{Key: testEVP, Txid: "Order7"}}
	other := ledger.Transaction{ID: itemID, Kind: pix.TxCharge, Status: pix.StatusCompleted, Charge: ledger.ChargePart{Key: pix.Key{Value: testEVP}, PaidKey: "z@x.br"}}
	for want, tx := range map[string]*ledger.Transaction{
		`"txid":"Order7",`:                   &receipt,
		`"receiving_key":"` + testEVP + `",`: &receipt,
		`"refunded_amount":300,`:             &receipt,
		`"receiving_key":"z@x.br",`:          &other, // the customer paid the charge to another key than its QR code names
	} {
		if got := string(Item(tx, nil)); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	internal := ledger.Transaction{Kind: pix.TxInternal, Status: pix.StatusCompleted}
	var fields map[string]any
	if err := json.Unmarshal(Item(&internal, nil), &fields); err != nil || fields["type"] != "internal" {
		t.Errorf("internal: %v, %v", fields["type"], err)
	}
}

func TestRecipientDocument(t *testing.T) {
	const cpf, cnpj = "12345678909", "12345678000195"
	for name, v := range map[string]struct {
		tx   ledger.Transaction
		want string
	}{
		"learned":            {ledger.Transaction{Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyPhone, Value: "+5511987654321"}}, Counterparty: pix.Party{Document: cpf}}, "***.456.789-**"},
		"of another":         {ledger.Transaction{Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyPhone}, GivenDocument: "98765432100"}, Counterparty: pix.Party{Document: cpf}}, "***.456.789-**"},
		"the key itself":     {ledger.Transaction{Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyCPF, Value: cpf}}, Counterparty: pix.Party{Document: cpf}}, cpf},
		"another CPF's key":  {ledger.Transaction{Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyCPF, Value: "98765432100"}}, Counterparty: pix.Party{Document: cpf}}, "***.456.789-**"},
		"the merchant's own": {ledger.Transaction{Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyEVP}, GivenDocument: cpf}, Counterparty: pix.Party{Document: cpf}}, cpf},
		"a company":          {ledger.Transaction{Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyEVP}}, Counterparty: pix.Party{Document: cnpj}}, cnpj},
		"not known yet":      {ledger.Transaction{Payout: ledger.PayoutPart{Key: pix.Key{Type: pix.KeyCPF, Value: cpf}}}, ""},
	} {
		if got := RecipientDocument(&v.tx); got != v.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestReadTransaction(t *testing.T) {
	f := newFixture(t)
	tx := payout(pix.StatusSettled)
	f.history[itemUUID] = &tx
	item := string(Item(&tx, nil))
	path := "/api/external/transactions/"
	f.expect(sent{method: "GET", path: path + itemUUID}, 200, `{"worked":true,"final":true,`+item[1:])
	f.expect(sent{method: "GET", path: path + "%30" + itemUUID[1:]}, 200, `{"worked":true,"final":true,`+item[1:])
	const unknown = `{"errors":{"not_found":"transaction not found"}}`
	f.expect(sent{method: "GET", path: path + "nothing"}, 404, unknown)
	f.expect(sent{method: "GET", path: path + "%zz"}, 404, unknown)
	f.expect(sent{method: "GET", path: path + "broken"}, 500, shape1("500", "internal error"))
}

// TestFinal checks that an outbound PIX has the field final, which says whether the payment
// has ended, and that no other transaction has that field.
func TestFinal(t *testing.T) {
	f := newFixture(t)
	tx := ledger.Transaction{ID: itemID, CreatedAt: testNow}
	f.history[itemUUID] = &tx
	look := sent{method: "GET", path: "/api/external/transactions/" + itemUUID}
	for kind, of := range map[pix.TxKind]map[pix.TxStatus]string{
		pix.TxPayout: {
			pix.StatusHeld: "false", pix.StatusSending: "false", pix.StatusAccepted: "false", pix.StatusQueued: "false",
			pix.StatusPending: "false", pix.StatusSettled: "true", pix.StatusRejected: "true", pix.StatusFailed: "true",
		},
		pix.TxRefund:   {pix.StatusAccepted: "false", pix.StatusSettled: "true", pix.StatusFailed: "true"},
		pix.TxCharge:   {pix.StatusActive: "", pix.StatusCompleted: ""},
		pix.TxReceipt:  {pix.StatusCompleted: ""},
		pix.TxReturn:   {pix.StatusCompleted: ""},
		pix.TxTED:      {pix.StatusCompleted: ""},
		pix.TxInternal: {pix.StatusCompleted: ""},
	} {
		for status, want := range of {
			tx.Kind, tx.Status = kind, status
			if want != "" {
				want = `"final":` + want + `,`
			}
			f.expect(look, 200, `{"worked":true,`+want+`"id":"…`)
			f.expect(camelCased(look), 200, `{"worked":true,`+want+`"id":"…`)
		}
	}
}

func TestBalance(t *testing.T) {
	f := newFixture(t)
	f.engine.answer = ledger.Answer{Head: head()}
	f.expect(sent{method: "GET", path: balance, headers: []string{"Idempotency-Key", "k"}}, 200,
		`{"worked":true,"balance":500,"available":350,"pending":120,"currency":"BRL"}`)
	if f.engine.account != merchant {
		t.Errorf("account %v", f.engine.account)
	}
}
