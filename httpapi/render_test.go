package httpapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pixd/actors/ledger"
	"pixd/actors/pix"
	"pixd/actors/scheme/brcode"
	"pixd/httpapi/qr"
)

func TestRenderPayout(t *testing.T) {
	p := payout(pix.StatusAccepted)
	mid := `"transaction_id":"` + p.Public() + `","end_to_end_id":"` + e2e + `","external_id":"o-1","amount":10000,"fee_amount":50,"net_amount":10050,`
	for s, want := range map[pix.TxStatus]struct {
		status int
		body   string
	}{
		pix.StatusSettled:  {200, `{"worked":true,"final":true,` + mid + `"status":"settled","detail":"Payment settled"}`},
		pix.StatusAccepted: {202, `{"worked":true,"final":false,` + mid + `"status":"accepted","detail":"Payment accepted, settlement follows"}`},
		pix.StatusRejected: {202, `{"worked":true,"final":false,` + mid + `"status":"accepted","detail":"Payment accepted, settlement follows"}`},
	} {
		p.Status = s
		if status, body := (Renderer{queueing}).write(&ledger.Answer{Tx: &p}, false); status != want.status || string(body) != want.body {
			t.Errorf("%d: %d %s", s, status, body)
		}
	}
	p.Status = pix.StatusPending
	want := `{"worked":true,"final":false,` + mid + `"status":"pending_approval","detail":"Payment awaits approval by the institution"}`
	if status, body := (Renderer{queueing}).write(&ledger.Answer{Tx: &p}, false); status != 202 || string(body) != want {
		t.Errorf("pending: %d %s", status, body)
	}
	p.ExternalID = ""
	if _, body := (Renderer{queueing}).write(&ledger.Answer{Tx: &p}, false); !strings.Contains(string(body), `,"external_id":null,`) {
		t.Errorf("%s", body)
	}
}

// TestRenderQueued checks that the answer to a queued payout has the members that every
// payout has and the members about the queue, with the operator's times in whole seconds,
// rounded up.
func TestRenderQueued(t *testing.T) {
	p := payout(pix.StatusQueued)
	status, body := (Renderer{queueing}).write(&ledger.Answer{Tx: &p}, false)
	want := `{"worked":true,"final":false,"transaction_id":"` + p.Public() + `","end_to_end_id":"` + e2e + `","external_id":"o-1",` +
		`"amount":10000,"fee_amount":50,"net_amount":10050,"status":"queued","type":"pix","outbound_request_id":"` + itemUUID + `",` +
		`"message":"Payment is rate-limited by the directory and enqueued for automatic retry",` +
		`"estimated_retry_seconds":3,"queue_ttl_seconds":5400}`
	if status != 202 || string(body) != want {
		t.Errorf("%d %s\nwant %s", status, body, want)
	}
	_, body = (Renderer{queueing}).write(&ledger.Answer{Tx: &p}, true)
	if bad := underscored(t, string(body)); bad != nil || turnedBack(t, string(body)) != turnedBack(t, want) {
		t.Errorf("in camelCase: %s", body)
	}
	for d, want := range map[time.Duration]int64{3 * time.Second: 3, time.Millisecond: 1, 2 * time.Hour: 7200} {
		if got := seconds(d); got != want {
			t.Errorf("%v: %d seconds", d, got)
		}
	}
}

func TestRenderCharge(t *testing.T) {
	tx := ledger.Transaction{ID: itemID, Kind: pix.TxCharge, Status: pix.StatusActive, Amount: 123_400, Description: "café & pão", ExternalID: "o:1", Charge: ledger.ChargePart{Key: pix.Key{Type: pix.KeyEVP, Value: testEVP}, MerchantName: "Padaria São João", MerchantCity: "São Paulo"}}
	status, body := (Renderer{queueing}).write(&ledger.Answer{Tx: &tx}, false)
	var fields struct {
		Code  string `json:"qr_code"`
		Image string `json:"qr_code_image"`
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	image, err := qr.AppendImage(nil, fields.Code)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"worked":true,"transaction_id":"` + tx.Public() + `","qr_code":"` + fields.Code + `","qr_code_image":"` + string(image) +
		`","external_id":"o:1","amount":123400,"status":"active"}`
	if status != 200 || string(body) != want {
		t.Errorf("%d %s\nwant %s", status, body, want)
	}
	code, err := brcode.Parse(fields.Code)
	if err != nil {
		t.Fatal(err)
	}
	if code != (brcode.Code{Key: testEVP, Description: "cafe pao", Name: "Padaria Sao Joao", City: "Sao Paulo", TxID: tx.Public(), AmountCentavos: 1234}) {
		t.Errorf("%+v", code)
	}
	if _, again := (Renderer{queueing}).write(&ledger.Answer{Tx: &tx}, false); !bytes.Equal(again, body) {
		t.Error("the same charge again is other bytes")
	}
	tx.Charge.Key.Value = ""
	if status, _ := (Renderer{queueing}).write(&ledger.Answer{Tx: &tx}, false); status != 500 {
		t.Errorf("a charge without a key: %d", status)
	}
}

func TestAppendText(t *testing.T) {
	for in, want := range map[string]string{
		"":                   `""`,
		"a\"b\\c/<&>":        `"a\"b\\c/<&>"`,
		"\x00\n\t\x1f\x7fçß": `"\u0000\n\t\u001f` + "\x7f" + `çß"`,
		"a\xffb\xc3":         "\"a\ufffdb\ufffd\"",
	} {
		if got := string(appendText(nil, in)); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}
