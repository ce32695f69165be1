package pixd

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestVector checks both signatures with the test vector of docs/api.md.
func TestVector(t *testing.T) {
	body := `{"amount":1990,"description":"Devolução <b>50% & 1/2</b> ☕","external_id":"order-1"}`
	const hmac = "50279e0fe2d25c68b8978be96d1ec8ef441be5ba956d77427f9fb0f1e4e909b2655b9b67a53716c935e503504d7f8e32114ca29be2be95fef3d8bdef92879381"
	if got := Sign("sk_0123456789abcdef", []byte(body)); got != hmac {
		t.Errorf("hmac %s", got)
	}
	const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	event := []byte(`{"id":"evt_mvkuy7ujgcxnmaaaaaaaaaaaai","type":"pix.charge.paid","data":{"amount":199000,"description":"☕"}}`)
	h := http.Header{}
	h.Set("webhook-id", "evt_mvkuy7ujgcxnmaaaaaaaaaaaai")
	h.Set("webhook-timestamp", "1764288000")
	h.Set("webhook-signature", "v1,Zm9yZ2Vk v1,N7Msi5yOJstsrhsm4ZlftjMpL8NWl4hOJ39gjltToLc=") // two, after a change of the secret
	at := time.Unix(1764288000, 0)
	if err := Verify(secret, h, event, at.Add(5*time.Minute)); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"an old one":         Verify(secret, h, event, at.Add(5*time.Minute+time.Second)),
		"one ahead":          Verify(secret, h, event, at.Add(-5*time.Minute-time.Second)),
		"another body":       Verify(secret, h, append(event, ' '), at),
		"another secret":     Verify("whsec_AAAA", h, event, at),
		"one without secret": Verify("whsec_", h, event, at),
	} {
		if err == nil {
			t.Errorf("%s is verified", what)
		}
	}
}

// TestRequest checks what is sent: the keys in order, the signature of these bytes, and what is false or nothing.
func TestRequest(t *testing.T) {
	var method, path, sent, signature string
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		method, path, sent, signature = r.Method, r.URL.Path, string(body), r.Header.Get("hmac")
		_, _ = io.WriteString(w, `{"worked":true,"id":"whk_a","active":false}`)
	}))
	defer engine.Close()
	c := Client{URL: engine.URL, ClientID: "cli_a", ClientSecret: "sk_a"}
	stopped := false
	for want, fields := range map[string]any{
		`{"active":false}`:                    WebhookChange{Active: &stopped},
		`{}`:                                  nil,
		`{"amount":7,"pix_key":"a@b.com"}`:    PayoutRequest{PixKey: "a@b.com", Amount: 7},
		`{"original_transaction_id":"PIXIN"}`: RefundRequest{OriginalTransactionID: "PIXIN"},
		`{"n":9007199254740993}`:              json.RawMessage(`{"n": 9007199254740993}`),
	} {
		var w WebhookAnswer
		if _, err := c.Do(context.Background(), http.MethodPatch, "/webhooks/whk_a", fields, "", &w); err != nil || w.ID != "whk_a" {
			t.Errorf("%+v %v", w, err)
		}
		if sent != want || signature != Sign("sk_a", []byte(want)) || method != "PATCH" || path != "/api/external/webhooks/whk_a" {
			t.Errorf("%s %s %s, signed %s; want %s", method, path, sent, signature, want)
		}
	}
}
